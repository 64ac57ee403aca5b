"""Public keys."""

from typing import final

from strongroom.crypto.formats import ArtefactFormat


@final
class PublicKey:
    """An RSA-4096 public key; equality is by SPKI."""

    pem: str  # as given, byte for byte
    spki: bytes
    fingerprint_bytes: bytes  # SHA-256 of the SPKI
    fingerprint: str  # 43 b64url characters

    @classmethod
    def parse(cls, pem: str) -> "PublicKey":
        """MalformedKey."""
        raise NotImplementedError

    def check_strength(self) -> None:
        """MalformedKey; about 3 ms."""
        raise NotImplementedError

    def encrypt(self, plaintext: bytes, artefacts: ArtefactFormat = ArtefactFormat.YAML) -> str:
        """`Rsa4096....`; at most 470 bytes."""
        raise NotImplementedError

    def display(self, account: str) -> tuple[str, str]:
        """("SHA256:...", 60-digit safety number)."""
        raise NotImplementedError
