"""A user's whole key hierarchy on fixed keys, so that no test pays for derivation or key generation."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

from strongroom.crypto.binding import new_uid
from strongroom.crypto.keys import DataEncryptionKey, KeyEncryptionKey, PasswordDerivedKey
from strongroom.crypto.names import account_tag
from strongroom.crypto.rsa4096 import PrivateKey

# Two shared cores: a deadline per example would measure the neighbours.
settings.register_profile("crypto", deadline=None)
settings.load_profile("crypto")

KEYS = Path(__file__).resolve().parent.parent / "keys"


@dataclass(frozen=True)
class Hierarchy:
    """One user's keys and what the service would store of them."""

    account: str
    pdk: PasswordDerivedKey
    kek: KeyEncryptionKey
    dek: DataEncryptionKey
    private_key: PrivateKey
    serialized_kek: str
    serialized_dek: str
    serialized_private_key: str
    sealed: str


def _load(name: str) -> PrivateKey:
    return PrivateKey.parse((KEYS / f"{name}.private.pem").read_bytes(), trusted=True)


@pytest.fixture(scope="session")
def ada_key() -> PrivateKey:
    return _load("ada")


@pytest.fixture(scope="session")
def bob_key() -> PrivateKey:
    return _load("bob")


def _hierarchy(username: str, seed: int, private_key: PrivateKey, dek_uid: str | None = None) -> Hierarchy:
    account = account_tag(username)
    pdk = PasswordDerivedKey(bytes([seed]) * 32)
    kek = KeyEncryptionKey(bytes([seed + 1]) * 32)
    dek = DataEncryptionKey(bytes([seed + 2]) * 32, "data", dek_uid or new_uid())
    return Hierarchy(
        account=account,
        pdk=pdk,
        kek=kek,
        dek=dek,
        private_key=private_key,
        serialized_kek=pdk.wrap(kek, account),
        serialized_dek=kek.wrap_data_encryption_key(dek, account),
        serialized_private_key=kek.wrap_private_key(private_key, account, "vault"),
        sealed=dek.seal(b"thirty-two bytes of secret data.", account),
    )


@pytest.fixture(scope="session")
def ada(ada_key: PrivateKey) -> Hierarchy:
    return _hierarchy("ada", 1, ada_key)


@pytest.fixture(scope="session")
def twin(ada: Hierarchy) -> Hierarchy:
    """Another account of the same person: same passphrase, same keys, another name."""
    return _hierarchy("ada.twin", 1, ada.private_key, ada.dek.uid)
