import pickle

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from strongroom.crypto.errors import DecryptionFailed, MalformedCiphertext, MalformedKey
from strongroom.crypto.formats import Mode
from strongroom.crypto.public_keys import PublicKey
from strongroom.crypto.rsa4096 import PrivateKey
from strongroom.crypto.serialized_values import SerializedValue, join, split

PEM, PKCS8, PLAIN = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()


def _loaded(private_key: PrivateKey) -> rsa.RSAPrivateKey:
    key = serialization.load_pem_private_key(private_key.pem.encode(), None, unsafe_skip_rsa_key_validation=True)
    assert isinstance(key, rsa.RSAPrivateKey)
    return key


def test_both_containers_and_line_ends_give_the_same_key(ada_key: PrivateKey) -> None:
    pkcs8 = _loaded(ada_key).private_bytes(PEM, PKCS8, PLAIN).decode()
    for text in (ada_key.pem, ada_key.pem.replace("\n", "\r\n"), pkcs8, pkcs8.replace("\n", "\r\n")):
        parsed = PrivateKey.parse(text, trusted=True)
        assert parsed.pem == ada_key.pem
        assert parsed.public_key == ada_key.public_key
    assert ada_key.pem.startswith("-----BEGIN RSA PRIVATE KEY-----\n")


@pytest.mark.slow
def test_an_untrusted_key_is_checked(ada_key: PrivateKey, bob_key: PrivateKey) -> None:
    assert PrivateKey.parse(ada_key.pem).public_key == ada_key.public_key
    ours, theirs = _loaded(ada_key).private_numbers(), _loaded(bob_key).private_numbers()
    mixed = rsa.RSAPrivateNumbers(
        ours.p, ours.q, theirs.d, ours.dmp1, ours.dmq1, ours.iqmp, ours.public_numbers
    ).private_key(unsafe_skip_rsa_key_validation=True)
    with pytest.raises(MalformedKey):
        PrivateKey.parse(mixed.private_bytes(PEM, PKCS8, PLAIN))


@pytest.mark.slow
def test_a_generated_key_works() -> None:
    key = PrivateKey.generate()
    key.public_key.check_strength()
    assert PublicKey.parse(key.public_key.pem) == key.public_key
    assert key.decrypt(key.public_key.encrypt(b"hello")) == b"hello"


def test_malformed_keys(ada_key: PrivateKey) -> None:
    pem = ada_key.pem
    small = rsa.generate_private_key(65537, 1024).private_bytes(PEM, PKCS8, PLAIN)
    curve = ec.generate_private_key(ec.SECP256R1()).private_bytes(PEM, PKCS8, PLAIN)
    locked = _loaded(ada_key).private_bytes(PEM, PKCS8, serialization.BestAvailableEncryption(b"x"))
    broken: list[str | bytes] = [
        "",
        "\xe9",
        b"\xff",
        pem + pem,
        "before\n" + pem,
        pem.replace("BEGIN RSA", "BEGIN"),
        pem.replace("RSA PRIVATE", "EC PRIVATE"),
        pem[:-40],
        pem.replace("\nMII", "\nAII"),
        pem + "\n" * 8192,
        ada_key.public_key.pem,
        small,
        curve,
        locked,
    ]
    for text in broken:
        with pytest.raises(MalformedKey):
            PrivateKey.parse(text, trusted=True)


def test_every_decryption_failure_is_the_same(ada_key: PrivateKey, bob_key: PrivateKey) -> None:
    for_bob = bob_key.public_key.encrypt(b"x")
    data = split(for_bob, "Rsa4096").data
    others = [bytes(512), b"\xff" * 512, data[:-1] + bytes([data[-1] ^ 1])]
    for text in (for_bob, *(join(SerializedValue("Rsa4096", other, None)) for other in others)):
        with pytest.raises(DecryptionFailed) as caught:
            ada_key.decrypt(text)
        assert caught.value.__suppress_context__
    for text in (join(SerializedValue("Rsa4096", data[:-1], None)), "Rsa4096.x.y", ""):
        with pytest.raises(MalformedCiphertext):
            ada_key.decrypt(text, Mode.COMPAT)


def test_a_private_key_hides(ada_key: PrivateKey) -> None:
    assert ada_key.pem.splitlines()[1] not in repr(ada_key) + str(ada_key) + repr([ada_key])
    with pytest.raises(TypeError):
        pickle.dumps(ada_key)
