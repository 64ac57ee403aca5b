"""Bindings: the additional authenticated data (`ad`) that says what a ciphertext is, whose, and where it belongs.

A server that swaps one object for another, or one user's for another's, cannot change these strings with it.
"""

import re
from typing import Final

from strongroom.crypto.encoding import decode_unpadded, encode_unpadded
from strongroom.crypto.errors import ContextRefused
from strongroom.crypto.randomness import random_bytes

PREFIX: Final = "sr1:"
TAG_LIMIT: Final = 128
_ACCOUNT: Final = re.compile(r"[A-Za-z0-9_-]{22}")
_PURPOSE: Final = re.compile(r"[a-z0-9-]{1,32}")
_CONTEXT: Final = re.compile(r"[a-z0-9._-]{1,64}")
_FINGERPRINT: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_PLAIN: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
_UNBOUNDED: Final = 2**63


def new_uid() -> str:
    """128 random bits as 22 Base64url characters."""
    return encode_unpadded(random_bytes(16))


def key_encryption_key(account: str) -> str:
    """The key encryption key under the password derived key."""
    return f"sr1:kek:{_account(account)}"


def data_encryption_key(account: str, purpose: str, uid: str) -> str:
    """A data encryption key under the key encryption key. Purpose `[a-z0-9-]{1,32}`; the uid as `new_uid` makes it."""
    return f"sr1:dek:{_account(account)}:{_matching(_PURPOSE, purpose)}:{_uid(uid)}"


def read_data_encryption_key(ad: str, account: str) -> tuple[str, str]:
    """Purpose and uid from the `ad` of this account's data encryption key; ContextRefused for any other string."""
    parts = ad.split(":")
    if len(parts) != 5 or ad != data_encryption_key(account, parts[3], parts[4]):
        raise ContextRefused
    return parts[3], parts[4]


def private_key(account: str, tag: str, fingerprint: str) -> str:
    """A private key under the key encryption key: `tag` is the first external identifier, empty if there is none."""
    raw = tag.encode("utf-8", "replace") if len(tag) <= TAG_LIMIT else b""
    # Two tags must never share a text: what cannot be encoded or is too long for the service is refused.
    if raw.decode("utf-8") != tag or len(raw) > TAG_LIMIT:
        raise ContextRefused
    written = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in raw)
    return f"sr1:key:{_account(account)}:{written}:{_matching(_FINGERPRINT, fingerprint)}"


def data(account: str, uid: str, context: str = "data") -> str:
    """Free data under a data encryption key; context `[a-z0-9._-]{1,64}`."""
    return f"sr1:data:{_account(account)}:{_uid(uid)}:{_matching(_CONTEXT, context)}"


def item_key(account: str, uid: str, item_uid: str) -> str:
    """An item's key under a data encryption key."""
    return f"sr1:ikey:{_account(account)}:{_uid(uid)}:{_uid(item_uid)}"


def item(account: str, item_uid: str, revision: int) -> str:
    """An item's content at one revision (0 or more) under its item key."""
    if not 0 <= revision < _UNBOUNDED:
        raise ContextRefused
    return f"sr1:item:{_account(account)}:{_uid(item_uid)}:{revision}"


def attachment_key(account: str, item_uid: str, attachment_uid: str) -> str:
    """An attachment's key under an item key."""
    return f"sr1:akey:{_account(account)}:{_uid(item_uid)}:{_uid(attachment_uid)}"


def _matching(pattern: re.Pattern[str], text: str) -> str:
    if pattern.fullmatch(text) is None:
        raise ContextRefused
    return text


def _account(account: str) -> str:
    return _matching(_ACCOUNT, account)


def _uid(uid: str) -> str:
    decoded = decode_unpadded(uid)
    if len(uid) != 22 or decoded is None:
        raise ContextRefused
    return uid
