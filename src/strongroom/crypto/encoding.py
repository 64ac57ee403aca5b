"""Base64 as the protocol writes it: one text for one value, so nothing can be changed without being noticed."""

import binascii
from typing import Final

import pybase64

from strongroom.crypto.formats import Mode

_STANDARD_TO_URL: Final = bytes.maketrans(b"+/", b"-_")

# The last characters before `==` and `=` whose bits are all used.
_LAST_OF_TWO: Final = frozenset("AQgw")
_LAST_OF_THREE: Final = frozenset("AEIMQUYcgkosw048")


def encode_padded(data: bytes | memoryview) -> str:
    """URL-safe Base64 with padding: parts 2 and 3 of a serialized value."""
    return pybase64.b64encode_as_string(data, altchars=b"-_")


def decode_padded(text: str, mode: Mode = Mode.STRICT) -> bytes | None:
    """The bytes, or None unless `text` is what `encode_padded` writes for them. COMPAT also takes `+` and `/`."""
    # For large values copies cost more than decoding, so the text is searched and handed on as it is.
    if "+" in text or "/" in text:
        if mode is Mode.STRICT:
            return None
        text = text.replace("+", "-").replace("/", "_")
    try:
        data = pybase64.b64decode(text, b"-_", True)
    except ValueError:
        return None
    # Bits beyond the last byte must be zero: otherwise several texts would stand for one value.
    if text[-1:] == "=" and (text[-3] not in _LAST_OF_TWO if text[-2] == "=" else text[-2] not in _LAST_OF_THREE):
        return None
    return data


def decode_standard(text: str | bytes) -> bytes | None:
    """The bytes, or None unless `text` is their Base64 with `+`, `/` and padding, as PEM and YAML have it."""
    try:
        data = pybase64.b64decode(text, validate=True)
    except ValueError:
        return None
    # Comparing with our own encoding refuses spare bits, so one text stands for one value.
    return data if pybase64.b64encode_as_string(data) == (text if isinstance(text, str) else text.decode()) else None


def encode_unpadded(data: bytes) -> str:
    """URL-safe Base64 without padding, as used in tokens, tags and fingerprints."""
    return binascii.b2a_base64(data, newline=False).translate(_STANDARD_TO_URL).rstrip(b"=").decode("ascii")


def decode_unpadded(text: str) -> bytes | None:
    """The bytes, or None unless `text` is what `encode_unpadded` writes for them."""
    if "=" in text:
        return None
    return decode_padded(text + "=" * (-len(text) % 4))
