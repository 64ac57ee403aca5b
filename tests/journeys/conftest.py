"""Journeys run with the real thing: nothing of the cryptography may be replaced here, not even by a leaking fixture."""

import pytest

from strongroom.crypto import derivation, key_stretching, login_secret, randomness
from strongroom.crypto.rsa4096 import PrivateKey


@pytest.fixture(autouse=True)
def real_cryptography() -> None:
    for module in (derivation, login_secret):
        assert module.pbkdf2 is key_stretching.pbkdf2
    assert derivation.random_bytes is randomness.random_bytes  # type: ignore[attr-defined]
    assert PrivateKey.generate.__func__.__module__ == "strongroom.crypto.rsa4096"  # type: ignore[attr-defined]
