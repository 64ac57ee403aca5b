"""Flat hashes in braces: the JSON some ports write for derivation artefacts, and the first scripts' Ruby literal."""

import json
import re
from typing import Final

from strongroom.crypto.artefacts.fields import BINARY, INTEGER, Scalar, check_field
from strongroom.crypto.encoding import decode_padded
from strongroom.crypto.errors import MalformedArtefacts
from strongroom.crypto.formats import Mode

SIZE_LIMIT: Final = 2048
_NESTED: Final = re.compile(rb"[^{\[\]]*\{[^{\[\]]*")
_INTEGER: Final = re.compile(rb"0|[1-9][0-9]{0,9}")
_RUBY_ENTRY: Final = re.compile(
    rb'\s*(?:"([a-z]{1,8})"|:([a-z]{1,8}))\s*=>\s*(?:"((?:[^"\\]|\\.)*)"|([0-9]{1,10}))\s*([,}])', re.DOTALL
)
# What String#inspect writes. `#{`, `#$` and `#@` would be code; inspect always puts a backslash before that `#`.
_RUBY_TOKEN: Final = re.compile(
    rb"\\x([0-9A-Fa-f]{1,2})|\\u([0-9A-Fa-f]{4})|\\u\{([0-9A-Fa-f]{1,6})\}|\\([0-7]{1,3})"
    rb"|\\([^xu0-7])|(#[{$@])|([^\\#]+|#)",
    re.DOTALL,
)
_RUBY_SHORT: Final = dict(zip(b"abtnvfres", b"\a\b\t\n\v\f\r\x1b ", strict=True))


def read_json(data: bytes, mode: Mode) -> dict[str, Scalar]:
    """The fields of one flat object, binary as Base64 text; the caller has seen that one begins.

    MalformedArtefacts for nesting, duplicates or other types.
    """
    # Depth is refused before the parser runs, so that it has nothing to recurse into.
    if len(data) > SIZE_LIMIT or _NESTED.fullmatch(data) is None:
        raise MalformedArtefacts
    try:
        pairs = json.loads(data.decode("ascii"), object_pairs_hook=list, parse_constant=_refuse, parse_float=_refuse)
    except ValueError:
        raise MalformedArtefacts from None
    fields: dict[str, Scalar] = {}
    for name, given in pairs:
        value = given
        if name in BINARY and isinstance(given, str):
            # Writers disagree on padding here; the text itself is what verification commits to.
            value = decode_padded(given + "=" * (-len(given) % 4), mode)
        if name in fields or not isinstance(value, bytes | str | int):
            raise MalformedArtefacts
        check_field(name, value)
        fields[name] = value
    return fields


def _refuse(_: str) -> None:
    raise MalformedArtefacts


def read_ruby(data: bytes) -> dict[str, Scalar]:
    """The fields of a literal such as `{"salt"=>"\\x0E...", "iter"=>21129}`, as data by this grammar alone.

    MalformedArtefacts for interpolation, calls, nesting, duplicates and everything else.
    """
    if len(data) > SIZE_LIMIT or not data.startswith(b"{"):
        raise MalformedArtefacts
    fields: dict[str, Scalar] = {}
    position, closing = 1, b","
    while closing == b",":
        entry = _RUBY_ENTRY.match(data, position)
        if entry is None:
            raise MalformedArtefacts
        position, closing = entry.end(), entry[5]
        name = (entry[1] or entry[2]).decode("ascii")
        value = _ruby_value(name, entry[3], entry[4])
        if name in fields:
            raise MalformedArtefacts
        check_field(name, value)
        fields[name] = value
    if data[position:].strip():
        raise MalformedArtefacts
    return fields


def _ruby_value(name: str, quoted: bytes | None, digits: bytes | None) -> Scalar:
    if quoted is None:
        # A leading zero would be octal in Ruby.
        if digits is None or _INTEGER.fullmatch(digits) is None:
            raise MalformedArtefacts
        return int(digits)
    if name in INTEGER:
        raise MalformedArtefacts
    text = _unescape(quoted)
    return text if name in BINARY else text.decode("latin-1")


def _unescape(quoted: bytes) -> bytes:
    unescaped = bytearray()
    position = 0
    while position < len(quoted):
        token = _RUBY_TOKEN.match(quoted, position)
        if token is None or token[6] is not None:
            raise MalformedArtefacts
        position = token.end()
        point = token[2] or token[3]
        if token[1] is not None:
            unescaped.append(int(token[1], 16))
        elif point is not None:
            try:
                unescaped += chr(int(point, 16)).encode("utf-8")
            except ValueError:
                raise MalformedArtefacts from None
        elif token[4] is not None:
            unescaped.append(int(token[4], 8) & 0xFF)
        elif token[5] is not None:
            unescaped.append(_RUBY_SHORT.get(token[5][0], token[5][0]))
        else:
            unescaped += token[7]
    return bytes(unescaped)
