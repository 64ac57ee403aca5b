"""Finds unencrypted private keys, so that a client's mistake is refused instead of stored."""

import binascii
import re
import zlib
from collections.abc import Iterable
from typing import Final

import pybase64

_MARKS: Final = (b"PRIVATE KEY", b"openssh-key-v1", b"PuTTY-User-Key-File")
_MARKS_IN_TEXT: Final = tuple(mark.decode() for mark in _MARKS)
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
# How Base64 of a key starts, wrapped or not. Ciphertext fails here at its first bytes.
_PACKED: Final = re.compile(rb"[A-Za-z0-9+/_=\- \t\r\n]{40}")
# First bytes of DER, gzip, zlib and of that. Of random bytes seven in ten are none of them.
_TELLING: Final = frozenset(b"\x30\x1f\x78=" + _BASE64 + b"-_" + _SPACE)
# Characters of the shortest private key that stands in Base64 or DER: nothing below is worth decoding.
_SHORTEST: Final = 40
_SHORTEST_DECODED: Final = _SHORTEST * 3 // 4
_DEPTH: Final = 3
_UNPACKED_LIMIT: Final = 64 * 1024
_UNPACK_TRIES: Final = 4


def holds_private_key(text: str) -> bool:
    """Whether the text holds a private key that any reader could use.

    Looks at the text, the Base64 decoding of it and of each dot-separated part (either alphabet, padded or not,
    wrapped or not), and gzip or zlib inside, to a bounded depth and size: PEM, OpenSSH, PuTTY and JWK markers, and the
    DER shapes of PKCS#1, PKCS#8 and SEC 1. This finds mistakes; a client that wants to disclose its key always can.
    """
    budget = [_UNPACK_TRIES]
    raw = text.encode("utf-8", "replace")
    if _shows_key(raw, budget, _DEPTH):
        return True
    if b"." in raw:
        # What can be seen without decoding was looked for in the whole text.
        for part in raw.split(b"."):
            if len(part) >= _SHORTEST and (_starts_key(part) or _packs_key(part, budget, _DEPTH)):
                return True
    return False


def parts_hold_private_key(text: str, parts: Iterable[bytes]) -> bool:
    """The same answer for a text of URL-safe Base64 and dots whose parts the caller has decoded already."""
    parts = [part for part in parts if len(part) >= _SHORTEST_DECODED]
    # Looked at together, and as text: every stored value comes here, and in text a search is a third of the work. NUL
    # keeps a mark from being found in the end of one part and the start of the next.
    shown = b"\0".join(parts).decode("latin-1")
    for mark in _MARKS_IN_TEXT:
        if mark in text or mark in shown:
            return True
    budget = [_UNPACK_TRIES]
    names_key_type = '"kty"' in shown
    for part in parts:
        # Base64 itself is neither DER nor JSON nor compressed, so that only what it stands for is left to look at.
        if (names_key_type and _is_jwk(part)) or (
            part[0] in _TELLING and (_starts_key(part) or _packs_key(part, budget, _DEPTH - 1))
        ):
            return True
    return False


def _shows_key(data: bytes, budget: list[int], depth: int) -> bool:
    for mark in _MARKS:
        if data.find(mark) >= 0:  # `in` would first try to take the mark for a number
            return True
    return _starts_key(data) or _is_jwk(data) or _packs_key(data, budget, depth)


def _is_jwk(data: bytes) -> bool:
    return _JWK_TYPE.search(data) is not None and _JWK_SECRET.search(data) is not None


def _starts_key(data: bytes) -> bool:
    return data[:1] == b"\x30" and _DER.match(data) is not None


def _packs_key(data: bytes, budget: list[int], depth: int) -> bool:
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
    if _PACKED.match(data) is None:
        return None
    packed = data.translate(_TO_STANDARD, _SPACE).rstrip(b"=")
    if len(packed) < _SHORTEST or packed.translate(None, _BASE64):
        return None
    try:
        return pybase64.b64decode(packed[: len(packed) - (len(packed) % 4 == 1)] + b"=" * (-len(packed) % 4))
    except (binascii.Error, ValueError):
        return None
