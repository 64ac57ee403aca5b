"""Command groups that know what their commands are called and import one only when it runs."""

from importlib import import_module
from typing import Any

import click


class LazyGroup(click.Group):
    """`members` maps a command to where it lives, `module:attribute`, and the line that `--help` shows of it.

    `--help` of a group imports none of its commands: the start of the program is what people wait for most often.
    """

    def __init__(self, *args: Any, members: dict[str, tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._members = members

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._members)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._members:
            return None
        module, _, attribute = self._members[cmd_name][0].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self._members.items()])
