"""`Sign.Rsa4096.<signature>.<data>`."""

from strongroom.crypto.public_keys import PublicKey
from strongroom.crypto.rsa4096 import PrivateKey


def sign(private_key: PrivateKey, data: bytes) -> str:
    raise NotImplementedError


def verify(public_key: PublicKey, serialized: str) -> bytes:
    """The signed data; VerificationFailed or MalformedCiphertext."""
    raise NotImplementedError
