"""Private keys of the encryption strategy `Rsa4096`."""

import re
from typing import Final, NoReturn, final

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

from strongroom.crypto.encoding import decode_standard
from strongroom.crypto.errors import DecryptionFailed, MalformedKey
from strongroom.crypto.formats import Mode
from strongroom.crypto.public_keys import PublicKey, oaep
from strongroom.crypto.serialized_values import KEY_LIMIT, split

PEM_LIMIT: Final = 8 * 1024
_PEM: Final = re.compile(
    rb"\s*-----BEGIN (RSA )?PRIVATE KEY-----\r?\n((?:[A-Za-z0-9+/]+={0,2}\r?\n)+)-----END (RSA )?PRIVATE KEY-----\s*"
)
_LINE_END: Final = re.compile(rb"[\r\n]+")


@final
class PrivateKey:
    """An RSA-4096 private key. Prints as stars and cannot be pickled."""

    __slots__ = ("_key", "public_key")

    def __init__(self, key: RSAPrivateKey) -> None:
        """MalformedKey unless it has exactly 4096 bits and exponent 65537. Use `generate` or `parse`."""
        self._key: Final = key
        spki = key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        self.public_key: Final = PublicKey.from_spki(spki)

    @classmethod
    def generate(cls) -> "PrivateKey":
        """A new key; takes about a second, sometimes three, the GIL released."""
        return cls(generate_private_key(65537, 4096))

    @classmethod
    def parse(cls, pem: str | bytes, *, trusted: bool = False) -> "PrivateKey":
        """One unencrypted PEM block, PKCS#1 or PKCS#8, at most 8 KiB; MalformedKey otherwise.

        Checking that the numbers belong together takes 0.3 s. `trusted` skips it and is sound only for bytes that an
        authenticated decryption has just returned, followed by a comparison with the public key.
        """
        if isinstance(pem, str):
            try:
                pem = pem.encode("ascii")
            except UnicodeEncodeError:
                raise MalformedKey from None
        match = _PEM.fullmatch(pem) if len(pem) <= PEM_LIMIT else None
        if match is None or match[1] != match[3]:
            raise MalformedKey
        der = decode_standard(_LINE_END.sub(b"", match[2]))
        if der is None:
            raise MalformedKey
        try:
            key = serialization.load_der_private_key(der, None, unsafe_skip_rsa_key_validation=trusted)
        except Exception:  # noqa: BLE001  # the loader's many errors all mean one thing here, and may quote the key
            raise MalformedKey from None
        if not isinstance(key, RSAPrivateKey) or key.key_size != 4096:
            raise MalformedKey
        return cls(key)

    @property
    def pem(self) -> str:
        """The key in clear as PKCS#1 PEM, which every port reads."""
        return self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        ).decode("ascii")

    def decrypt(self, serialized: str, mode: Mode = Mode.STRICT) -> bytes:
        """The plaintext of an `Rsa4096` value. MalformedCiphertext, or DecryptionFailed for any fault inside."""
        value = split(serialized, "Rsa4096", mode, KEY_LIMIT)
        try:
            return self._key.decrypt(value.data, oaep())
        except ValueError:
            # One error for every padding fault: telling them apart is Manger's attack.
            raise DecryptionFailed from None

    def sign(self, data: bytes) -> bytes:
        """PKCS#1 v1.5 signature with SHA-256 (RFC 8017 8.2), 512 bytes."""
        return self._key.sign(data, PKCS1v15(), hashes.SHA256())

    def __repr__(self) -> str:
        return "PrivateKey(********)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a private key cannot be pickled or copied")
