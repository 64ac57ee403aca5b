"""How commands reach a service and an account: settings from the environment, secrets never from an argument."""

import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from strongroom.cli.output import Failed, SettingRefused, is_terminal

if TYPE_CHECKING:
    from strongroom.client.blocking.service import Strongroom
    from strongroom.client.progress import Progress
    from strongroom.crypto.passphrases import AccountSecret

PASSPHRASE = "STRONGROOM_PASSPHRASE"  # noqa: S105  # the name of a variable
ACCOUNT_SECRET = "STRONGROOM_ACCOUNT_SECRET"  # noqa: S105  # the name of a variable
ADMISSION_TOKEN = "STRONGROOM_ADMISSION_TOKEN"  # noqa: S105  # the name of a variable
PROVIDER_API_KEY = "STRONGROOM_PROVIDER_API_KEY"

_SHARED = (
    click.option("--url", metavar="URL", help="The service. [default: STRONGROOM_URL]"),
    click.option("--realm", metavar="URL", help="Its realm, where that is not its URL. [default: STRONGROOM_REALM]"),
    click.option("--state-dir", metavar="PATH", help="Folder of small files that notice a service going back in time."),
    click.option("--passphrase-stdin", is_flag=True, help="Read the passphrase from standard input, one line."),
)


def account_options(function: Callable[..., None]) -> Callable[..., None]:
    """The options of every command that opens an account."""
    for option in reversed(_SHARED):
        function = option(function)
    return function


def passphrase(from_stdin: bool, *, confirm: bool = False) -> str:
    """From standard input, STRONGROOM_PASSPHRASE or a prompt (twice with `confirm`), in this order."""
    if from_stdin:
        line = sys.stdin.readline()
        if not line:
            raise Failed("standard input holds no passphrase")
        return line.removesuffix("\n").removesuffix("\r")
    if given := os.environ.get(PASSPHRASE):
        return given
    if not is_terminal(sys.stdin):
        raise SettingRefused(f"no passphrase: use --passphrase-stdin, {PASSPHRASE} or a terminal")
    # The prompt belongs on standard error: what is on standard output may be piped on.
    typed: str = click.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True)
    return typed


def account_secret() -> "AccountSecret | None":
    """From STRONGROOM_ACCOUNT_SECRET, for accounts that have one."""
    text = os.environ.get(ACCOUNT_SECRET)
    if not text:
        return None
    from strongroom.crypto.passphrases import AccountSecret

    return AccountSecret.parse(text)


def admission_token() -> str | None:
    """From STRONGROOM_ADMISSION_TOKEN; None where the provider API key is there to issue one."""
    given = os.environ.get(ADMISSION_TOKEN)
    if not given and not os.environ.get(PROVIDER_API_KEY):
        raise SettingRefused(f"registering needs an admission token: set {ADMISSION_TOKEN}, or {PROVIDER_API_KEY}")
    return given or None


def service(url: str | None, realm: str | None, state_dir: str | None) -> "Strongroom":
    """The client; the subscription key comes from STRONGROOM_SUBSCRIPTION_KEY."""
    if url is None and not os.environ.get("STRONGROOM_URL"):
        raise SettingRefused("which service? Set STRONGROOM_URL or use --url")
    if not os.environ.get("STRONGROOM_SUBSCRIPTION_KEY"):
        raise SettingRefused("every request needs a subscription key: set STRONGROOM_SUBSCRIPTION_KEY")
    from strongroom.client.blocking.service import Strongroom

    return Strongroom(
        url,
        realm=realm or os.environ.get("STRONGROOM_REALM") or None,
        state_dir=state_dir,
        progress=show_progress if is_terminal(sys.stderr) else None,
    )


def show_progress(event: "Progress") -> None:
    """One line on the terminal that the next event replaces; the last step wipes it."""
    if event.kind == "step" and event.seconds is not None:
        text = ""
    else:
        number = f"{event.step}/11 " if event.step else ""
        passed = f" {event.seconds:.1f} s" if event.seconds else ""
        text = f"{number}{event.label} ...{passed}"
    click.echo(f"\r{text}\033[K", nl=False, err=True)
