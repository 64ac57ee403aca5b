"""The three key types."""

from typing import final

from strongroom.crypto.formats import ArtefactFormat, Mode
from strongroom.crypto.public_keys import PublicKey
from strongroom.crypto.rsa4096 import PrivateKey

DATA_LIMIT = 16 * 1024 * 1024


class _Key:
    def reveal(self) -> bytes:
        raise NotImplementedError


@final
class DataEncryptionKey(_Key):
    purpose: str | None
    uid: str | None

    @classmethod
    def generate(cls, purpose: str) -> "DataEncryptionKey":
        raise NotImplementedError

    def seal(
        self, data: bytes, account: str, context: str = "data", artefacts: ArtefactFormat = ArtefactFormat.YAML
    ) -> str:
        raise NotImplementedError

    def open(
        self,
        serialized: str,
        account: str,
        context: str = "data",
        mode: Mode = Mode.STRICT,
        *,
        limit: int = DATA_LIMIT,
    ) -> bytes:
        raise NotImplementedError


@final
class KeyEncryptionKey(_Key):
    @classmethod
    def generate(cls) -> "KeyEncryptionKey":
        raise NotImplementedError

    def wrap_data_encryption_key(
        self, dek: DataEncryptionKey, account: str, artefacts: ArtefactFormat = ArtefactFormat.YAML
    ) -> str:
        raise NotImplementedError

    def unwrap_data_encryption_key(self, serialized: str, account: str, mode: Mode = Mode.STRICT) -> DataEncryptionKey:
        raise NotImplementedError

    def wrap_private_key(
        self, private_key: PrivateKey, account: str, tag: str, artefacts: ArtefactFormat = ArtefactFormat.YAML
    ) -> str:
        raise NotImplementedError

    def unwrap_private_key(
        self, serialized: str, account: str, tag: str, public_key: PublicKey, mode: Mode = Mode.STRICT
    ) -> PrivateKey:
        raise NotImplementedError


@final
class PasswordDerivedKey(_Key):
    def wrap(self, kek: KeyEncryptionKey, account: str, artefacts: ArtefactFormat = ArtefactFormat.YAML) -> str:
        raise NotImplementedError

    def unwrap(self, serialized: str, account: str, mode: Mode = Mode.STRICT) -> KeyEncryptionKey:
        raise NotImplementedError
