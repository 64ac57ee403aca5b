"""The open keys of one account: what `register` and `unlock` end with."""

from dataclasses import dataclass, field
from typing import Final

from strongroom.client.errors import AccountClosed, NoSuchKey, ProtocolViolation
from strongroom.crypto.errors import DecryptionFailed
from strongroom.crypto.formats import ArtefactFormat, Mode
from strongroom.crypto.keys import DataEncryptionKey, KeyEncryptionKey
from strongroom.crypto.public_keys import PublicKey
from strongroom.crypto.rsa4096 import PrivateKey

VAULT_TAG: Final = "vault"
DATA_PURPOSE: Final = "data"
DEFAULT_CONTEXT: Final = "data"


@dataclass(frozen=True, slots=True)
class OpenKeypair:
    """A keypair whose halves were checked to belong together and to the tag asked for."""

    tag: str
    public_key: PublicKey = field(repr=False)
    private_key: PrivateKey = field(repr=False)


class Keyring:
    """The KEK, the DEKs and the vault keypair of one account. Nothing of it is shown, stored or sent."""

    def __init__(self, account: str, key_encryption_key: KeyEncryptionKey) -> None:
        self.account = account
        self._key_encryption_key: KeyEncryptionKey | None = key_encryption_key
        self._data_encryption_keys: list[DataEncryptionKey] = []
        self._uids: set[str] = set()
        self._vault_keypair: OpenKeypair | None = None

    def __repr__(self) -> str:
        return f"Keyring({self.account!r})"

    @property
    def key_encryption_key(self) -> KeyEncryptionKey:
        if self._key_encryption_key is None:
            raise AccountClosed
        return self._key_encryption_key

    @property
    def vault_keypair(self) -> OpenKeypair:
        if self._key_encryption_key is None:
            raise AccountClosed
        if self._vault_keypair is None:
            raise NoSuchKey("the account has no keypair tagged vault")
        return self._vault_keypair

    @property
    def vault_fingerprint(self) -> str | None:
        return None if self._vault_keypair is None else self._vault_keypair.public_key.fingerprint

    def take_vault_keypair(self, keypair: OpenKeypair) -> None:
        self._vault_keypair = keypair

    def add(self, key: DataEncryptionKey) -> None:
        """Add a DEK; the same uid twice is refused: a list with a copy in it was tampered with."""
        if self.knows(key):
            raise ProtocolViolation("a data encryption key is listed twice")
        if key.uid is not None:
            self._uids.add(key.uid)
        self._data_encryption_keys.append(key)

    def knows(self, key: DataEncryptionKey) -> bool:
        """Whether a DEK with this uid is in the keyring."""
        return key.uid is not None and key.uid in self._uids

    @property
    def uids(self) -> tuple[str, ...]:
        return tuple(sorted(self._uids))

    @property
    def purposes(self) -> tuple[str, ...]:
        """What the DEKs are for, oldest first, each once."""
        return tuple(dict.fromkeys(key.purpose for key in self._data_encryption_keys if key.purpose is not None))

    def seal(self, data: bytes, purpose: str, context: str, artefacts: ArtefactFormat) -> str:
        """Encrypt under the oldest DEK of this purpose, so that all devices choose the same one."""
        return self._of(purpose)[0].seal(data, self.account, context, artefacts)

    def open(self, serialized: str, purpose: str, context: str, mode: Mode) -> bytes:
        """Decrypt under whichever DEK of this purpose fits; in compat mode also under those without a purpose."""
        for key in self._of(purpose) if mode is Mode.STRICT else self._of(purpose, None):
            try:
                return key.open(serialized, self.account, context, mode)
            except DecryptionFailed:
                continue
        raise DecryptionFailed

    def _of(self, *purposes: str | None) -> list[DataEncryptionKey]:
        if self._key_encryption_key is None:
            raise AccountClosed
        found = [key for purpose in purposes for key in self._data_encryption_keys if key.purpose == purpose]
        if not found:
            raise NoSuchKey("the account has no data encryption key for this purpose")
        return found

    def close(self) -> None:
        """Drop every key. Python cannot promise that no copy is left in memory."""
        self._key_encryption_key = None
        self._data_encryption_keys = []
        self._uids = set()
        self._vault_keypair = None
