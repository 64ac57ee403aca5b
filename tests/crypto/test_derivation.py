import ast
import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import strongroom.crypto
from strongroom.crypto.artefacts import DERIVATION, Scalar, write_artefacts
from strongroom.crypto.derivation import DerivationArtefacts, derive, parse_derivation_artefacts
from strongroom.crypto.errors import MalformedArtefacts, ParametersRefused
from strongroom.crypto.formats import ArtefactFormat, Mode

SALT = bytes(range(14, 34))
WANTED = DerivationArtefacts(SALT, 21129, 32, "SHA256")
LONG: dict[str, Scalar] = {"salt": SALT, "iter": 21129, "length": 32, "hash": "SHA256"}
SHORT: dict[str, Scalar] = {"iv": SALT, "i": 21129, "l": 32, "hash": "SHA256"}
WITHOUT_HASH: dict[str, Scalar] = {"iv": SALT, "i": 21129, "l": 32}
RUBY = (
    r'{"salt"=>"\x0E\x0F\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1A\e\x1C\x1D\x1E\x1F !", '
    r'"iter"=>21129, "length"=>32, "hash"=>"SHA256"}'
)


def _b64(data: bytes | str) -> str:
    return base64.urlsafe_b64encode(data.encode() if isinstance(data, str) else data).decode()


def _json(**changes: Any) -> str:
    fields = {"salt": _b64(SALT), "iter": 21129, "length": 32, "hash": "SHA256"} | changes
    return json.dumps({name: value for name, value in fields.items() if value != ""})


BOTH_MODES = [
    WANTED.serialize(),
    _b64(write_artefacts(SHORT)),
    _b64(write_artefacts(LONG, ArtefactFormat.BSON, DERIVATION)),
    _b64(write_artefacts(SHORT, ArtefactFormat.BSON, DERIVATION)),
    _b64(_json()),
    _b64(_json(salt=_b64(SALT).rstrip("="))),
    _b64(_json().replace(" ", "\n")),
]
COMPAT_ONLY = [
    "Pbkdf2Hmac." + WANTED.serialize(),
    "Pbkdf2Hmac." + _b64(write_artefacts(SHORT, ArtefactFormat.BSON, DERIVATION)),
    _b64(write_artefacts(WITHOUT_HASH)),
    _b64(write_artefacts(WITHOUT_HASH, ArtefactFormat.BSON, DERIVATION)),
    _b64(RUBY),
    RUBY,
    _json(),
    RUBY.replace("=>", " => "),
    RUBY.replace('"iter"', ":iter"),
    RUBY.replace(r"\x0E\x0F", r"\016\u000F"),
    RUBY.replace(r"\x11", r"\u{11}"),
    RUBY.replace(', "hash"=>"SHA256"', ""),
]


@pytest.mark.parametrize("text", BOTH_MODES)
def test_forms_every_mode_reads(text: str) -> None:
    assert parse_derivation_artefacts(text, Mode.STRICT) == WANTED
    assert parse_derivation_artefacts(text, Mode.COMPAT) == WANTED


@pytest.mark.parametrize("text", COMPAT_ONLY)
def test_forms_of_old_writers(text: str) -> None:
    assert parse_derivation_artefacts(text, Mode.COMPAT) == WANTED
    with pytest.raises(MalformedArtefacts):
        parse_derivation_artefacts(text, Mode.STRICT)


def test_every_byte_as_ruby_inspects_it() -> None:
    escaped = "".join(f"\\x{byte:02X}" for byte in range(256))
    read = parse_derivation_artefacts(_b64(f'{{"salt"=>"{escaped}", "iter"=>1, "length"=>32}}'), Mode.COMPAT)
    assert read.salt == bytes(range(256))
    read = parse_derivation_artefacts(
        _b64(b'{"salt"=>"\\a\\b\\t\\n\\v\\f\\r\\e\\s\\"\\\\\\#{x}#a\xc3\xa9", "iter"=>1, "length"=>32}'), Mode.COMPAT
    )
    assert read.salt == b'\a\b\t\n\v\f\r\x1b "\\#{x}#a\xc3\xa9'


@pytest.mark.parametrize(
    "text",
    [
        "",
        "!",
        "Pbkdf2Hmac.",
        "Pbkdf2Hmac.Pbkdf2Hmac." + WANTED.serialize(),
        "Scrypt." + WANTED.serialize(),
        _b64("---\n"),
        _b64("--- {}\n"),
        _b64(_json(iterations=1)),
        _b64(_json(iter=None)),
        _b64(_json(iter=True)),
        _b64(_json(iter="600000")),
        _b64(_json(iter=6e5)),
        _b64(_json(iter=-1)),
        _b64(_json(iter=2**31)),
        _b64(_json(iter=[1])),
        _b64(_json(salt="")),
        _b64(_json(salt="A")),
        _b64(_json(salt=5)),
        _b64(_json(hash={"__proto__": 1})),
        _b64(_json(hash=5)),
        _b64(_json()[:-1] + ', "iter": 1}'),
        _b64(_json().replace("21129", "NaN")),
        _b64(_json().replace("21129", "9" * 1500)),
        _b64(_json() + "x"),
        _b64('{"salt":' * 300),
        _b64('{"a":' + "[" * 1000),
        _b64("[" * 2000),
        _b64("{" * 2000),
        _b64(write_artefacts({"salt": SALT, "iv": SALT, "iter": 1, "length": 32})),
        _b64(write_artefacts({"salt": SALT, "i": 1, "l": 32, "hash": "SHA256"})),
        _b64(b"A" + write_artefacts(LONG, ArtefactFormat.BSON, DERIVATION)[1:]),
        _b64(RUBY.replace("21129", "021129")),
        _b64(RUBY.replace("21129", '"21129"')),
        _b64(RUBY.replace("21129", "`id`")),
        _b64(RUBY.replace("21129", "%x(id)")),
        _b64(RUBY.replace("21129", "1+1")),
        _b64(RUBY.replace(r"\e", "#{exit}")),
        _b64(RUBY.replace(r"\e", "#$stdin")),
        _b64(RUBY.replace(r"\e", "#@a")),
        _b64(RUBY.replace(r"\e", r"\u{110000}")),
        _b64(RUBY.replace(r"\e", r"\u{D800}")),
        _b64(RUBY.replace(r"\e", r"\x")),
        _b64(RUBY.replace('"iter"=>21129, ', "")),
        _b64(RUBY.replace("SHA256", "SHA\\n256")),
        _b64(RUBY + "; exit"),
        _b64(RUBY[:-1]),
        _b64("{" + '"salt"=>"a",' * 150),
        _b64('{"salt"=>"' + "\\" * 1500),
        RUBY + "\u2028",
        "A" * 5000,
        "{" * 4096,
    ],
)
@pytest.mark.parametrize("mode", Mode)
def test_everything_else_is_one_error_in_no_time(text: str, mode: Mode) -> None:
    started = time.process_time()
    with pytest.raises(MalformedArtefacts):
        parse_derivation_artefacts(text, mode)
    assert time.process_time() - started < 0.05


def test_no_code_is_ever_evaluated() -> None:
    for module in Path(strongroom.crypto.__file__).parent.rglob("*.py"):
        calls = (node.func for node in ast.walk(ast.parse(module.read_text("utf-8"))) if isinstance(node, ast.Call))
        names = {call.id for call in calls if isinstance(call, ast.Name)}
        assert not names & {"eval", "exec", "compile", "__import__"}, module


@given(st.binary(min_size=1, max_size=300), st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1))
def test_written_artefacts_read_back_equal(salt: bytes, iterations: int, length: int) -> None:
    artefacts = DerivationArtefacts(salt, iterations, length)
    assert parse_derivation_artefacts(artefacts.serialize()) == artefacts


@given(
    st.text(max_size=100)
    | st.binary(max_size=100).map(_b64)
    | st.text(alphabet='{}"salt=>:,iterhash\\x1 ', max_size=80)
)
def test_any_text_gives_a_value_that_survives_or_one_error(text: str) -> None:
    for mode in Mode:
        try:
            artefacts = parse_derivation_artefacts(text, mode)
        except MalformedArtefacts:
            continue
        assert parse_derivation_artefacts(artefacts.serialize()) == artefacts


def _with(**changes: Any) -> DerivationArtefacts:
    parameters: dict[str, Any] = {"salt": bytes(32), "iter": 600_000, "length": 32, "hash": "SHA256"}
    return DerivationArtefacts(**(parameters | changes))


@pytest.mark.parametrize("iterations", [1, 0, -1, 599_999, True, 10_000_001, 2**31 - 1])
def test_iterations_outside_the_bounds_stop_before_any_work(iterations: int) -> None:
    started = time.perf_counter()
    with pytest.raises(ParametersRefused):
        derive(b"passphrase", _with(iter=iterations))
    assert time.perf_counter() - started < 0.05


@pytest.mark.parametrize(
    "changes",
    [{"hash": name} for name in ("MD5", "SHA1", "SHA512", "sha256", "__proto__", "")]
    + [{"length": length} for length in (0, 1, 16, 31, 33, 64, True)]
    + [{"salt": bytes(size)} for size in (0, 1, 15, 65, 300)],
)
def test_other_parameters_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ParametersRefused):
        derive(b"passphrase", _with(**changes))


@pytest.mark.parametrize("changes", [{}, {"iter": 10_000_000}, {"salt": bytes(16)}, {"salt": bytes(64)}])
def test_the_bounds_themselves_are_inside(changes: dict[str, Any]) -> None:
    artefacts = _with(**changes)
    artefacts.check_strict()
    assert parse_derivation_artefacts(artefacts.serialize()) == artefacts


@pytest.mark.parametrize(
    "changes", [{"iter": 0}, {"iter": True}, {"iter": 10_000_001}, {"length": 64}, {"hash": "MD5"}]
)
def test_compat_caps_the_work_too(changes: dict[str, Any]) -> None:
    with pytest.raises(ParametersRefused):
        derive(b"passphrase", _with(**changes), Mode.COMPAT)


def test_compat_derives_what_strict_refuses() -> None:
    weak = _with(iter=1, salt=b"salt")
    expected = "120fb6cffcf8b32c43e7225256c4f837a86548c92ccc35480805987cb70be17b"
    assert derive(b"password", weak, Mode.COMPAT).reveal().hex() == expected
    with pytest.raises(ParametersRefused):
        derive(b"password", weak)


def test_generated_artefacts() -> None:
    first, second = DerivationArtefacts.generate(), DerivationArtefacts.generate(600_000)
    assert (first.iter, second.iter, len(first.salt)) == (1_000_000, 600_000, 32)
    assert first.salt != second.salt
    assert first.salt.hex() not in repr(first)
    with pytest.raises(ParametersRefused):
        DerivationArtefacts.generate(599_999)
