import base64
import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.crypto.encoding import decode_unpadded, encode_unpadded
from strongroom.crypto.errors import ContextRefused, VerificationFailed
from strongroom.crypto.key_stretching import expand
from strongroom.crypto.keys import KeyEncryptionKey, PasswordDerivedKey
from strongroom.crypto.names import account_tag
from strongroom.crypto.serialized_values import CipherArtefacts, SerializedValue, join
from strongroom.crypto.verification import Verification, check_verification, make_verification

CASE = json.loads((Path(__file__).resolve().parents[2] / "vectors/zero-knowledge.json").read_text("utf-8"))[
    "verification"
]
PDK = PasswordDerivedKey(bytes.fromhex(CASE["pdk_hex"]))
ACCOUNT = account_tag(CASE["username"])
ARTEFACTS, TEXT = CASE["derivation_artefacts"], CASE["verification_artefacts"]


def _make(pdk: PasswordDerivedKey = PDK, **changes: Any) -> str:
    given_values: dict[str, Any] = {
        "account": ACCOUNT,
        "derivation_artefacts": ARTEFACTS,
        "iterations": CASE["iter"],
        "generation": CASE["generation"],
        "time": CASE["time"],
    }
    return make_verification(pdk, **(given_values | changes))


def _check(
    text: str, pdk: PasswordDerivedKey = PDK, account: str = ACCOUNT, artefacts: str = ARTEFACTS
) -> Verification:
    return check_verification(pdk, text, account=account, derivation_artefacts=artefacts)


def test_the_published_value() -> None:
    assert _make() == TEXT
    assert _check(TEXT) == Verification(1, 600_000, "2026-01-31T12:00:00Z", ("ad",))


@given(st.integers(1, 2**40), st.integers(1, 10**7))
def test_there_and_back(generation: int, iterations: int) -> None:
    read = _check(_make(generation=generation, iterations=iterations))
    assert (read.generation, read.iterations) == (generation, iterations)


def test_another_key_account_or_artefacts() -> None:
    with pytest.raises(VerificationFailed):
        _check(TEXT, pdk=PasswordDerivedKey(bytes(32)))
    with pytest.raises(VerificationFailed):
        _check(TEXT, account="A" * 22)
    for artefacts in (ARTEFACTS + "=", "", "\ud800"):
        with pytest.raises(VerificationFailed):
            _check(TEXT, artefacts=artefacts)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "srva1.",
        "srva1..",
        "srva2" + TEXT[5:],
        TEXT[:-1],
        TEXT + "A",
        TEXT + ".",
        TEXT + "\n",
        TEXT.rpartition(".")[0],
        TEXT.rpartition(".")[0] + ".",
        "\xe9" + TEXT,
        TEXT + "A" * 5000,
    ],
)
def test_stripped_and_cut_values(text: str) -> None:
    with pytest.raises(VerificationFailed):
        _check(text)


def test_every_single_bit_flip() -> None:
    for place in range(len(TEXT)):
        for bit in range(8):
            with pytest.raises(VerificationFailed):
                _check(TEXT[:place] + chr(ord(TEXT[place]) ^ 1 << bit) + TEXT[place + 1 :])


def test_a_payload_of_another_generation_needs_its_own_tag() -> None:
    second = _make(generation=2)
    mixed = ".".join([*second.split(".")[:2], TEXT.split(".")[2]])
    with pytest.raises(VerificationFailed):
        _check(mixed)


def _authentic(payload: bytes) -> str:
    label = b"strongroom/1/verification-artefacts"
    tag = hmac.digest(expand(PDK.reveal(), label), label + b"\0" + payload, hashlib.sha256)
    return f"srva1.{encode_unpadded(payload)}.{encode_unpadded(tag)}"


def test_authentic_payloads_of_another_shape() -> None:
    good = decode_unpadded(TEXT.split(".")[1])
    assert good is not None
    assert _authentic(good) == TEXT
    fields = json.loads(good)
    shapes = [b"", b"null", b"[]", b'"adfgit"', b"{}", b"\xff", b"[" * 2000, good + b" ", good.replace(b":", b": ", 1)]
    changes: list[dict[str, Any]] = [
        {"g": 0},
        {"g": True},
        {"g": 1.0},
        {"g": "1"},
        {"i": 0},
        {"i": None},
        {"t": "yesterday"},
        {"t": 5},
        {"f": []},
        {"f": "ad"},
        {"f": [1]},
        {"f": ["other"]},
        {"a": "B" * 22},
        {"d": ""},
        {"x": 1},
    ]
    shapes += [json.dumps(fields | change, sort_keys=True, separators=(",", ":")).encode() for change in changes]
    shapes += [
        json.dumps({k: v for k, v in fields.items() if k != gone}, separators=(",", ":")).encode() for gone in fields
    ]
    for payload in shapes:
        with pytest.raises(VerificationFailed):
            _check(_authentic(payload))


@pytest.mark.parametrize("changes", [{"generation": 0}, {"iterations": 0}, {"time": "2026-01-31"}, {"account": "x"}])
def test_values_no_reader_takes_are_not_made(changes: dict[str, Any]) -> None:
    with pytest.raises(ContextRefused):
        _make(**changes)


def _multiply(left: int, right: int) -> int:
    """In GF(2^128) as GCM orders its bits (SP 800-38D 6.3)."""
    product = 0
    for place in range(127, -1, -1):
        if right >> place & 1:
            product ^= left
        left = left >> 1 ^ (0xE1 << 120 if left & 1 else 0)
    return product


def _two_key_value(first: bytes, second: bytes, ad: str) -> str:
    """One value that opens under both keys: the tags as polynomials, set equal, solved for the second block."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    iv, chosen = bytes(12), bytes(range(16))
    lengths = (len(ad) * 8) << 64 | 32 * 8
    padded = ad.encode().ljust(-(-len(ad) // 16) * 16, b"\0")
    blocks = [int.from_bytes(padded[start : start + 16], "big") for start in range(0, len(padded), 16)]
    constants, squares = [], []
    for key in (first, second):
        ecb = Cipher(algorithms.AES256(key), modes.ECB()).encryptor()  # the block cipher inside GCM
        h = int.from_bytes(ecb.update(bytes(16)), "big")
        total = 0
        for block in [*blocks, int.from_bytes(chosen, "big"), 0, lengths]:
            total = _multiply(total ^ block, h)
        constants.append(total ^ int.from_bytes(ecb.update(iv + b"\0\0\0\1"), "big"))
        squares.append(_multiply(h, h))
    # The unknown block is multiplied by h squared; its inverse is the power 2^128 - 2.
    divisor, inverse = squares[0] ^ squares[1], 1 << 127
    for _ in range(127):
        divisor = _multiply(divisor, divisor)
        inverse = _multiply(inverse, divisor)
    block = _multiply(constants[0] ^ constants[1], inverse)
    tag = constants[0] ^ _multiply(block, squares[0])
    artefacts = CipherArtefacts(iv, tag.to_bytes(16, "big"), ad)
    return join(SerializedValue("Aes256Gcm", chosen + block.to_bytes(16, "big"), artefacts))


def test_a_value_that_opens_under_two_keys_is_stopped_by_the_verification() -> None:
    other = PasswordDerivedKey(hashlib.sha256(b"another guess").digest())
    serialized = _two_key_value(PDK.reveal(), other.reveal(), f"sr1:kek:{ACCOUNT}")
    # GCM does not commit to its key: both guesses "succeed", so success must not be what the client reports.
    assert isinstance(PDK.unwrap(serialized, ACCOUNT), KeyEncryptionKey)
    assert isinstance(other.unwrap(serialized, ACCOUNT), KeyEncryptionKey)
    _check(TEXT)
    with pytest.raises(VerificationFailed):
        _check(TEXT, pdk=other)
    assert base64.urlsafe_b64decode(serialized.split(".")[1]) != b""
