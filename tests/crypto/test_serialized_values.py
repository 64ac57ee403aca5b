import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.crypto.encoding import encode_padded
from strongroom.crypto.errors import MalformedCiphertext
from strongroom.crypto.formats import ArtefactFormat, Mode, Strategy
from strongroom.crypto.serialized_values import (
    DEFAULT_LIMIT,
    CipherArtefacts,
    SerializedValue,
    characters_for,
    check_encrypted_value,
    join,
    own_parts,
    split,
    split_derived,
)

printable = st.text(alphabet=st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=200)
gcm_values = st.builds(
    SerializedValue,
    st.just("Aes256Gcm"),
    st.binary(min_size=1, max_size=100),
    st.builds(CipherArtefacts, st.binary(min_size=12, max_size=12), st.binary(min_size=16, max_size=16), printable),
    st.sampled_from(ArtefactFormat),
)
rsa_values = st.builds(
    SerializedValue,
    st.just("Rsa4096"),
    st.binary(min_size=512, max_size=512),
    st.none(),
    st.sampled_from(ArtefactFormat),
)

VALUE = SerializedValue("Aes256Gcm", b"ciphertext", CipherArtefacts(b"i" * 12, b"t" * 16, "sr1:kek:x"))
TEXT = join(VALUE)
STRATEGY, DATA, ARTEFACTS = TEXT.split(".")
RSA_TEXT = join(SerializedValue("Rsa4096", bytes(512), None))


@given(gcm_values | rsa_values, st.sampled_from(Mode))
def test_there_and_back(value: SerializedValue, mode: Mode) -> None:
    assert split(join(value), value.strategy, mode) == value
    check_encrypted_value(join(value), value.strategy)


def test_the_empty_hash_is_spelled_as_the_ports_spell_it() -> None:
    assert RSA_TEXT.endswith(".LS0tIHt9Cg==")
    assert join(SerializedValue("Rsa4096", bytes(512), None, ArtefactFormat.BSON)).endswith(".QQUAAAAA")
    other = RSA_TEXT.replace("LS0tIHt9Cg==", encode_padded(b"---\n{}\n"))
    assert split(other, "Rsa4096") == split(RSA_TEXT, "Rsa4096")


@pytest.mark.parametrize(
    "strategy",
    [
        "Aes256Ctr",
        "Aes256Ofb",
        "Aes256Cfb",
        "Aes256Cbc",
        "Aes256Ecb",
        "Aes128Gcm",
        "aes256gcm",
        "AES256GCM",
        "Aes256Gcm ",
        " Aes256Gcm",
        "",
        "Rsa4096",
        "Sign",
    ],
)
def test_no_other_strategy_is_opened(strategy: str) -> None:
    with pytest.raises(MalformedCiphertext):
        split(f"{strategy}.{DATA}.{ARTEFACTS}", "Aes256Gcm", Mode.COMPAT)


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "..",
        "Aes256Gcm",
        f"{STRATEGY}.{DATA}",
        f"{STRATEGY}..{ARTEFACTS}",
        f"{STRATEGY}.{DATA}.",
        f"{TEXT}.",
        f"{TEXT}.{DATA}",
        f"{TEXT}.{DATA}.{ARTEFACTS}",
        f"{TEXT}.{DATA}.{ARTEFACTS}.{DATA}.{ARTEFACTS}",
        f"{STRATEGY}.{DATA[:-1]}.{ARTEFACTS}",
        f"{STRATEGY}.{DATA}=.{ARTEFACTS}",
        f"{STRATEGY}.{DATA}\n.{ARTEFACTS}",
        f"{STRATEGY}.{DATA}.{ARTEFACTS}\n",
        f"{STRATEGY}.{DATA}.{ARTEFACTS}AAAA",
        f"{STRATEGY}.{DATA[:-3]}x==.{ARTEFACTS}",
        f"{STRATEGY}.\xe9{DATA}.{ARTEFACTS}",
        f"{STRATEGY}.{DATA}.{encode_padded(b'--- {}')}",
        f"{STRATEGY}.{DATA}.{'A' * 1372}",
        "A" * 10**6,
        "." * 60000,
    ],
)
@pytest.mark.parametrize("mode", Mode)
def test_other_shapes_are_one_error_in_no_time(text: str, mode: Mode) -> None:
    started = time.perf_counter()
    with pytest.raises(MalformedCiphertext):
        split(text, "Aes256Gcm", mode)
    assert time.perf_counter() - started < 0.05


@pytest.mark.parametrize("artefact_format", ArtefactFormat)
@pytest.mark.parametrize("mode", Mode)
def test_iv_and_tag_have_one_length(artefact_format: ArtefactFormat, mode: Mode) -> None:
    sizes = [(iv, 16) for iv in (1, 8, 11, 13, 16)] + [(12, at) for at in (1, 4, 12, 15, 17, 32)]
    for iv, at in sizes:
        value = SerializedValue("Aes256Gcm", b"c", CipherArtefacts(bytes(iv), bytes(at), "x"), artefact_format)
        with pytest.raises(MalformedCiphertext):
            split(join(value), "Aes256Gcm", mode)


@pytest.mark.parametrize("size", [1, 256, 511, 513])
def test_rsa_data_has_one_length(size: int) -> None:
    with pytest.raises(MalformedCiphertext):
        split(join(SerializedValue("Rsa4096", bytes(size), None)), "Rsa4096", Mode.COMPAT)


def test_artefacts_do_not_travel_between_strategies() -> None:
    rsa_data = RSA_TEXT.split(".")[1]
    with pytest.raises(MalformedCiphertext):
        split(f"Rsa4096.{rsa_data}.{ARTEFACTS}", "Rsa4096", Mode.COMPAT)
    for artefacts in ("", "LS0t", "QQUAAAAB", "LS0tIHt9Cg="):
        with pytest.raises(MalformedCiphertext):
            split(f"Rsa4096.{rsa_data}.{artefacts}", "Rsa4096", Mode.COMPAT)
    with pytest.raises(MalformedCiphertext):
        split(f"Aes256Gcm.{DATA}.LS0tIHt9Cg==", "Aes256Gcm", Mode.COMPAT)


def test_the_other_alphabet_is_for_compat() -> None:
    text = join(SerializedValue("Aes256Gcm", b"\xfb\xef\xff" * 4, VALUE.artefacts))
    old = text.replace("-", "+").replace("_", "/")
    assert old != text
    assert split(old, "Aes256Gcm", Mode.COMPAT) == split(text, "Aes256Gcm")
    check_encrypted_value(old, "Aes256Gcm")
    with pytest.raises(MalformedCiphertext):
        split(old, "Aes256Gcm")


def test_the_limit_counts_characters_of_the_text() -> None:
    assert split(TEXT, "Aes256Gcm", limit=len(TEXT)) == VALUE
    with pytest.raises(MalformedCiphertext):
        split(TEXT, "Aes256Gcm", limit=len(TEXT) - 1)
    longest = SerializedValue("Aes256Gcm", bytes(1000), CipherArtefacts(b"i" * 12, b"t" * 16, "a" * 512))
    assert len(join(longest)) <= characters_for(1000)
    with pytest.raises(MalformedCiphertext):
        split("Aes256Gcm." + "A" * DEFAULT_LIMIT + "." + ARTEFACTS, "Aes256Gcm")


@given(st.text(max_size=60) | st.text(alphabet="Aes256GcmR4096.=-_+/\n", max_size=80), st.sampled_from(Mode))
def test_any_text_gives_a_value_that_survives_or_one_error(text: str, mode: Mode) -> None:
    strategies: tuple[Strategy, ...] = ("Aes256Gcm", "Rsa4096")
    for strategy in strategies:
        try:
            value = split(text, strategy, mode)
        except MalformedCiphertext:
            continue
        assert split(join(value), strategy) == value


@given(gcm_values, st.data())
def test_any_change_gives_a_value_that_survives_or_one_error(value: SerializedValue, data: st.DataObject) -> None:
    text = join(value)
    place = data.draw(st.integers(0, len(text) - 1))
    changed = text[:place] + data.draw(st.characters(max_codepoint=0x1FF)) + text[place + 1 :]
    try:
        read = split(changed, "Aes256Gcm", Mode.COMPAT)
    except MalformedCiphertext:
        return
    assert split(join(read), "Aes256Gcm") == read


def test_five_parts() -> None:
    assert split_derived(f"{TEXT}.Pbkdf2Hmac.LS0=") == (TEXT, "Pbkdf2Hmac.LS0=")
    for text in (TEXT, f"{TEXT}.Scrypt.LS0=", f"{TEXT}.Pbkdf2Hmac.LS0=.", f"Rsa4096.{DATA}.x.Pbkdf2Hmac.y"):
        with pytest.raises(MalformedCiphertext):
            split_derived(text)
    with pytest.raises(MalformedCiphertext):
        split_derived(f"{TEXT}.Pbkdf2Hmac.LS0=", limit=20)


def test_ciphertext_stays_out_of_the_repr() -> None:
    assert "ciphertext" not in repr(VALUE)


def test_our_own_values_are_read_in_parts() -> None:
    artefacts = b"---\niv: !binary |-\n  aWlpaWlpaWlpaWlp\nat: !binary |-\n  dHR0dHR0dHR0dHR0dHR0dA==\nad: sr1:kek:x\n"
    assert own_parts(TEXT) == (b"ciphertext", artefacts)
    assert own_parts(TEXT, len(TEXT) - 1) is None
    for other in (ArtefactFormat.BSON, ArtefactFormat.YAML):
        foreign = SerializedValue("Aes256Gcm", b"x", CipherArtefacts(bytes(12), bytes(16), "it's"), other)
        assert own_parts(join(foreign)) is None


@given(
    st.sampled_from([1, 2, 3, 50]), st.integers(0, 200), st.sampled_from(["", *"=.AQgwB-_+/\n \xe90"]), st.booleans()
)
def test_values_read_in_parts_are_accepted_by_the_full_check(size: int, at: int, put: str, instead: bool) -> None:
    text = join(SerializedValue("Aes256Gcm", bytes(range(size)), VALUE.artefacts))
    changed = text[:at] + put + text[at + instead :]
    parts = own_parts(changed)
    if parts is not None:
        check_encrypted_value(changed, "Aes256Gcm")
        assert parts[0] == split(changed, "Aes256Gcm").data
