"""`strongroom serve`: every setting as an option, and a service that says when it listens."""

import os
import shlex
import sys
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import click

from strongroom.cli.output import SettingRefused, json_option, print_json, style
from strongroom.runtime.settings import Meaning, environment_name, is_postgres, load, meanings

_METAVARS = {"path": "PATH", "number": "N", "duration": "DURATION", "switch": "on|off", "list": "LIST", "text": "TEXT"}
_ONE_PROCESS = (
    "--workers above 1 is refused: the databases are SQLite files, SQLite has one writer, "
    "so one process serves a data folder"
)
_DATABASES = tuple(name for name in meanings() if name.endswith("_database"))
# A developer who tries the service out with many requests at once should meet the service, not its queue.
_SANDBOX_LIMITS = {"hashing_queue": "4096", "connections": "4096", "connections_per_network": "4096"}


def _shown(default: Any, meaning: Meaning) -> str | None:
    if default is None:
        return None
    if meaning.kind == "switch":
        return "on" if default else "off"
    return ",".join(default) if isinstance(default, tuple) else str(default)


def _with_settings(function: Callable[..., None]) -> Callable[..., None]:
    """One option per declared setting; secrets have none, because every process can read an argument list."""
    for name, (meaning, default) in reversed(meanings().items()):
        if meaning.environment_only:
            continue
        shown = _shown(default, meaning)
        text = meaning.text if shown is None else f"{meaning.text} [default: {shown}]"
        function = click.option(f"--{name.replace('_', '-')}", name, metavar=_METAVARS[meaning.kind], help=text)(
            function
        )
    return function


def _holds_password(url: str | None) -> bool:
    try:
        parts = urlsplit(url or "")
        return parts.password is not None or "password" in parse_qs(parts.query)
    except ValueError:
        return False  # no URL; `load` says what it should have been


def _epilog() -> str:
    secrets = ", ".join(environment_name(name) for name, (meaning, _) in meanings().items() if meaning.secret)
    return (
        "Every option can also be given as an environment variable: --data as STRONGROOM_DATA, and so on. "
        f"Secrets are taken from the environment only: {secrets}. "
        "A duration is a number of seconds or a number with s, m, h or d."
    )


@click.command(epilog=_epilog())
@_with_settings
@click.option(
    "--sandbox",
    is_flag=True,
    help="Make a sandbox provider with keys, print them, and lift the limits on connections and waiting logins. "
    "Not for production: every reader of the output can register users.",
)
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="Processes that share the port; more than one needs every database on PostgreSQL.",
)
@json_option
def serve(sandbox: bool, workers: int, as_json: bool, **given: str | None) -> None:
    """Run the service until SIGINT or SIGTERM, then finish what is in progress.

    With --json one line of JSON is printed once the service listens: base_url, and with --sandbox also
    subscription_key, secondary_subscription_key, inactive_subscription_key and provider_api_key.
    """
    if sandbox:
        for name, value in _SANDBOX_LIMITS.items():
            if given[name] is None and not os.environ.get(environment_name(name)):
                given[name] = value
    for name in _DATABASES:
        if _holds_password(given[name]):
            raise SettingRefused(
                f"the URL of {name} holds a password, which every process of this machine can read there: "
                f"give it as {environment_name(name)}"
            )
    settings = load(os.environ, given)
    if workers > 1 and not all(is_postgres(settings.database(name)) for name in settings.databases):
        raise SettingRefused(_ONE_PROCESS)

    from strongroom.cli.running import run

    def announce(base_url: str, keys: dict[str, str]) -> None:
        if as_json:
            print_json({"base_url": base_url, **keys})
        else:
            _greet(base_url, keys, str(settings.data), portal="portal" in settings.areas)

    run(settings, sandbox, announce, workers)


def _greet(base_url: str, keys: dict[str, str], data: str, *, portal: bool) -> None:
    click.echo(f"{style('Strongroom listens at', bold=True)} {style(base_url, fg='cyan')}  (data in {data})")
    if keys:
        click.echo("\nA sandbox provider to try it with; its keys stay the same for this data folder.")
        click.echo("For the client and the examples of the README, in another terminal:\n")
        for name, value in exports(base_url, keys).items():
            click.echo(f"  export {name}={value}")
        click.echo("\nOr paste this to issue an admission token (endpoint 1):\n")
        click.echo(f"  {curl(base_url, keys)}\n")
        click.echo(f"The secondary subscription key is {keys['secondary_subscription_key']}")
        click.echo(f"A key that was never activated: {keys['inactive_subscription_key']}\n")
    if portal:
        click.echo(f"Developer portal: {base_url}/portal")
    click.echo(f"API: {base_url}/openapi.json   Stop with Ctrl-C.")
    sys.stdout.flush()


def exports(base_url: str, keys: dict[str, str]) -> dict[str, str]:
    """What the client reads from the environment."""
    return {
        "STRONGROOM_URL": base_url,
        "STRONGROOM_SUBSCRIPTION_KEY": keys["subscription_key"],
        "STRONGROOM_PROVIDER_API_KEY": keys["provider_api_key"],
    }


def curl(base_url: str, keys: dict[str, str]) -> str:
    """Endpoint 1 as a line for the shell."""
    command = ["curl", "-X", "POST", f"{base_url}/keystore/admission_tokens"]
    command += ["-H", f"Service-Subscription-Key: {keys['subscription_key']}"]
    command += ["-H", f"Authorization: {keys['provider_api_key']}"]
    return shlex.join(command)
