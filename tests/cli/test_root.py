"""The program as a whole: a quick start, documented exit codes, failures as one line."""

import json
import subprocess
import sys

import click
import pytest

from strongroom.cli.failures import as_failed
from strongroom.cli.lazy import LazyGroup
from strongroom.cli.output import EXIT_CODES, ExitCode, Failed, NotAvailable, SettingRefused
from strongroom.cli.root import root
from strongroom.client.errors import ConfigurationRefused, ServiceRefused, ServiceUnavailable
from strongroom.runtime.settings import SettingsError
from strongroom.storage import Unavailable

HEAVY = ("asyncio", "cryptography", "httpx", "msgspec", "httptools", "argon2", "PIL", "sqlite3")


def modules_after(*arguments: str) -> set[str]:
    code = (
        "import json, sys\n"
        "from strongroom.cli import main\n"
        f"sys.argv = ['strongroom', *{list(arguments)!r}]\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as end:\n"
        "    assert not end.code\n"
        "print('\\n' + json.dumps(sorted(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("admin", "--help"), ("serve", "--help")])
def test_help_and_version_import_nothing_heavy(arguments: tuple[str, ...]) -> None:
    assert not modules_after(*arguments) & set(HEAVY)


def test_the_version_is_that_of_the_package() -> None:
    done = subprocess.run([sys.executable, "-m", "strongroom.cli", "--version"], capture_output=True, text=True)
    from strongroom import __version__

    assert (done.returncode, done.stdout) == (0, f"strongroom {__version__}\n")


def members(group: LazyGroup, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    found = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found.append(((*path, name), command))
        if isinstance(command, LazyGroup):
            found += members(command, (*path, name))
        elif isinstance(command, click.Group):
            found += [((*path, name, verb), verbs) for verb, verbs in command.commands.items()]
    return found


COMMANDS = members(root) if isinstance(root, LazyGroup) else []


def test_every_command_of_the_manual_is_there() -> None:
    paths = {" ".join(path) for path, _ in COMMANDS}
    assert {
        "demo",
        "serve",
        "register",
        "unlock",
        "whoami",
        "doctor",
        "crypto inspect",
        "admin provider create",
        "admin provider list",
        "admin provider set-login-policy",
        "admin subscription create",
        "admin subscription list",
        "admin subscription activate",
        "admin subscription regenerate",
        "admin subscription cancel",
        "admin provider-key create",
        "admin provider-key list",
        "admin provider-key revoke",
        "admin classification import",
        "admin classification list",
    } <= paths


@pytest.mark.parametrize(("path", "command"), COMMANDS, ids=[" ".join(path) for path, _ in COMMANDS])
def test_every_command_has_help_and_json_and_takes_no_secret(path: tuple[str, ...], command: click.Command) -> None:
    assert command.help
    options = {name for parameter in command.params for name in parameter.opts}
    if not isinstance(command, click.Group):
        assert "--json" in options
    # An argument list can be read by every process of the machine.
    assert not options & {"--passphrase", "--secret", "--provider-api-key", "--subscription-key", "--admission-token"}


def test_the_help_lists_every_exit_code(run) -> None:  # type: ignore[no-untyped-def]  # the fixture of this folder
    text = run("--help").stdout
    for code in ExitCode:
        assert f"{code.value}  {EXIT_CODES[code]}" in text


@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (SettingsError("port has to be a number"), SettingRefused, ExitCode.usage),
        (ConfigurationRefused("a base URL is needed"), SettingRefused, ExitCode.usage),
        (ServiceRefused("username_taken", 409, "taken"), Failed, ExitCode.failed),
        (ServiceUnavailable("no answer"), NotAvailable, ExitCode.unavailable),
        (Unavailable(), NotAvailable, ExitCode.unavailable),
        (ModuleNotFoundError("No module named 'httptools'", name="httptools"), Failed, ExitCode.failed),
    ],
)
def test_errors_become_one_line_and_an_exit_code(error: Exception, kind: type[Failed], code: ExitCode) -> None:
    failed = as_failed(error)
    assert type(failed) is kind
    assert failed.exit_code == code.value
    assert "\n" not in failed.message


def test_what_nobody_foresaw_keeps_its_traceback() -> None:
    assert as_failed(KeyError("x")) is None
    assert as_failed(ModuleNotFoundError("No module named 'other'", name="other")) is None


def test_an_unknown_command_is_a_wrong_command_line(run) -> None:  # type: ignore[no-untyped-def]  # the fixture of this folder
    result = run("nothing")
    assert result.exit_code == ExitCode.usage
    assert "nothing" in result.stderr
