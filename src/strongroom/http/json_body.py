"""Request bodies: strict JSON into the record an endpoint declares."""

import json
import re
from functools import cache
from typing import Any, NoReturn

import msgspec
from msgspec.structs import replace

from strongroom.http.faults import faults
from strongroom.wire.refusal import Refusal, Refused

MAX_DEPTH = 16
MAX_INTEGER_DIGITS = 19

_SPACE = " \t\n\r"
# Matches at every quote, closed or not, and never gives back what it took: each byte is looked at once.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+\\?"?', re.DOTALL)


class _Unacceptable(Exception):
    """JSON that the grammar allows and we do not."""


def decode(body: bytes, record: type[msgspec.Struct], wrapper: str | None = None) -> msgspec.Struct:
    """`malformed_json` for what is not acceptable JSON, `validation_failed` with pointers for wrong fields.

    Unknown fields are ignored. Stricter than the JSON grammar: no duplicate keys, NaN, numbers beyond 64 bits, NUL,
    lone surrogates, more than 16 levels.
    """
    plain = _plain(record)
    if plain is not None and (taken := plain.take(body)) is not None:
        return taken
    return _decode_anything(body, record, wrapper)


def _decode_anything(body: bytes, record: type[msgspec.Struct], wrapper: str | None) -> msgspec.Struct:
    value = _loads(body)
    outer = wrapper if wrapper is not None and wrapper not in value else None
    if outer is not None:
        value = {outer: value}
    try:
        return msgspec.convert(value, record)
    except msgspec.ValidationError:
        found = faults(value, record)
    if outer is not None:  # places are those in what was sent
        found = tuple(
            replace(fault, pointer=(fault.pointer or "").removeprefix(f"/{outer}") or None) for fault in found
        )
    raise Refused(Refusal.validation_failed, faults=found)


class _Plain:
    """The short way for records of nothing but texts, and bodies of exactly their fields: it takes, or says nothing.

    The decoder is as strict as we are but for what is looked for here. Exactly as many quotes as the fields need leave
    no room for a second member of the same name or for another one.
    """

    def __init__(self, record: type[msgspec.Struct], fields: int) -> None:
        self._decode = msgspec.json.Decoder(record).decode
        self._quotes = 4 * fields

    def take(self, body: bytes) -> msgspec.Struct | None:
        if body.count(b'"') != self._quotes or body.find(b"\\u") >= 0:
            return None
        try:
            return self._decode(body)
        except (ValueError, RecursionError):  # the decoder goes through nested members of other names
            return None


@cache
def _plain(record: type[msgspec.Struct]) -> _Plain | None:
    about = msgspec.inspect.type_info(record)
    assert isinstance(about, msgspec.inspect.StructType)
    plain = all(field.required and _is_text(field.type) for field in about.fields)
    return _Plain(record, len(about.fields)) if plain else None


def _is_text(about: msgspec.inspect.Type) -> bool:
    # A description of the field stands around its type.
    return isinstance(about.type if isinstance(about, msgspec.inspect.Metadata) else about, msgspec.inspect.StrType)


def _loads(body: bytes) -> dict[str, Any]:
    try:
        if body.count(b"{") + body.count(b"[") > MAX_DEPTH:
            _check_depth(body)
        text = body.decode("utf-8").strip(_SPACE)  # `decode` looks for it with two regular expressions
        value, end = _DECODER.raw_decode(text)
        if end != len(text):
            raise _Unacceptable
        if body.find(b"\\u") >= 0:
            _check_text(value)  # only an escape can bring in NUL or half a surrogate pair
    except (ValueError, RecursionError, _Unacceptable):
        raise Refused(Refusal.malformed_json) from None
    if not isinstance(value, dict):
        raise Refused(Refusal.malformed_json, "The body has to be one JSON object.")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _Unacceptable  # two readers could take different ones of two equal keys
    return value


def _integer(digits: str) -> int:
    if len(digits) > MAX_INTEGER_DIGITS + 1:
        raise _Unacceptable
    value = int(digits)
    if not -(1 << 63) <= value < 1 << 64:
        raise _Unacceptable
    return value


def _float(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise _Unacceptable
    return value


def _constant(_: str) -> NoReturn:
    raise _Unacceptable


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant)


def _check_depth(body: bytes) -> None:
    # Before the parser recurses: brackets outside strings are all that counts.
    depth = 0
    for byte in _STRING.sub(b"", body):
        if byte in b"{[":
            depth += 1
            if depth > MAX_DEPTH:
                raise _Unacceptable
        elif byte in b"}]":
            depth -= 1


def _check_text(value: Any) -> None:
    if isinstance(value, str):
        if "\x00" in value or any("\ud800" <= character <= "\udfff" for character in value):
            raise _Unacceptable
    elif isinstance(value, dict):
        for key, member in value.items():
            _check_text(key)
            _check_text(member)
    elif isinstance(value, list):
        for member in value:
            _check_text(member)
