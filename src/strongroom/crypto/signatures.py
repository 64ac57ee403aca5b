"""Signatures as the ports write them: `Sign.Rsa4096.<signature>.<data>`, PKCS#1 v1.5 with SHA-256."""

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA256

from strongroom.crypto.encoding import decode_padded, encode_padded
from strongroom.crypto.errors import MalformedCiphertext, VerificationFailed
from strongroom.crypto.formats import Mode
from strongroom.crypto.public_keys import PublicKey
from strongroom.crypto.rsa4096 import PrivateKey
from strongroom.crypto.serialized_values import DEFAULT_LIMIT, RSA_SIZE


def sign(private_key: PrivateKey, data: bytes) -> str:
    """The data, readable by anyone, with a signature in front."""
    return f"Sign.Rsa4096.{encode_padded(private_key.sign(data))}.{encode_padded(data)}"


def verify(public_key: PublicKey, serialized: str, mode: Mode = Mode.STRICT, *, limit: int = DEFAULT_LIMIT) -> bytes:
    """The signed data. MalformedCiphertext unless it has this shape, VerificationFailed unless the signature holds.

    COMPAT also takes the Base64 alphabet with `+` and `/`. `limit` counts characters.
    """
    if len(serialized) > limit or serialized.count(".") != 3:
        raise MalformedCiphertext
    label, strategy, encoded_signature, encoded_data = serialized.split(".")
    signature, data = decode_padded(encoded_signature, mode), decode_padded(encoded_data, mode)
    if (label, strategy) != ("Sign", "Rsa4096") or data is None or signature is None or len(signature) != RSA_SIZE:
        raise MalformedCiphertext
    try:
        public_key.load().verify(signature, data, PKCS1v15(), SHA256())
    except InvalidSignature:
        raise VerificationFailed from None
    return data
