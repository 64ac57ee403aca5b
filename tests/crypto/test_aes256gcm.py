import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.crypto.aes256gcm import decrypt, encrypt
from strongroom.crypto.errors import (
    ContextRefused,
    DecryptionFailed,
    MalformedCiphertext,
    MalformedKey,
    PlaintextRefused,
)
from strongroom.crypto.formats import ArtefactFormat, Mode
from strongroom.crypto.serialized_values import CipherArtefacts, SerializedValue, characters_for, join, split

KEY = bytes(range(32))
printable = st.text(alphabet=st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=512)


@given(
    st.binary(min_size=32, max_size=32), st.binary(min_size=1, max_size=200), printable, st.sampled_from(ArtefactFormat)
)
def test_there_and_back(key: bytes, plaintext: bytes, ad: str, artefact_format: ArtefactFormat) -> None:
    serialized = encrypt(key, plaintext, ad=ad, artefacts=artefact_format)
    assert decrypt(key, serialized, ad=ad) == plaintext
    assert decrypt(key, serialized, mode=Mode.COMPAT) == plaintext
    assert plaintext not in serialized.encode() or len(plaintext) < 4


@pytest.mark.parametrize(
    ("key", "iv", "plaintext", "ad", "ciphertext", "tag"),
    [
        # McGrew and Viega, The Galois/Counter Mode of Operation, appendix B: test case 14.
        ("00" * 32, "00" * 12, "00" * 16, "", "cea7403d4d606b6e074ec5d3baf39d18", "d0d1c8a799996bf0265b98b5d48ab919"),
        # Test case 15.
        (
            "feffe9928665731c6d6a8f9467308308" * 2,
            "cafebabefacedbaddecaf888",
            (
                "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255"
            ),
            "",
            (
                "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
                "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad"
            ),
            "b094dac5d93471bdec1a502270e3cc6c",
        ),
    ],
)
def test_known_answers(key: str, iv: str, plaintext: str, ad: str, ciphertext: str, tag: str) -> None:
    artefacts = CipherArtefacts(bytes.fromhex(iv), bytes.fromhex(tag), ad)
    value = SerializedValue("Aes256Gcm", bytes.fromhex(ciphertext), artefacts)
    assert decrypt(bytes.fromhex(key), join(value), ad=ad).hex() == plaintext
    forged = SerializedValue("Aes256Gcm", value.data, CipherArtefacts(artefacts.iv, bytes(16), ad))
    with pytest.raises(DecryptionFailed):
        decrypt(bytes.fromhex(key), join(forged), ad=ad)


def test_strict_needs_the_expected_context() -> None:
    serialized = encrypt(KEY, b"secret", ad="sr1:kek:a")
    for ad in (None, "", "none", "sr1:kek:b", "sr1:kek:a ", "\xe9"):
        with pytest.raises(DecryptionFailed):
            decrypt(KEY, serialized, ad=ad)


def test_rewriting_the_stored_context_does_not_help() -> None:
    honest = encrypt(KEY, b"secret", ad="sr1:kek:a")
    value = split(honest, "Aes256Gcm")
    assert value.artefacts is not None
    moved = SerializedValue(
        "Aes256Gcm", value.data, CipherArtefacts(value.artefacts.iv, value.artefacts.at, "sr1:kek:b")
    )
    for mode, ad in ((Mode.STRICT, "sr1:kek:b"), (Mode.COMPAT, "sr1:kek:b"), (Mode.COMPAT, None)):
        with pytest.raises(DecryptionFailed):
            decrypt(KEY, join(moved), ad=ad, mode=mode)


def test_refused_inputs() -> None:
    with pytest.raises(PlaintextRefused):
        encrypt(KEY, b"")
    for size in (0, 16, 24, 31, 33):
        with pytest.raises(MalformedKey):
            encrypt(bytes(size), b"x")
        with pytest.raises(MalformedKey):
            decrypt(bytes(size), encrypt(KEY, b"x"), mode=Mode.COMPAT)
    for ad in ("\n", "\xe9", "x" * 513):
        with pytest.raises(ContextRefused):
            encrypt(KEY, b"x", ad=ad)


def test_every_value_has_its_own_iv() -> None:
    assert len({encrypt(KEY, b"x") for _ in range(1000)}) == 1000


def test_large_values_need_an_explicit_limit() -> None:
    plaintext = bytes(10**6)
    serialized = encrypt(KEY, plaintext)
    with pytest.raises(MalformedCiphertext):
        decrypt(KEY, serialized, ad="none")
    assert decrypt(KEY, serialized, ad="none", limit=characters_for(10**6)) == plaintext
