"""Request bodies: strict JSON into the record an endpoint declares."""

import json
import re
from functools import cache
from typing import Any, NoReturn

import msgspec

from strongroom.wire.refusal import Fault, Refusal, Refused

MAX_DEPTH = 16
MAX_INTEGER_DIGITS = 19

_SPACE = " \t\n\r"
# Matches at every quote, closed or not, and never gives back what it took: each byte is looked at once.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+\\?"?', re.DOTALL)
_POINTER = re.compile(r" - at `\$(.*)`\Z")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+|\.\.\.)\]")


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
    if wrapper is not None and wrapper not in value:
        value = {wrapper: value}
    try:
        return msgspec.convert(value, record)
    except msgspec.ValidationError as error:
        raise _refusal(error) from None


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


def decode_query(pairs: dict[str, str], record: type[msgspec.Struct]) -> msgspec.Struct:
    """Query parameters into their record; `validation_failed` names the parameter."""
    try:
        return msgspec.convert(pairs, record, strict=False)
    except msgspec.ValidationError as error:
        raise _refusal(error) from None


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


def _refusal(error: msgspec.ValidationError) -> Refused:
    """The decoder's words about types and limits, without the value; its path becomes a JSON pointer."""
    text = str(error)
    match = _POINTER.search(text)
    path = match[1] if match else ""
    pointer = "".join(f"/{name or index}" for name, index in _STEP.findall(path) if index != "...")
    message = _POINTER.sub("", text)
    missing = re.search(r"missing required field `(\w+)`", message)
    if missing:
        return Refused(
            Refusal.validation_failed,
            faults=(Fault("field_missing", "This field is required.", f"{pointer}/{missing[1]}"),),
        )
    return Refused(Refusal.validation_failed, faults=(Fault("field_refused", f"{message}.", pointer or None),))
