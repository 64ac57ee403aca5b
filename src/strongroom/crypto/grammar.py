"""The shapes of the strings that cross the wire: login secrets and vault session strings."""

import re
from typing import Final, Literal

from strongroom.crypto.checksum import LENGTH, has_checksum, with_checksum
from strongroom.crypto.encoding import decode_unpadded, encode_unpadded

_LOGIN_SECRET: Final = re.compile(r"srl([12])_([A-Za-z0-9_-]{43})[0-9A-Za-z]{6}", re.ASCII)
_VAULT_SESSION: Final = re.compile(r"srv1_([0-9A-Za-z]{11})_([A-Za-z0-9_-]{16,512})[0-9A-Za-z]{6}", re.ASCII)
REALM_TAG: Final = re.compile(r"[0-9A-Za-z]{11}", re.ASCII)


def login_secret_class(field: str) -> Literal[1, 2] | None:
    """1 for `srl1_`, 2 for `srl2_` (account secret in use), None for anything that is not a whole login secret."""
    match = _LOGIN_SECRET.fullmatch(field)
    if match is None or not has_checksum(field):
        return None
    secret = decode_unpadded(match[2])
    if secret is None or len(secret) != 32:
        return None
    return 1 if match[1] == "1" else 2


def vault_session_string(realm_tag: str, body: bytes) -> str:
    """`srv1_<realm tag>_<body><crc>`, the plaintext of an encrypted session string. `body` is 12 to 384 bytes."""
    if REALM_TAG.fullmatch(realm_tag) is None or not 12 <= len(body) <= 384:
        raise ValueError("a vault session string needs a realm tag and a body of 12 to 384 bytes")
    return with_checksum(f"srv1_{realm_tag}_{encode_unpadded(body)}")


def vault_session_body(text: str, realm_tag: str) -> bytes | None:
    """The body of a session string made for exactly this realm; None for anything else."""
    match = _VAULT_SESSION.fullmatch(text)
    # Base62 digits may also end a body, so the split is by position and the checksum covers all before it.
    if match is None or match[1] != realm_tag or not has_checksum(text):
        return None
    return decode_unpadded(text[len("srv1_") + len(realm_tag) + 1 : -LENGTH])
