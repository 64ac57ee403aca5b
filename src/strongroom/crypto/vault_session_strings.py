"""Opening the encrypted session string of the vault without becoming a decryption oracle for the server."""

import re
from typing import Final

from strongroom.crypto.encoding import decode_unpadded
from strongroom.crypto.errors import DecryptionFailed, MalformedCiphertext, SessionStringRefused
from strongroom.crypto.formats import Mode
from strongroom.crypto.grammar import vault_session_body
from strongroom.crypto.names import realm_tag
from strongroom.crypto.rsa4096 import PrivateKey
from strongroom.crypto.secret import Secret

_COMPAT: Final = re.compile(r"[A-Za-z0-9_-]{16,128}", re.ASCII)
_HEX_KEY: Final = re.compile(r"[0-9A-Fa-f]{64}", re.ASCII)
_OUR_LABEL: Final = re.compile(r"sr[a-z]{1,2}[0-9]?_", re.ASCII)


def open_vault_session(
    private_key: PrivateKey, serialized: str, *, realm: str, mode: Mode = Mode.STRICT
) -> Secret[str]:
    """The session string, if the plaintext is one made for this realm; SessionStringRefused in every other case.

    The server chose the ciphertext and will see the answer in `Authorization`: anything that is not a session string,
    such as a wrapped key or another server's session, must never get out of here. Pass only the key tagged `vault`.
    COMPAT takes `[A-Za-z0-9_-]{16,128}` that is not a 32-byte key, raw, in hexadecimal or in Base64. RealmRefused for a
    realm without a canonical form.
    """
    tag = realm_tag(realm)
    try:
        text = private_key.decrypt(serialized, mode).decode("ascii")
    except (MalformedCiphertext, DecryptionFailed, UnicodeDecodeError):
        raise SessionStringRefused from None
    if vault_session_body(text, tag) is None and not (mode is Mode.COMPAT and _is_foreign_session(text)):
        raise SessionStringRefused
    return Secret(text)


def _is_foreign_session(text: str) -> bool:
    if _COMPAT.fullmatch(text) is None or _HEX_KEY.fullmatch(text) or len(text) == 32:
        return False
    # A string with one of our labels that failed our grammar is another realm's session or another kind of secret.
    if _OUR_LABEL.match(text):
        return False
    decoded = decode_unpadded(text)
    return decoded is None or len(decoded) != 32
