"""RSA-4096 private keys."""

from typing import final

from strongroom.crypto.formats import Mode
from strongroom.crypto.public_keys import PublicKey


@final
class PrivateKey:
    public_key: PublicKey

    @classmethod
    def generate(cls) -> "PrivateKey":
        """About a second, sometimes three."""
        raise NotImplementedError

    @classmethod
    def parse(cls, pem: str | bytes, *, trusted: bool = False) -> "PrivateKey":
        """PKCS#1 or PKCS#8 PEM; MalformedKey."""
        raise NotImplementedError

    @property
    def pem(self) -> str:
        """PKCS#1 PEM in clear."""
        raise NotImplementedError

    def decrypt(self, serialized: str, mode: Mode = Mode.STRICT) -> bytes:
        raise NotImplementedError
