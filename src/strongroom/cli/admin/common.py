"""What the commands on providers share: finding one by name, ids as text, times for people."""

from collections.abc import Mapping
from typing import Any

import click

from strongroom.access import providers
from strongroom.cli.output import Failed, note, print_fields, print_json
from strongroom.runtime.clock import wire_time
from strongroom.runtime.ids import from_text
from strongroom.storage import Transaction

MAX_NAME = 128

ONCE = "Copy it now: only its hash is stored, and it is never shown again."


def name_argument(_: click.Context, __: click.Parameter, value: str) -> str:
    """A name people can tell from another: printable, 1 to 128 characters, without spaces around it."""
    if not value.isprintable() or not value.strip() or value != value.strip() or len(value) > MAX_NAME:
        raise click.BadParameter("a name has 1 to 128 printable characters and no space at its ends")
    return value


def id_argument(_: click.Context, __: click.Parameter, value: str) -> bytes:
    found = from_text(value)
    if found is None:
        raise click.BadParameter("an id is a lower-case UUID, as `list` shows it")
    return found


async def provider_id(tx: Transaction, name: str) -> bytes:
    found = await providers.find(tx, name)
    if found is None:
        raise Failed("there is no provider of that name: see `strongroom admin provider list`")
    return found


def time_text(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else wire_time(milliseconds)


def show(record: Mapping[str, Any], as_json: bool, message: str) -> None:
    """One record on standard output; what to do with it on standard error."""
    if as_json:
        print_json(dict(record))
    else:
        print_fields({name: str(value) for name, value in record.items()})
    note(message)
