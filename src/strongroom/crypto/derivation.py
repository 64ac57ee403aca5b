"""Derivation artefacts and the password derived key."""

from dataclasses import dataclass

from strongroom.crypto.formats import Mode
from strongroom.crypto.keys import PasswordDerivedKey


@dataclass(frozen=True, slots=True)
class DerivationArtefacts:
    salt: bytes
    iter: int
    length: int = 32
    hash: str = "SHA256"

    @classmethod
    def generate(cls, iterations: int = 1_000_000) -> "DerivationArtefacts":
        raise NotImplementedError

    def serialize(self) -> str:
        raise NotImplementedError

    def check_strict(self) -> None:
        """ParametersRefused."""
        raise NotImplementedError


def parse_derivation_artefacts(text: str, mode: Mode = Mode.STRICT) -> DerivationArtefacts:
    """MalformedArtefacts."""
    raise NotImplementedError


def derive(passphrase: bytes, artefacts: DerivationArtefacts, mode: Mode = Mode.STRICT) -> PasswordDerivedKey:
    """ParametersRefused before any work."""
    raise NotImplementedError
