"""What the commands say: data on standard output, messages on standard error, failures as one line."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, TypeAlias

import click


class ExitCode(IntEnum):
    done = 0
    failed = 1
    usage = 2
    unavailable = 3
    interrupted = 130


EXIT_CODES = {
    ExitCode.done: "done",
    ExitCode.failed: "refused, or something failed; the line on standard error says what",
    ExitCode.usage: "the command line or a setting is wrong",
    ExitCode.unavailable: "the service cannot be reached or cannot answer now",
    ExitCode.interrupted: "interrupted",
}


class Failed(click.ClickException):
    """Ends the program with one line on standard error."""

    exit_code = ExitCode.failed.value

    def show(self, file: Any = None) -> None:
        wipe = "\r\033[K" if is_terminal(sys.stderr) else ""  # of a progress line that was left standing
        click.echo(f"{wipe}{style('strongroom:', sys.stderr, fg='red', bold=True)} {self.message}", err=True)


class SettingRefused(Failed):
    exit_code = ExitCode.usage.value


class NotAvailable(Failed):
    exit_code = ExitCode.unavailable.value


class Interrupted(Failed):
    exit_code = ExitCode.interrupted.value


Record: TypeAlias = Mapping[str, Any]
Columns: TypeAlias = Mapping[str, str | Callable[[Record], str]]
"""What stands under each heading: a field, or what a function makes of the record."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print data as JSON.")
data_option = click.option("--data", metavar="PATH", help="The data folder. [default: STRONGROOM_DATA, or data]")


def is_terminal(stream: Any) -> bool:
    return bool(getattr(stream, "isatty", lambda: False)())


def wants_colour(stream: Any) -> bool:
    """Only on a terminal, and never where NO_COLOR is set (https://no-color.org)."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def style(text: str, stream: Any = None, **options: Any) -> str:
    """`text` with colours, where its stream (standard output by default) shows them."""
    return click.style(text, **options) if wants_colour(stream or sys.stdout) else text


def note(text: str) -> None:
    """A message for people: it does not get into data that is piped on."""
    click.echo(text, err=True)


def print_json(data: Any) -> None:
    """One line; the reader may be a program that waits for it."""
    click.echo(json.dumps(data, ensure_ascii=False))
    sys.stdout.flush()


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    lines = [tuple(headings), *(tuple(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headings))]
    for number, line in enumerate(lines):
        text = "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        click.echo(style(text, bold=True) if number == 0 else text)


def print_record(record: Record, as_json: bool) -> None:
    """As JSON, or one line for each field."""
    if as_json:
        print_json(dict(record))
        return
    width = max(map(len, record), default=0)
    for name, value in record.items():
        click.echo(f"{name.ljust(width)}  {_cell(value)}")


def print_records(records: Sequence[Record], columns: Columns, as_json: bool) -> None:
    """All fields as JSON, or the columns as a table."""
    if as_json:
        print_json(records)
        return
    rows = [[_cell(record[of] if isinstance(of, str) else of(record)) for of in columns.values()] for record in records]
    print_table(tuple(columns), rows)


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return "-" if value is None else str(value)
