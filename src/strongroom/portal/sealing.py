"""Sealing of what the portal must read again: TOTP keys and mail that waits to be sent.

A copy of the database alone does not open it; a copy together with the server secret does.
"""

import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from strongroom.runtime.secret import ServerSecret

_NONCE = 12


class Unreadable(Exception):
    """Sealed under a secret that is gone, for another purpose or row, or changed since."""


def seal(secret: ServerSecret, purpose: str, row: bytes, plain: bytes) -> bytes:
    """AES-256-GCM under a key for this purpose, bound to the row, so that no row's value fits another."""
    nonce = secrets.token_bytes(_NONCE)
    sealed = AESGCM(secret.current_key(f"portal-{purpose}")).encrypt(nonce, plain, row)
    return nonce + sealed


def unseal(secret: ServerSecret, purpose: str, row: bytes, sealed: bytes) -> bytes:
    """What was sealed; `Unreadable`. The previous server secret still opens what it sealed."""
    for key in secret.keys(f"portal-{purpose}"):
        try:
            return _opened(key, row, sealed)
        except Unreadable:
            continue
    raise Unreadable


def is_current(secret: ServerSecret, purpose: str, row: bytes, sealed: bytes) -> bool:
    """False for a value that only the previous server secret opens, and for one that none does."""
    try:
        _opened(secret.current_key(f"portal-{purpose}"), row, sealed)
    except Unreadable:
        return False
    return True


def _opened(key: bytes, row: bytes, sealed: bytes) -> bytes:
    try:
        return AESGCM(key).decrypt(sealed[:_NONCE], sealed[_NONCE:], row)
    except (InvalidTag, ValueError):
        raise Unreadable from None
