"""Aes256Gcm."""

from strongroom.crypto.formats import ArtefactFormat, Mode
from strongroom.crypto.serialization import DEFAULT_LIMIT


def encrypt(key: bytes, plaintext: bytes, *, ad: str = "none", artefacts: ArtefactFormat = ArtefactFormat.YAML) -> str:
    raise NotImplementedError


def decrypt(
    key: bytes, serialized: str, *, ad: str | None = None, mode: Mode = Mode.STRICT, limit: int = DEFAULT_LIMIT
) -> bytes:
    raise NotImplementedError
