import base64
import hashlib
import math
import random

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicNumbers
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from strongroom.crypto.errors import ContextRefused, MalformedKey, PlaintextRefused
from strongroom.crypto.formats import ArtefactFormat
from strongroom.crypto.public_keys import PublicKey
from strongroom.crypto.rsa4096 import PrivateKey


def _pem(der: bytes, label: str = "PUBLIC KEY", newline: str = "\n") -> str:
    body = base64.encodebytes(der).decode().replace("\n", newline)
    return f"-----BEGIN {label}-----{newline}{body}-----END {label}-----{newline}"


def _made(modulus: int, exponent: int = 65537) -> str:
    return _pem(
        RSAPublicNumbers(exponent, modulus).public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    )


@pytest.fixture(scope="module")
def public(ada_key: PrivateKey) -> PublicKey:
    return ada_key.public_key


def test_one_key_in_many_texts_is_one_key(public: PublicKey) -> None:
    pem = public.pem
    long_line = f"-----BEGIN PUBLIC KEY-----\n{base64.b64encode(public.spki).decode()}\n-----END PUBLIC KEY-----"
    spaced = ("\n" + pem + "\r\n", "\f\v \t" + pem)
    for text in (pem, pem.replace("\n", "\r\n"), pem.rstrip("\n"), *spaced, _pem(public.spki), long_line):
        parsed = PublicKey.parse(text)
        assert parsed.pem == text
        assert parsed == public
        assert hash(parsed) == hash(public)
        assert parsed.fingerprint == public.fingerprint


def test_fingerprints(public: PublicKey) -> None:
    digest = hashlib.sha256(public.spki).digest()
    assert public.fingerprint_bytes == digest
    assert public.fingerprint == base64.urlsafe_b64encode(digest).decode().rstrip("=")
    account = "t3PChgclNZMAzQPwhj-MlU"
    shown = public.display(account)
    assert shown.sha256 == "SHA256:" + base64.b64encode(digest).decode().rstrip("=")
    groups = shown.safety_number.split(" ")
    assert [len(group) for group in groups] == [5] * 12
    first = hashlib.sha512(b"strongroom/1/fingerprint\0" + account.encode() + b"\0" + public.spki).digest()[:5]
    assert int(groups[0]) == int.from_bytes(first, "big") % 100_000
    assert public.display("A" * 22).safety_number != shown.safety_number
    with pytest.raises(ContextRefused):
        public.display("short")


def test_malformed_texts(public: PublicKey, bob_key: PrivateKey) -> None:
    pem = public.pem
    broken = [
        "",
        "PUBLIC KEY",
        "text before\n" + pem,
        pem + "text after",
        pem + bob_key.public_key.pem,
        pem.replace("PUBLIC KEY", "RSA PUBLIC KEY"),
        pem.replace("PUBLIC KEY", "CERTIFICATE"),
        pem.replace("-----END PUBLIC KEY-----", ""),
        pem.replace("==\n", "=\n=\n"),
        pem.replace("BEGIN PUBLIC", "BEGIN  PUBLIC"),
        pem.replace("\nMII", "\nProc-Type: 4\n\nMII"),
        pem.replace("\nMII", "\n\nMII"),
        pem.replace("\nMII", "\n MII"),
        pem.replace("BEGIN PUBLIC KEY", "BEGIN PUBLIC KEX"),
        pem.replace("END PUBLIC KEY", "END PUBLIC KEX"),
        pem.replace("BEGIN PUBLIC KEY-----\n", "BEGIN PUBLIC KEY-----"),
        pem.replace("\n-----END", "-----END"),
        pem.replace("\nMII", "\n\rMII"),
        pem.replace("\n", "\r"),
        pem.replace("+", "-").replace("/", "_"),
        pem.replace("==\n", "\n") if "==\n" in pem else pem.replace("AQ", "", 1),
        pem + "\n" * 1024,
        "\xa0" + pem,
        pem.replace("M", "\xb5", 1),
        _pem(public.spki + b"\0"),
        _pem(public.spki[:-1]),
        _pem(b"\x30\x83\x00" + public.spki[2:]),
        _pem(public.spki.replace(bytes.fromhex("0500"), bytes.fromhex("0501"), 1)),
        _pem(public.spki.replace(bytes.fromhex("864886f70d010101"), bytes.fromhex("864886f70d01010a"), 1)),
        bob_key.pem,
    ]
    for text in broken:
        with pytest.raises(MalformedKey):
            PublicKey.parse(text)


@given(st.integers(0, 549), st.integers(0, 7))
def test_the_frame_around_the_modulus_is_fixed(place: int, bit: int) -> None:
    frame = bytearray(PublicKey.parse(_made(2**4095 + 1)).spki)
    frame[place] ^= 1 << bit
    in_modulus = 33 <= place < 545 and (place, bit) not in ((33, 7), (544, 0))
    try:
        PublicKey.parse(_pem(bytes(frame)))
    except MalformedKey:
        assert not in_modulus
    else:
        assert in_modulus


@pytest.mark.parametrize("exponent", [3, 5, 17, 257, 65539, 2**63 + 1])
def test_other_exponents(exponent: int) -> None:
    with pytest.raises(MalformedKey):
        PublicKey.parse(_made(2**4095 + 1, exponent))


@pytest.mark.parametrize("bits", [1024, 2048, 4088, 4095, 4097, 4104, 8192])
def test_other_sizes(bits: int) -> None:
    with pytest.raises(MalformedKey):
        PublicKey.parse(_made(2 ** (bits - 1) + 1))


def test_an_even_modulus_is_refused(public: PublicKey) -> None:
    spki = bytearray(public.spki)
    spki[-6] &= 0xFE
    with pytest.raises(MalformedKey):
        PublicKey.from_spki(bytes(spki))


def _without_small_factors(generator: random.Random, start: int) -> int:
    small = math.prod(n for n in range(2, 65536) if all(n % d for d in range(2, math.isqrt(n) + 1)))
    while math.gcd(start, small) != 1:
        start += 2 * generator.randrange(1, 1000)
    return start


def test_weak_moduli_fail_the_strength_check_and_good_ones_pass(public: PublicKey, bob_key: PrivateKey) -> None:
    public.check_strength()
    bob_key.public_key.check_strength()
    generator = random.Random(7)
    first = _without_small_factors(generator, 3 * 2**2046 + generator.getrandbits(2000) * 2 + 1)
    close = _without_small_factors(generator, first + 2**1000)
    smooth = public.modulus - public.modulus % 65521
    weak = [2**4095 + 1, smooth if smooth % 2 else smooth + 65521, first * first, first * close]
    for modulus in weak:
        key = PublicKey.parse(_made(modulus))
        with pytest.raises(MalformedKey):
            key.check_strength()


def test_encrypt_takes_1_to_470_bytes(ada_key: PrivateKey) -> None:
    for artefact_format in ArtefactFormat:
        assert ada_key.decrypt(ada_key.public_key.encrypt(b"x" * 470, artefact_format)) == b"x" * 470
    for size in (0, 471):
        with pytest.raises(PlaintextRefused):
            ada_key.public_key.encrypt(bytes(size))
