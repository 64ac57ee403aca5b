import pytest

from strongroom.crypto.encoding import encode_padded
from strongroom.crypto.errors import MalformedCiphertext, VerificationFailed
from strongroom.crypto.formats import Mode
from strongroom.crypto.rsa4096 import PrivateKey
from strongroom.crypto.signatures import sign, verify


def test_there_and_back(ada_key: PrivateKey, bob_key: PrivateKey) -> None:
    for data in (b"", b"signed", bytes(range(256))):
        signed = sign(ada_key, data)
        assert signed.startswith("Sign.Rsa4096.")
        assert verify(ada_key.public_key, signed) == data
        with pytest.raises(VerificationFailed):
            verify(bob_key.public_key, signed)


def test_changed_data_or_signature(ada_key: PrivateKey) -> None:
    label, strategy, signature, _ = sign(ada_key, b"sign me").split(".")
    with pytest.raises(VerificationFailed):
        verify(ada_key.public_key, f"{label}.{strategy}.{signature}.{encode_padded(b'sign you')}")
    for forged in (bytes(512), b"\xff" * 512, bytes(511) + b"\x01"):
        with pytest.raises(VerificationFailed):
            verify(ada_key.public_key, f"Sign.Rsa4096.{encode_padded(forged)}.{encode_padded(b'sign me')}")


def test_other_shapes(ada_key: PrivateKey) -> None:
    signed = sign(ada_key, b"sign me")
    _, _, signature, data = signed.split(".")
    for text in (
        "",
        signed + ".",
        f"Sign.Rsa2048.{signature}.{data}",
        f"sign.Rsa4096.{signature}.{data}",
        f"Sign.Rsa4096.{encode_padded(bytes(511))}.{data}",
        f"Sign.Rsa4096.{signature}.{data[:-1]}",
        f"Sign.Rsa4096.{signature[:-2]}.{data}",
        signed + " " * 70_000,
    ):
        with pytest.raises(MalformedCiphertext):
            verify(ada_key.public_key, text, Mode.COMPAT)
