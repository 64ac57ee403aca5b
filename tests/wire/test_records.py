"""Records of the wire show nothing of what passes through them."""

from typing import Any

import msgspec
import pytest

from strongroom.wire import keystore, vault
from strongroom.wire.record import Record

RECORDS = [
    value
    for module in (keystore, vault)
    for value in vars(module).values()
    if isinstance(value, type) and issubclass(value, Record) and value.__module__.startswith(module.__name__)
]


def sample(record: type[Record]) -> dict[str, Any]:
    """Every text field holds a secret."""
    fields: dict[str, Any] = {}
    for field in msgspec.structs.fields(record):
        if isinstance(field.type, type) and issubclass(field.type, Record):
            fields[field.name] = field.type(**sample(field.type))
        else:
            fields[field.name] = "id" if field.name == "id" else "secret"
    return fields


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_a_record_shows_no_more_than_its_id(record: type[Record]) -> None:
    shown = repr(record(**sample(record)))
    assert "secret" not in shown
    assert shown.startswith(record.__name__)


def test_there_are_records_to_look_at() -> None:
    assert keystore.CreateUser in RECORDS
    assert len(RECORDS) > 20
