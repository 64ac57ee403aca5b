"""Credentials the service makes: prefix, 256 random bits in base62, checksum. Stored as SHA-256 only, shown once."""

import hashlib
import re
import secrets
from enum import Enum

from strongroom.crypto.checksum import base62, has_checksum, with_checksum
from strongroom.crypto.encoding import decode_unpadded, encode_unpadded

LENGTH = 53
"""Characters of a token: prefix, 43 digits and the checksum. A session string is longer."""

_BODY = re.compile(r"[0-9A-Za-z]{49}")  # 43 digits and the checksum


class Prefix(Enum):
    """The first four characters tell what a token is for, also to secret scanners."""

    subscription_key = "srk_"
    provider_api_key = "srp_"
    admission_token = "sra_"  # noqa: S105  # a prefix, not a password
    session = "srs_"
    service_credential = "sri_"
    portal_session = "srd_"
    portal_link = "srm_"
    """The one-time links of the portal's mail."""


# Two ids of 16 bytes, the secret, the checksum.
_SESSION = re.compile(rf"{Prefix.session.value}([A-Za-z0-9_-]{{43}})\.([0-9A-Za-z]{{43}})[0-9A-Za-z]{{6}}")


def mint(prefix: Prefix, entropy: bytes | None = None) -> str:
    """A new token; `entropy` (32 bytes) makes the same one again."""
    return with_checksum(prefix.value + _base62(entropy or secrets.token_bytes(32)))


def digest(token: str) -> bytes:
    """What is stored. Plain SHA-256 is enough for 256 random bits."""
    return hashlib.sha256(token.encode()).digest()


def well_formed(prefix: Prefix, token: str) -> bool:
    """Prefix, alphabet and checksum: a typing error costs no query."""
    return token.startswith(prefix.value) and bool(_BODY.fullmatch(token[4:])) and has_checksum(token)


def hint(token: str) -> str:
    """`srk_...1a2b`: enough to tell one's keys apart, too little to guess one."""
    return f"{token[:4]}...{token[-4:]}"


def mint_session(user_id: bytes, session_id: bytes) -> tuple[str, bytes]:
    """A key store session string and the digest to store.

    Two parts joined by a dot: the first names the row, so that it is found by primary key; the second is the secret.
    """
    second = _base62(secrets.token_bytes(32))
    text = with_checksum(f"{Prefix.session.value}{encode_unpadded(user_id + session_id)}.{second}")
    return text, digest(second)


def parse_session(text: str) -> tuple[bytes, bytes, bytes] | None:
    """User id, session id and the digest of the secret part, or None for what can be no session string."""
    match = _SESSION.fullmatch(text)
    if match is None or not has_checksum(text):
        return None
    row = decode_unpadded(match[1])
    if row is None:
        return None
    return row[:16], row[16:], digest(match[2])


def _base62(value: bytes) -> str:
    return base62(int.from_bytes(value, "big"), 43)
