"""How the demo looks: at most 100 columns, colours on a terminal only, nothing at all when it is quiet."""

import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

import click

from strongroom.cli.demo.evidence import StoredRow
from strongroom.cli.demo.recording import Fields, RecordedCall, Step
from strongroom.cli.output import is_terminal, style
from strongroom.runtime.tokens import hint

MAX_WIDTH = 100
MAX_FIELDS = 7
_INDENT = " " * 4


class Screen:
    """Prints each part of the demo as it happens."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._live = not quiet and is_terminal(sys.stdout)
        self._width = min(MAX_WIDTH, shutil.get_terminal_size((MAX_WIDTH, 24)).columns) if self._live else MAX_WIDTH

    def service(self, base_url: str, data: Path | None, keys: dict[str, str], seconds: float) -> None:
        self.title("The service")
        self._timed(f"listens at {base_url}", seconds)
        self._line(self._cut(f"SQLite in {data or 'a temporary folder, removed at the end'}"))
        self._line("a sandbox provider with keys (only their beginnings and ends are shown):")
        for name, value in keys.items():
            self._line(f"  {name.ljust(28)}{hint(value)}")

    def title(self, text: str) -> None:
        self._print("")
        self._print(style(text, bold=True))
        self._print(style("─" * self._width, dim=True))

    def step(self, step: Step) -> None:
        self._wipe()
        number = f"{step.number:>2}  " if step.number is not None else _INDENT
        self._timed(step.label, step.seconds, number)
        for label, seconds in step.work:
            self._line(style(f"  on this machine: {label[:1].lower()}{label[1:]}, {_time(seconds)}", dim=True))
        for call in step.calls:
            self._call(call, bodies=step.number is not None)
        for text in step.says:
            for line in click.wrap_text(text, self._width - 6).splitlines():
                self._line(f"  {line}")

    def working(self, label: str, seconds: float) -> None:
        """One line that the next one takes the place of."""
        if self._live:
            click.echo(f"\r{_INDENT}{style(f'{label} ... {seconds:.1f} s', dim=True)}\033[K", nl=False)

    def check(self, text: str) -> None:
        for number, line in enumerate(click.wrap_text(text, self._width - 6).splitlines()):
            self._print(f"{style('ok', fg='green') if number == 0 else '  '}  {line}")

    def stored(self, rows: Iterable[StoredRow]) -> None:
        for row in rows:
            self._line(style(f"{row.table} ({row.rows} {'row' if row.rows == 1 else 'rows'})", fg="cyan"))
            for name, value in row.columns:
                self._line(self._cut(f"  {name.ljust(30)} {value}"))

    def done(self, seconds: float) -> None:
        self._print("")
        self._print(style(f"Done in {_time(seconds)}.", bold=True))
        self._print("A service that stays: make serve, or strongroom serve --sandbox --data data")

    def _call(self, call: RecordedCall, *, bodies: bool) -> None:
        colour = "green" if call.status < 400 else "red"
        head = f"  {call.method} {call.path} {style(str(call.status), fg=colour)}"
        self._line(head + style(f"  by {call.credential}" if call.credential else "", dim=True))
        if bodies:
            self._fields("->", call.sent)
            self._fields("<-", call.received)

    def _fields(self, arrow: str, fields: Fields) -> None:
        # Almost every body wraps its record in one member: its name says nothing that the path does not.
        wrappers = {name.partition(".")[0] for name, _ in fields}
        if len(wrappers) == 1:
            fields = [(name.partition(".")[2] or name, value) for name, value in fields]
        width = max((len(name) for name, _ in fields), default=0)
        for name, value in fields[:MAX_FIELDS]:
            self._line(style(self._cut(f"    {arrow} {name.ljust(width)}  {value}"), dim=True))
        if len(fields) > MAX_FIELDS:
            self._line(style(f"    {arrow} and {len(fields) - MAX_FIELDS} more fields", dim=True))

    def _timed(self, text: str, seconds: float, lead: str = _INDENT) -> None:
        room = self._width - len(lead) - 8
        self._print(f"{style(lead, fg='cyan')}{self._cut(text, room).ljust(room)}{_time(seconds):>8}")

    def _line(self, text: str) -> None:
        self._print(_INDENT + text)

    def _cut(self, text: str, room: int | None = None) -> str:
        room = self._width - len(_INDENT) if room is None else room
        text = text.replace("\n", " ")
        return text if len(text) <= room else f"{text[: room - 3]}..."

    def _wipe(self) -> None:
        if self._live:
            click.echo("\r\033[K", nl=False)

    def _print(self, text: str) -> None:
        if not self._quiet:
            click.echo(text)


def _time(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
