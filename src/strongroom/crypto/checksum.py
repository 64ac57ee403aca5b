"""The checksum at the end of every token: a typing error costs no query, and secret scanners find what leaked."""

import zlib
from typing import Final

BASE62: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
LENGTH: Final = 6

_PAIRS: Final = tuple(first + second for first in BASE62 for second in BASE62)


def base62(number: int, width: int) -> str:
    """`number` in base 62, most significant digit first, padded with `0` to `width` digits."""
    digits = []
    for _ in range(width):
        number, digit = divmod(number, 62)
        digits.append(BASE62[digit])
    return "".join(reversed(digits))


def crc(text: str) -> str:
    """CRC-32 of the ASCII text as 6 base62 digits. Detects accidents, authenticates nothing."""
    # What `base62` gives for 6 digits, two at a time: every request brings two tokens.
    rest, last = divmod(zlib.crc32(text.encode("ascii")), len(_PAIRS))
    first, middle = divmod(rest, len(_PAIRS))
    return _PAIRS[first] + _PAIRS[middle] + _PAIRS[last]


def with_checksum(text: str) -> str:
    """`text` followed by its checksum."""
    return text + crc(text)


def has_checksum(text: str) -> bool:
    """Whether the last 6 characters are the checksum of what stands before them; False for any other string."""
    return text.isascii() and len(text) > LENGTH and crc(text[:-LENGTH]) == text[-LENGTH:]
