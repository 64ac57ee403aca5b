import base64
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.crypto.artefacts import DERIVATION, SIZE_LIMIT, Scalar, read_artefacts, write_artefacts
from strongroom.crypto.errors import MalformedArtefacts
from strongroom.crypto.formats import ArtefactFormat, Mode

IV = b"0123456789ab"
AT = b"\x7c\x9f\xba\x0a\xca\x39\x64\xb3\x28\xb7\xe9\x13\xc7\x42\x96\x7f"
IV64, AT64 = base64.b64encode(IV).decode(), base64.b64encode(AT).decode()
FIELDS: dict[str, Scalar] = {"iv": IV, "at": AT, "ad": "none"}
OWN = f"---\niv: !binary |-\n  {IV64}\nat: !binary |-\n  {AT64}\nad: none\n"

printable = st.text(alphabet=st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=200)
fields = st.fixed_dictionaries(
    {"iv": st.binary(min_size=1, max_size=64), "at": st.binary(min_size=1, max_size=64), "ad": printable}
)
derivations = st.fixed_dictionaries(
    {
        "salt": st.binary(min_size=1, max_size=200),
        "iter": st.integers(0, 2**31 - 1),
        "length": st.integers(0, 2**31 - 1),
        "hash": printable,
    }
)


@given(fields | derivations, st.sampled_from(ArtefactFormat), st.sampled_from(Mode))
def test_there_and_back(given_fields: dict[str, Scalar], artefact_format: ArtefactFormat, mode: Mode) -> None:
    for version in (b"A", DERIVATION):
        written = write_artefacts(given_fields, artefact_format, version)
        assert read_artefacts(written, mode, version) == (given_fields, artefact_format)


def test_the_bytes_we_write() -> None:
    assert write_artefacts(FIELDS) == OWN.encode()
    assert write_artefacts({}) == b"--- {}\n"
    assert write_artefacts({}, ArtefactFormat.BSON) == b"A\x05\x00\x00\x00\x00"
    written = write_artefacts(FIELDS, ArtefactFormat.BSON)
    assert written[:5] == b"A\x40\x00\x00\x00"
    assert len(written) == 65
    assert write_artefacts({"ad": "sr1:kek:x"}) == b"---\nad: sr1:kek:x\n"
    assert write_artefacts({"ad": "it's: so"}) == b"---\nad: 'it''s: so'\n"
    for unsafe in (
        "",
        "Yes",
        "null",
        "12",
        "-",
        "a: b",
        "a #b",
        "a:",
        "~",
        "{}",
        "1:0:0",
        "=",
        "<<",
        "!x",
        "&a",
        "*a",
        "%x",
        "e3",
        "E-07",
    ):
        assert write_artefacts({"ad": unsafe}) == b"---\nad: '" + unsafe.encode() + b"'\n"


BOTH_MODES = [
    OWN,
    OWN.replace("!binary", "!!binary"),
    OWN.replace("|-\n  ", ""),
    OWN.replace("|-\n  ", '"').replace("\nat", '"\nat').replace("==\n", '=="\n'),
    OWN.replace("|-", "|"),
    OWN.replace("  " + AT64, f"  {AT64[:10]}\n  {AT64[10:]}"),
    OWN.replace("iv:", '"iv":').replace("at:", "'at':"),
    OWN.replace("none", "'none'"),
    OWN.replace("none", '"none"'),
    f"---\nad: none\nat: !binary |-\n  {AT64}\niv: !binary |-\n  {IV64}\n",
    OWN.rstrip("\n"),
    OWN.replace("\n  ", "\n        "),
]
COMPAT_ONLY = [
    OWN.replace("---\n", ""),
    OWN.replace("\n", "\r\n"),
    OWN.replace(f"!binary |-\n  {IV64}", IV.decode()),
    OWN.replace(f"!binary |-\n  {IV64}", f"'{IV.decode()}'"),
    OWN.replace(f"!binary |-\n  {IV64}", '"\\x30\\u0031\\U00000032345678\\x39ab"'),
    OWN.replace("ad: none", "ad: |-\n  none"),
    OWN.replace("ad: none", "ad: >-\n  none"),
    OWN.replace("ad: none", "ad:\n  none"),
    OWN.replace("ad: none", 'ad: "no\\\n  ne"'),
    OWN.replace("|-", ">-"),
    OWN.replace("---", "--- "),
]


@pytest.mark.parametrize("text", BOTH_MODES)
def test_spellings_every_reader_takes(text: str) -> None:
    assert read_artefacts(text.encode(), Mode.STRICT)[0] == FIELDS
    assert read_artefacts(text.encode(), Mode.COMPAT)[0] == FIELDS


@pytest.mark.parametrize("text", COMPAT_ONLY)
def test_spellings_of_old_writers(text: str) -> None:
    assert text != OWN
    assert read_artefacts(text.encode(), Mode.COMPAT)[0] == FIELDS
    with pytest.raises(MalformedArtefacts):
        read_artefacts(text.encode(), Mode.STRICT)


@pytest.mark.parametrize(
    ("written", "ad"),
    [
        ("'two words,\n  folded'", "two words, folded"),
        ("two words,\n  folded", "two words, folded"),
        ('"a \\\n  \\ b"', "a  b"),
        ("'it''s'", "it's"),
        ('"tab is \\x41 \\\\ \\""', 'tab is A \\ "'),
        ("|2-\n    indented", "  indented"),
        (">-\n  two\n  lines", "two lines"),
        (">2-\n    indented", "  indented"),
        ("user:0a1b/purpose:kek", "user:0a1b/purpose:kek"),
        ("''", ""),
    ],
)
def test_text_as_other_emitters_fold_it(written: str, ad: str) -> None:
    assert read_artefacts(OWN.replace("none", written).encode(), Mode.COMPAT)[0]["ad"] == ad


@pytest.mark.parametrize(
    ("written", "salt"),
    [
        ("'letters\n\n  '", b"letters\n"),
        ("'a\n\n\n  b'", b"a\n\nb"),
        ("|-\n  one\n\n  two\n   three", b"one\n\ntwo\n three"),
        ("|\n  one\n  two", b"one\ntwo\n"),
        ("|+\n  one\n  two\n", b"one\ntwo\n\n"),
        ("|2-\n\n    one", b"\n  one"),
        ("|4-\n\n    one", b"\none"),
    ],
)
@pytest.mark.parametrize("end", ["", "...\n"])
def test_bytes_that_were_lines_of_text(written: str, salt: bytes, end: str) -> None:
    for text in (f"---\nsalt: {written}\niter: 1\n{end}", f"---\niter: 1\nsalt: {written}\n{end}"):
        assert read_artefacts(text.encode(), Mode.COMPAT, DERIVATION)[0] == {"salt": salt, "iter": 1}
        with pytest.raises(MalformedArtefacts):
            read_artefacts(text.encode(), Mode.STRICT, DERIVATION)


@pytest.mark.parametrize("text", ["--- {}\n", "---\n{}\n", "--- {}", "{}\n"])
def test_the_empty_hash(text: str) -> None:
    assert read_artefacts(text.encode(), Mode.COMPAT) == ({}, ArtefactFormat.YAML)


def _deep(character: str) -> str:
    return "---\niv: " + character * 1000


HOSTILE_YAML = [
    "",
    "\n",
    "---\n",
    "--- &a\n",
    OWN + OWN,
    OWN + "iv: none\n",
    OWN + "ad: none\n",
    OWN + "x: none\n",
    OWN + "<<: *a\n",
    OWN + "...\n---\n",
    "\ufeff" + OWN,
    OWN.replace("none", "&a none"),
    OWN.replace("none", "*a"),
    OWN.replace("none", "!!str none"),
    OWN.replace("none", "!ruby/object:Object {}"),
    OWN.replace("none", "[none]"),
    OWN.replace("none", "{a: b}"),
    OWN.replace("none", "no: ne"),
    OWN.replace("none", "none # comment"),
    OWN.replace("none", "\tnone"),
    OWN.replace("none", "n\x00one"),
    OWN.replace("none", "n\xe9"),
    OWN.replace("none", '"\\n"'),
    OWN.replace("none", '"\\xe9"'),
    OWN.replace("none", '"\\q"'),
    OWN.replace("none", "'unclosed"),
    OWN.replace("none", "|\n  none"),
    OWN.replace("none", "!binary |-\n  bm9uZQ=="),
    OWN.replace("none", "a\n\n  b"),
    OWN.replace("none", '"a\\\n\n  b"'),
    OWN.replace("|-\n", "|-\n\n"),
    OWN.replace(AT64, AT64[:10] + "\n\n  " + AT64[10:]),
    OWN.replace(AT64, AT64[:10] + "\n   " + AT64[10:]),
    OWN.replace(f"!binary |-\n  {IV64}", "|-\n  0123\n 456789a"),
    OWN.replace(f"!binary |-\n  {IV64}", "|-\n\n"),
    OWN.replace("none", ">-\n  two\n   lines"),
    OWN.replace("none", ">2-\n   two\n  lines"),
    OWN + "...\n...\n",
    "---\n...\n",
    OWN.replace(AT64, AT64.replace("/", "_").replace("+", "-")),
    OWN.replace("|-", "|+"),
    OWN.replace("|-", "|2"),
    OWN.replace("|-", "| "),
    OWN.replace(AT64, AT64[:-1]),
    OWN.replace(AT64, AT64[:-3] + "x=="),
    OWN.replace(AT64, AT64 + "===="),
    OWN.replace("  " + AT64, ""),
    OWN.replace("  " + AT64, AT64),
    OWN.replace("iv: !binary |-\n  ", "iv: !binary |-\n\t"),
    OWN.replace("iv", "IV"),
    OWN.replace("iv:", "? iv\n:"),
    OWN.replace("iv:", "iv"),
    OWN.replace("iv:", "- iv:"),
    _deep("["),
    _deep("{"),
    _deep("- "),
    _deep("&a "),
    _deep("!!binary "),
    _deep('"\\'),
    _deep("'") + "'",
    "---\niv: |-\n" + "  \n" * 300,
    "---\n" + "a: &a [*a,*a]\n" * 60,
    OWN.replace("\n", "\r"),
    "%YAML 1.1\n" + OWN,
    OWN + " " * SIZE_LIMIT,
]


@pytest.mark.parametrize("text", HOSTILE_YAML)
@pytest.mark.parametrize("mode", Mode)
def test_everything_else_in_yaml_is_one_error_in_no_time(text: str, mode: Mode) -> None:
    started = time.perf_counter()
    with pytest.raises(MalformedArtefacts):
        read_artefacts(text.encode("utf-8"), mode)
    assert time.perf_counter() - started < 0.05


@pytest.mark.parametrize(
    "iterations", ["1:0:0", "040", "0x10", "1_000", "on", "+1", "-1", "6e5", "1.0", "'1'", "2147483648", "9" * 900]
)
def test_integers_have_one_spelling(iterations: str) -> None:
    with pytest.raises(MalformedArtefacts):
        read_artefacts(f"---\niter: {iterations}\n".encode(), Mode.COMPAT, DERIVATION)


def _element(kind: int, name: bytes, body: bytes) -> bytes:
    return bytes([kind]) + name + b"\0" + body


def _document(*elements: bytes, extra: int = 0) -> bytes:
    inside = b"".join(elements)
    return b"A" + (len(inside) + 5 + extra).to_bytes(4, "little", signed=True) + inside + b"\0"


IV_ELEMENT = _element(5, b"iv", b"\x0c\0\0\0\0" + IV)
NESTED = b"\x05\0\0\0\0"
for _ in range(100):
    NESTED = (len(NESTED) + 8).to_bytes(4, "little") + b"\x03a\0" + NESTED + b"\0"


@pytest.mark.parametrize(
    "document",
    [
        b"A",
        b"A\x05\0\0\0",
        b"A\x05\0\0\0\x01",
        _document(IV_ELEMENT, extra=1000),
        _document(IV_ELEMENT, extra=-1),
        b"A\xfb\xff\xff\xff" + IV_ELEMENT + b"\0",
        _document(IV_ELEMENT) + b"\0",
        _document(IV_ELEMENT) + _document(IV_ELEMENT)[1:],
        _document(IV_ELEMENT, IV_ELEMENT),
        b"Z" + _document(IV_ELEMENT)[1:],
        b"K" + _document(IV_ELEMENT)[1:],
        _document(_element(3, b"iv", NESTED)),
        _document(_element(13, b"iv", b"\x05\0\0\0eval\0")),
        _document(_element(5, b"iv", b"\x0c\0\0\0\x02" + IV)),
        _document(_element(5, b"iv", b"\xff\xff\xff\xff\0" + IV)),
        _document(_element(5, b"iv", b"\x0d\0\0\0\0" + IV)),
        _document(_element(5, b"ad", b"\x04\0\0\0\0none")),
        _document(_element(2, b"ad", b"\0\0\0\0none\0")),
        _document(_element(2, b"ad", b"\x04\0\0\0none\0")),
        _document(_element(2, b"ad", b"\x03\0\0\0\xc3\xa9\0")),
        _document(_element(2, b"ad", b"\x03\0\0\0a\0\0")),
        _document(_element(2, b"iv", b"\x05\0\0\0none\0")),
        _document(_element(16, b"iter", b"\xff\xff\xff\xff")),
        _document(_element(16, b"iter", b"\x01\0\0")),
        _document(_element(1, b"iter", bytes(8))),
        _document(_element(5, b"x", b"\x0c\0\0\0\0" + IV)),
        _document(b"\x05iv"),
    ],
)
@pytest.mark.parametrize("mode", Mode)
def test_everything_else_in_bson_is_one_error(document: bytes, mode: Mode) -> None:
    with pytest.raises(MalformedArtefacts):
        read_artefacts(document, mode)


def test_wide_integers_are_for_compat_only() -> None:
    document = _document(_element(18, b"iter", (21000).to_bytes(8, "little")))
    assert read_artefacts(document, Mode.COMPAT)[0] == {"iter": 21000}
    with pytest.raises(MalformedArtefacts):
        read_artefacts(document, Mode.STRICT)


@given(
    st.binary(max_size=200) | st.text(alphabet="-ivatdn: |>!'\"\n\\ b=A{}&*", max_size=120).map(str.encode),
    st.sampled_from(Mode),
)
def test_any_bytes_give_a_value_that_survives_or_one_error(data: bytes, mode: Mode) -> None:
    try:
        read, artefact_format = read_artefacts(data, mode)
    except MalformedArtefacts:
        return
    assert read_artefacts(write_artefacts(read, artefact_format), Mode.STRICT) == (read, artefact_format)


@given(st.data())
def test_any_change_to_what_we_write_is_noticed_or_harmless(data: st.DataObject) -> None:
    artefact_format = data.draw(st.sampled_from(ArtefactFormat))
    written = bytearray(write_artefacts(FIELDS, artefact_format))
    for _ in range(data.draw(st.integers(1, 3))):
        written[data.draw(st.integers(0, len(written) - 1))] = data.draw(st.integers(0, 255))
    try:
        read, _ = read_artefacts(bytes(written), Mode.COMPAT)
    except MalformedArtefacts:
        return
    assert read_artefacts(write_artefacts(read), Mode.STRICT)[0] == read


@pytest.mark.parametrize(
    "wrong", [{"iv": "text"}, {"iv": b""}, {"ad": b"x"}, {"ad": "\n"}, {"iter": True}, {"iter": -1}, {"x": "y"}]
)
@pytest.mark.parametrize("artefact_format", ArtefactFormat)
def test_what_no_reader_takes_is_not_written(wrong: dict[str, Scalar], artefact_format: ArtefactFormat) -> None:
    with pytest.raises(MalformedArtefacts):
        write_artefacts(wrong, artefact_format)
    with pytest.raises(MalformedArtefacts):
        write_artefacts({"ad": "x" * SIZE_LIMIT}, artefact_format)
