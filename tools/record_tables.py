"""The records of the API as tables of the manual: every field with its type, its limits and what replaces it."""

from collections.abc import Iterable

import msgspec
from msgspec import inspect as types

from strongroom.wire.endpoint import AnyEndpoint, NoBody, NoQuery
from strongroom.wire.octets import Octets
from strongroom.wire.refusal import Problem


def records_of(endpoints: Iterable[AnyEndpoint]) -> list[type[msgspec.Struct]]:
    """Every record the endpoints name, and those named inside, by name."""
    found: dict[str, type[msgspec.Struct]] = {}
    waiting: list[type[msgspec.Struct]] = [Problem]
    for endpoint in endpoints:
        named = (endpoint.body, endpoint.query, endpoint.answer)
        waiting += [record for record in named if record not in (NoBody, NoQuery, Octets)]
    while waiting:
        record = waiting.pop()
        if found.setdefault(record.__name__, record) is not record:
            raise TypeError(f"two records are named {record.__name__}")
        waiting += [s for s in _inside(types.type_info(record)) if s.__name__ not in found]
    return [found[name] for name in sorted(found)]


def _inside(info: types.Type) -> Iterable[type[msgspec.Struct]]:
    match info:
        case types.StructType(cls=record, fields=fields):
            yield record
            for member in fields:
                yield from _inside(member.type)
        case types.Metadata(type=inner) | types.ListType(item_type=inner) | types.VarTupleType(item_type=inner):
            yield from _inside(inner)
        case types.UnionType(types=variants):
            for variant in variants:
                yield from _inside(variant)


def record_table(record: type[msgspec.Struct]) -> str:
    """Heading and fields of one record."""
    info = types.type_info(record)
    assert isinstance(info, types.StructType)
    rows = [(f"`{f.encode_name}`", *_type(f.type), _missing(f)) for f in info.fields]
    return f"### {record.__name__}\n\n" + table(("Field", "Type", "Limits", "If left out"), rows)


def _type(info: types.Type) -> tuple[str, str]:
    """What a field is, and what it may hold."""
    match info:
        case types.Metadata(type=inner, extra_json_schema=schema):
            name, limits = _type(inner)
            return name, _joined(limits, str((schema or {}).get("description", "")))
        case types.StrType(min_length=least, max_length=most):
            return "string", _range(least, most, "characters")
        case types.IntType(ge=least, le=most):
            return "integer", _range(least, most, "")
        case types.BoolType():
            return "boolean", ""
        case types.DictType():
            return "object", ""
        case types.ListType(item_type=item, max_length=most) | types.VarTupleType(item_type=item, max_length=most):
            name, limits = _type(item)
            each = f"each: {limits}" if limits else ""
            return f"array of {name}", _joined(_range(None, most, "members"), each)
        case types.StructType(cls=record):
            return link(record), ""
        case types.UnionType(types=variants):
            named = [_type(variant) for variant in variants if not isinstance(variant, types.NoneType)]
            return " or ".join([*(name for name, _ in named), "null"]), _joined(*(limits for _, limits in named))
    raise TypeError(f"no words for {type(info).__name__}")


def _range(least: int | None, most: int | None, unit: str) -> str:
    match least, most:
        case None, None:
            return ""
        case None | 0, _:
            return f"at most {most:,} {unit}".strip()
        case _, None:
            return f"at least {least:,} {unit}".strip()
        case _ if least == most:
            return f"exactly {most:,} {unit}".strip()
    return f"{least:,} to {most:,} {unit}".strip()


def _joined(*texts: str) -> str:
    return "; ".join(text.removesuffix(".") for text in texts if text)


def _missing(member: types.Field) -> str:
    if member.required:
        return ""
    if member.default_factory is not msgspec.NODEFAULT:
        return f"`{msgspec.json.encode(member.default_factory()).decode()}`"
    return f"`{msgspec.json.encode(member.default).decode()}`"


def link(record: type[msgspec.Struct]) -> str:
    """A link to the heading of a record on the same page."""
    return f"[{record.__name__}](#{record.__name__.lower()})"


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A Markdown table."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"
