"""Examples of records for documents, with values that really occur: `tools/examples.py` takes them from the vectors."""

from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
from msgspec import inspect as types


def of_record(record: type[msgspec.Struct]) -> dict[str, Any]:
    """The record with a value in every field, as JSON would hold it. `KeyError` for a field that has no example."""
    about = types.type_info(record)
    assert isinstance(about, types.StructType)
    return {member.encode_name: of_field(record, member.encode_name, member.type) for member in about.fields}


def of_field(record: type[msgspec.Struct], name: str, about: types.Type | None = None) -> Any:
    """The value of one field; of one that holds records, them. An example that stands with the field goes first."""
    match about:
        case types.Metadata(extra_json_schema={"examples": [first, *_]}):
            return first
        case types.Metadata(type=inner):
            return of_field(record, name, inner)
        case types.StructType(cls=held):
            return of_record(held)
        case types.ListType(item_type=types.StructType(cls=held)):
            return [of_record(held)]
    values = _values()
    own = f"{record.__name__}.{name}"
    return values[own] if own in values else values[name]


@cache
def _values() -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode((files("strongroom.wire") / "examples.json").read_bytes())
    return found
