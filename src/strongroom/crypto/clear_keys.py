"""A last look for private keys in clear, so that a client's mistake is refused instead of stored."""

import binascii
import re
import zlib
from typing import Final

import pybase64

_MARKS: Final = (b"PRIVATE KEY", b"openssh-key-v1", b"PuTTY-User-Key-File")
_JWK_TYPE: Final = re.compile(rb'"kty"\s*:')
_JWK_SECRET: Final = re.compile(rb'"[dk]"\s*:')
# PKCS#1 and SEC 1: version 0 or 1, then a modulus of 1024 bits or more, or an octet string; PKCS#8: version, algorithm.
_DER: Final = re.compile(
    rb"\x30(?:[\x20-\x7f]|\x81.|\x82..)\x02\x01[\x00\x01]"
    rb"(?:\x02(?:\x81[\x80-\xff]|\x82..)\x00|\x04[\x1c-\x42]|\x30[\x05-\x60]\x06[\x03-\x0a])",
    re.DOTALL,
)
_BASE64: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_TO_STANDARD: Final = bytes.maketrans(b"-_", b"+/")
_SPACE: Final = b" \t\r\n"
# Characters of the shortest private key that stands in Base64 or DER: nothing below is worth decoding.
_SHORTEST: Final = 40
_DEPTH: Final = 3
_UNPACKED_LIMIT: Final = 64 * 1024
_UNPACK_TRIES: Final = 4


def holds_private_key(text: str) -> bool:
    """Whether the text shows a private key to whoever reads it.

    Looks at the text, the Base64 decoding of it and of each dot-separated part (either alphabet, padded or not,
    wrapped or not), and gzip or zlib inside, to a bounded depth and size: PEM, OpenSSH, PuTTY and JWK markers, and the
    DER shapes of PKCS#1, PKCS#8 and SEC 1. A net for mistakes; a client that wants to give its key away always can.
    """
    budget = [_UNPACK_TRIES]
    raw = text.encode("utf-8", "replace")
    if _shows_key(raw, budget, _DEPTH):
        return True
    parts = raw.split(b".")
    return len(parts) > 1 and any(_shows_key(part, budget, _DEPTH) for part in parts if len(part) >= _SHORTEST)


def _shows_key(data: bytes, budget: list[int], depth: int) -> bool:
    for mark in _MARKS:  # a loop: every stored value comes here several times, and a generator costs more than looking
        if mark in data:
            return True
    if _DER.match(data) or (_JWK_TYPE.search(data) and _JWK_SECRET.search(data)):
        return True
    inner = _unpacked(data, budget) if depth > 0 else None
    return inner is not None and _shows_key(inner, budget, depth - 1)


def _unpacked(data: bytes, budget: list[int]) -> bytes | None:
    if data[:2] == b"\x1f\x8b" or (data[:1] == b"\x78" and data[1:2] in (b"\x01", b"\x5e", b"\x9c", b"\xda")):
        # Few tries and a bounded output: a decompression bomb costs less than the request that carried it.
        if budget[0] > 0:
            budget[0] -= 1
            try:
                return zlib.decompressobj(wbits=47).decompress(data, _UNPACKED_LIMIT)
            except zlib.error:
                return None
        return None
    packed = data.translate(_TO_STANDARD, _SPACE).rstrip(b"=")
    if len(packed) < _SHORTEST or packed.translate(None, _BASE64):
        return None
    try:
        return pybase64.b64decode(packed[: len(packed) - (len(packed) % 4 == 1)] + b"=" * (-len(packed) % 4))
    except (binascii.Error, ValueError):
        return None
