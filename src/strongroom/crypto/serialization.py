"""Serialized values: `<Strategy>.<data>.<artefacts>`."""

from dataclasses import dataclass

from strongroom.crypto.formats import ArtefactFormat, Mode, Strategy

__all__ = ["ArtefactFormat", "Mode", "SerializedValue", "Strategy", "check_encrypted_value", "holds_private_key", "split"]

KEY_LIMIT = 8 * 1024
DEFAULT_LIMIT = 64 * 1024


@dataclass(frozen=True, slots=True)
class SerializedValue:
    strategy: Strategy
    data: bytes
    artefacts: object


def split(text: str, strategy: Strategy, mode: Mode = Mode.STRICT, limit: int = DEFAULT_LIMIT) -> SerializedValue:
    """Read; `limit` counts characters; MalformedCiphertext."""
    raise NotImplementedError


def check_encrypted_value(text: str, strategy: Strategy, limit: int = DEFAULT_LIMIT) -> None:
    """What the service demands of a stored field; MalformedCiphertext."""
    raise NotImplementedError


def holds_private_key(text: str) -> bool:
    """Whether the text shows a private key in clear."""
    raise NotImplementedError
