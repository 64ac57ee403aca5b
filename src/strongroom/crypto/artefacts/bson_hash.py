"""BSON, as far as artefacts use it: one flat document of binary, string and integer elements."""

from collections.abc import Mapping
from typing import Final

from strongroom.crypto.artefacts.fields import Scalar, check_field
from strongroom.crypto.errors import MalformedArtefacts
from strongroom.crypto.formats import Mode

_STRING: Final = 0x02
_BINARY: Final = 0x05
_INT32: Final = 0x10
_INT64: Final = 0x12


def read_bson(document: bytes, mode: Mode) -> dict[str, Scalar]:
    """The elements; MalformedArtefacts for wrong lengths, nesting, duplicates, other types or bytes left over."""
    end = len(document) - 1
    # An equal length field and a final NUL leave no room for a second document or trailing bytes.
    if end < 4 or document[end] != 0 or int.from_bytes(document[:4], "little") != len(document):
        raise MalformedArtefacts
    fields: dict[str, Scalar] = {}
    at = 4
    while at < end:
        kind = document[at]
        stop = document.find(b"\0", at + 1, end)
        if stop < 0:
            raise MalformedArtefacts
        # Latin-1 never fails; a name that is not one of ours is refused with the value.
        name = document[at + 1 : stop].decode("latin-1")
        value, at = _element(document, kind, stop + 1, end, mode)
        if name in fields:
            raise MalformedArtefacts
        check_field(name, value)
        fields[name] = value
    return fields


def _element(document: bytes, kind: int, at: int, end: int, mode: Mode) -> tuple[Scalar, int]:
    if kind == _INT32 or (kind == _INT64 and mode is Mode.COMPAT):
        stop = at + (4 if kind == _INT32 else 8)
        if stop > end:
            raise MalformedArtefacts
        return int.from_bytes(document[at:stop], "little", signed=True), stop
    if at + 4 > end:
        raise MalformedArtefacts
    size = int.from_bytes(document[at : at + 4], "little")
    at += 4
    # Sizes are compared before they are used, so a huge or negative one ends here.
    if kind == _BINARY:
        if size > end - at - 1 or document[at] != 0:
            raise MalformedArtefacts
        return document[at + 1 : at + 1 + size], at + 1 + size
    if kind == _STRING:
        if not 1 <= size <= end - at or document[at + size - 1] != 0:
            raise MalformedArtefacts
        return document[at : at + size - 1].decode("latin-1"), at + size
    raise MalformedArtefacts


def write_bson(fields: Mapping[str, Scalar]) -> bytes:
    """The document, without the version byte; elements in the given order, integers as int32."""
    elements = b""
    for name, value in fields.items():
        check_field(name, value)
        if isinstance(value, bytes):
            kind, body = _BINARY, len(value).to_bytes(4, "little") + b"\0" + value
        elif isinstance(value, str):
            kind, body = _STRING, (len(value) + 1).to_bytes(4, "little") + value.encode("ascii") + b"\0"
        else:
            kind, body = _INT32, value.to_bytes(4, "little", signed=True)
        elements += bytes([kind]) + name.encode("ascii") + b"\0" + body
    return (len(elements) + 5).to_bytes(4, "little") + elements + b"\0"
