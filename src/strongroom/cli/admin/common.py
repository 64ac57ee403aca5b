"""What the commands on providers share: finding one by name, ids as text, times for people."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeAlias

import click

from strongroom.access import providers
from strongroom.cli.output import Failed, Record, data_option, json_option, note, print_record
from strongroom.runtime.clock import wire_time
from strongroom.runtime.ids import from_text, to_text
from strongroom.storage import Transaction

Command: TypeAlias = Callable[..., None]

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


def subscription_command(command: Command) -> Command:
    """The arguments and options of what is done to one subscription."""
    for decorate in (
        json_option,
        data_option,
        click.argument("subscription_id", metavar="ID", callback=id_argument),
        click.argument("provider", callback=name_argument),
    ):
        command = decorate(command)
    return command


async def provider_id(tx: Transaction, name: str) -> bytes:
    found = await providers.find(tx, name)
    if found is None:
        raise Failed("there is no provider of that name: see `strongroom admin provider list`")
    return found


def time_text(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else wire_time(milliseconds)


def described(record: Any) -> dict[str, Any]:
    """A record of a database as it is shown: ids and times as text."""
    return {name: _shown(name, value) for name, value in asdict(record).items()}


def _shown(name: str, value: Any) -> Any:
    if isinstance(value, bytes):
        return to_text(value)
    return time_text(value) if name.endswith("_at") else value


def show(record: Record, as_json: bool, message: str) -> None:
    """One record on standard output; what to do with it on standard error."""
    print_record(record, as_json)
    note(message)
