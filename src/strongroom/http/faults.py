"""Everything that is wrong with a value, in words of JSON, each with its place; nothing of the value is repeated.

The decoder stops at the first fault and speaks of Python's types.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import msgspec
from msgspec import inspect as types

from strongroom.wire.refusal import Fault

MAX_FAULTS: Final = 20


def faults(value: Any, record: type[msgspec.Struct]) -> tuple[Fault, ...]:
    """What keeps `value`, as a JSON reader gives it, from being this record: at most `MAX_FAULTS`, at least one."""
    found = tuple(islice(_faults(value, types.type_info(record), ""), MAX_FAULTS))
    return found or (Fault("field_refused", "A value is not acceptable."),)


def _faults(value: Any, wanted: types.Type, pointer: str) -> Iterator[Fault]:
    match wanted:
        case types.Metadata(type=inner):
            yield from _faults(value, inner, pointer)
        case types.UnionType(types=variants):
            # Null and one thing more is all that our records know.
            if value is not None or not wanted.includes_none:
                (other,) = (variant for variant in variants if not isinstance(variant, types.NoneType))
                yield from _faults(value, other, pointer)
        case types.StructType(fields=fields) if isinstance(value, dict):
            for member in fields:
                place = f"{pointer}/{member.encode_name}"
                if member.encode_name in value:
                    yield from _faults(value[member.encode_name], member.type, place)
                elif member.required:
                    yield Fault("field_missing", "This field is required.", place)
        case types.ListType(item_type=item) if isinstance(value, list):
            yield from _refused(_outside(len(value), wanted.min_length, wanted.max_length, "members"), pointer)
            for number, entry in enumerate(value):
                yield from _faults(entry, item, f"{pointer}/{number}")
        case types.StrType() if isinstance(value, str):
            yield from _refused(_outside(len(value), wanted.min_length, wanted.max_length, "characters"), pointer)
        case types.IntType() if isinstance(value, int) and not isinstance(value, bool):
            yield from _refused(_outside(value, wanted.ge, wanted.le, ""), pointer)
        case types.BoolType() if isinstance(value, bool):
            return
        case types.DictType() if isinstance(value, dict):
            return
        case _:
            yield from _refused(f"It has to be {_KINDS[type(wanted)]}, not {_kind(value)}.", pointer)


def _refused(message: str | None, pointer: str) -> Iterator[Fault]:
    if message is not None:
        yield Fault("field_refused", message, pointer or None)


def _outside(size: int, least: int | None, most: int | None, unit: str) -> str | None:
    if least is not None and size < least:
        return f"It has to be at least {least:,} {unit}".rstrip() + "."
    if most is not None and size > most:
        return f"It may be at most {most:,} {unit}".rstrip() + "."
    return None


_KINDS: Final[dict[type[types.Type], str]] = {
    types.StructType: "an object",
    types.DictType: "an object",
    types.ListType: "an array",
    types.StrType: "a text",
    types.IntType: "a whole number",
    types.BoolType: "true or false",
}


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "an array"
    return "an object"
