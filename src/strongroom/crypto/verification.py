"""Verification artefacts."""

from dataclasses import dataclass

from strongroom.crypto.keys import PasswordDerivedKey


@dataclass(frozen=True, slots=True)
class Verification:
    generation: int
    iterations: int
    time: str
    features: tuple[str, ...]


def make_verification(
    pdk: PasswordDerivedKey, *, account: str, derivation_artefacts: str, iterations: int, generation: int, time: str
) -> str:
    raise NotImplementedError


def check_verification(pdk: PasswordDerivedKey, text: str, *, account: str, derivation_artefacts: str) -> Verification:
    """VerificationFailed."""
    raise NotImplementedError
