"""The key hierarchy as three types, so that a key wrapped under the wrong one does not type-check."""

import hmac
from typing import Final, NoReturn, Self, final

from strongroom.crypto import binding
from strongroom.crypto.aes256gcm import encrypt, open_value
from strongroom.crypto.errors import ContextRefused, CryptoError, DecryptionFailed, MalformedCiphertext, MalformedKey
from strongroom.crypto.formats import ArtefactFormat, Mode
from strongroom.crypto.public_keys import PublicKey
from strongroom.crypto.randomness import random_bytes
from strongroom.crypto.rsa4096 import PrivateKey
from strongroom.crypto.serialized_values import KEY_LIMIT, SerializedValue, characters_for, split

KEY_SIZE: Final = 32
DATA_LIMIT: Final = 16 * 1024 * 1024


class _Key:
    """32 bytes that print as stars, cannot be pickled and compare in constant time."""

    __slots__ = ("_value",)

    def __init__(self, value: bytes) -> None:
        """MalformedKey unless exactly 32 bytes."""
        if len(value) != KEY_SIZE:
            raise MalformedKey
        self._value = value

    def reveal(self) -> bytes:
        """The 32 bytes. For other libraries; no function of this package needs them outside."""
        return self._value

    def __repr__(self) -> str:
        return f"{type(self).__name__}(********)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key cannot be pickled or copied")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Key) or type(other) is not type(self):
            return NotImplemented
        return hmac.compare_digest(self._value, other._value)

    __hash__ = None  # type: ignore[assignment]  # typeshed declares __hash__ a method; None is the documented opt-out


def _open(key: bytes, value: SerializedValue, expected: str, mode: Mode) -> bytes:
    """Decrypt under the binding `expected`; COMPAT lets a value of another port say its own."""
    bound = value.artefacts is not None and value.artefacts.ad.startswith(binding.PREFIX)
    # A value that carries one of our bindings is held to it in either mode: compat is no way around them.
    if mode is Mode.STRICT or bound:
        return open_value(key, value, ad=expected, mode=Mode.STRICT)
    return open_value(key, value, ad=None, mode=Mode.COMPAT)


def _key_bytes(plaintext: bytes) -> bytes:
    if len(plaintext) != KEY_SIZE:
        raise DecryptionFailed
    return plaintext


@final
class DataEncryptionKey(_Key):
    """A key for data of one purpose. Purpose and uid are None for a key that another port wrapped without them."""

    __slots__ = ("purpose", "uid")

    def __init__(self, value: bytes, purpose: str | None = None, uid: str | None = None) -> None:
        """MalformedKey unless exactly 32 bytes. Use `generate`, or unwrap one."""
        super().__init__(value)
        self.purpose = purpose
        self.uid = uid

    @classmethod
    def generate(cls, purpose: str) -> Self:
        """A new key with a uid of its own. ContextRefused unless the purpose is `[a-z0-9-]{1,32}`."""
        uid = binding.new_uid()
        binding.data_encryption_key("A" * 22, purpose, uid)
        return cls(random_bytes(KEY_SIZE), purpose, uid)

    def seal(
        self, data: bytes, account: str, context: str = "data", artefacts: ArtefactFormat = ArtefactFormat.YAML
    ) -> str:
        """Data encrypted for this account and context; PlaintextRefused if empty, ContextRefused without a uid."""
        return encrypt(self._value, data, ad=self._binding(account, context), artefacts=artefacts)

    def open(
        self,
        serialized: str,
        account: str,
        context: str = "data",
        mode: Mode = Mode.STRICT,
        *,
        limit: int = DATA_LIMIT,
    ) -> bytes:
        """The data sealed under the same account and context; `limit` is its greatest size in bytes.

        MalformedCiphertext, or DecryptionFailed for another key, account, context or changed bytes.
        """
        value = split(serialized, "Aes256Gcm", mode, characters_for(limit))
        if len(value.data) > limit:
            raise MalformedCiphertext
        expected = self._binding(account, context) if self.uid is not None else ""
        return _open(self._value, value, expected, mode)

    def _binding(self, account: str, context: str) -> str:
        if self.uid is None:
            raise ContextRefused
        return binding.data(account, self.uid, context)


@final
class KeyEncryptionKey(_Key):
    """The one key of a user that encrypts data encryption keys and private keys."""

    __slots__ = ()

    @classmethod
    def generate(cls) -> Self:
        """A new key."""
        return cls(random_bytes(KEY_SIZE))

    def wrap_data_encryption_key(
        self, dek: DataEncryptionKey, account: str, artefacts: ArtefactFormat = ArtefactFormat.YAML
    ) -> str:
        """The serialized encrypted key for the service (spec: key store 7). ContextRefused without purpose and uid."""
        if dek.purpose is None or dek.uid is None:
            raise ContextRefused
        ad = binding.data_encryption_key(account, dek.purpose, dek.uid)
        return encrypt(self._value, dek.reveal(), ad=ad, artefacts=artefacts)

    def unwrap_data_encryption_key(self, serialized: str, account: str, mode: Mode = Mode.STRICT) -> DataEncryptionKey:
        """The key with purpose and uid from its binding, everything else in it compared.

        Whether the purpose is the wanted one and the uid is unique among the user's keys is for the caller to check.
        MalformedCiphertext or DecryptionFailed.
        """
        value = split(serialized, "Aes256Gcm", mode, KEY_LIMIT)
        ad = value.artefacts.ad if value.artefacts is not None else ""
        if mode is Mode.COMPAT and not ad.startswith(binding.PREFIX):
            return DataEncryptionKey(_key_bytes(_open(self._value, value, "", mode)))
        try:
            purpose, uid = binding.read_data_encryption_key(ad, account)
        except ContextRefused:
            raise DecryptionFailed from None
        expected = binding.data_encryption_key(account, purpose, uid)
        return DataEncryptionKey(_key_bytes(_open(self._value, value, expected, mode)), purpose, uid)

    def wrap_private_key(
        self, private_key: PrivateKey, account: str, tag: str, artefacts: ArtefactFormat = ArtefactFormat.YAML
    ) -> str:
        """The PKCS#1 PEM, encrypted for the service (spec: key store 8); `tag` is the first external identifier."""
        ad = binding.private_key(account, tag, private_key.public_key.fingerprint)
        return encrypt(self._value, private_key.pem.encode("ascii"), ad=ad, artefacts=artefacts)

    def unwrap_private_key(
        self, serialized: str, account: str, tag: str, public_key: PublicKey, mode: Mode = Mode.STRICT
    ) -> PrivateKey:
        """The private key that belongs to exactly this public key, account and tag.

        MalformedCiphertext or DecryptionFailed, also if private and public key are not a pair.
        """
        value = split(serialized, "Aes256Gcm", mode, KEY_LIMIT)
        expected = binding.private_key(account, tag, public_key.fingerprint)
        pem = _open(self._value, value, expected, mode)
        try:
            # GCM has just authenticated these bytes, so the 0.3 s of number checks would prove nothing new.
            private_key = PrivateKey.parse(pem, trusted=True)
            # The server keeps public keys in clear: without this it could hand out one of its own.
            if private_key.public_key != public_key:
                raise DecryptionFailed
            probe = random_bytes(KEY_SIZE)
            if not hmac.compare_digest(private_key.decrypt(public_key.encrypt(probe)), probe):
                raise DecryptionFailed
        except CryptoError:
            raise DecryptionFailed from None
        return private_key


@final
class PasswordDerivedKey(_Key):
    """The key derived from the passphrase. Never stored, and used for nothing but the key encryption key."""

    __slots__ = ()

    def wrap(self, kek: KeyEncryptionKey, account: str, artefacts: ArtefactFormat = ArtefactFormat.YAML) -> str:
        """The serialized encrypted key encryption key for the service (spec: key store 6)."""
        return encrypt(self._value, kek.reveal(), ad=binding.key_encryption_key(account), artefacts=artefacts)

    def unwrap(self, serialized: str, account: str, mode: Mode = Mode.STRICT) -> KeyEncryptionKey:
        """The key encryption key of this account; MalformedCiphertext, or DecryptionFailed.

        Check the verification artefacts first: GCM does not commit to its key, so a success alone would let a server
        test many passphrases with one answer.
        """
        value = split(serialized, "Aes256Gcm", mode, KEY_LIMIT)
        return KeyEncryptionKey(_key_bytes(_open(self._value, value, binding.key_encryption_key(account), mode)))
