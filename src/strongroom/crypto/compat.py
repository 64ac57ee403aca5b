"""Whole values of other ports."""

from typing import Literal

PassphraseEncoding = Literal["utf-8", "code-units"]


def open_with_key(key: bytes, serialized: str) -> bytes:
    raise NotImplementedError


def open_with_passphrase(passphrase: str, serialized: str, encoding: PassphraseEncoding = "utf-8") -> bytes:
    raise NotImplementedError


def derive_key(passphrase: str, serialized: str, encoding: PassphraseEncoding = "utf-8") -> bytes:
    raise NotImplementedError
