"""`strongroom register`, `unlock` and `whoami`: the client's journeys against a running service."""

from typing import TYPE_CHECKING, Any

import click

from strongroom.cli import access
from strongroom.cli.output import json_option, note, print_fields, print_json
from strongroom.crypto.key_stretching import DEFAULT_ITERATIONS, MAX_ITERATIONS, MIN_ITERATIONS

if TYPE_CHECKING:
    from strongroom.client.blocking.account import Account

_ENVIRONMENT = (
    "Environment: STRONGROOM_URL, STRONGROOM_SUBSCRIPTION_KEY, STRONGROOM_REALM, STRONGROOM_PASSPHRASE, "
    "STRONGROOM_ACCOUNT_SECRET"
)


@click.command(
    epilog=f"{_ENVIRONMENT}, and for the admission token STRONGROOM_ADMISSION_TOKEN, or "
    "STRONGROOM_PROVIDER_API_KEY to have one issued."
)
@click.argument("username")
@access.account_options
@click.option(
    "--iterations",
    type=click.IntRange(MIN_ITERATIONS, MAX_ITERATIONS),
    default=DEFAULT_ITERATIONS,
    show_default=True,
    help="What a guess at the passphrase costs whoever steals the database.",
)
@json_option
def register(
    username: str,
    url: str | None,
    realm: str | None,
    state_dir: str | None,
    passphrase_stdin: bool,
    iterations: int,
    as_json: bool,
) -> None:
    """Register USERNAME in the eleven steps of the specification.

    The passphrase is asked for twice and never leaves this machine. Interrupted, the same command finishes the
    registration. Nobody can recover a forgotten passphrase. With STRONGROOM_ACCOUNT_SECRET set, to what
    `strongroom crypto account-secret` printed, the account opens with both together only.
    """
    admission_token = access.admission_token()
    with access.service(url, realm, state_dir) as client:
        passphrase = access.passphrase(passphrase_stdin, confirm=True)
        account = client.register(
            username,
            passphrase,
            admission_token=admission_token,
            account_secret=access.account_secret(),
            iterations=iterations,
        )
        _show(account, as_json, {})
        account.log_out()
    note("registered")


@click.command(epilog=_ENVIRONMENT + ".")
@click.argument("username")
@access.account_options
@click.option(
    "--compat",
    is_flag=True,
    help="Open an account that another port wrote. This sends the passphrase itself, as those ports do.",
)
@json_option
def unlock(
    username: str,
    url: str | None,
    realm: str | None,
    state_dir: str | None,
    passphrase_stdin: bool,
    compat: bool,
    as_json: bool,
) -> None:
    """Open the account of USERNAME from name and passphrase, check all its keys, and say what is in it."""
    with access.service(url, realm, state_dir) as client:
        passphrase = access.passphrase(passphrase_stdin)
        account = client.unlock(username, passphrase, account_secret=access.account_secret(), compat=compat)
        _show(account, as_json, {"classification_nodes": len(account.classification_nodes())})
        account.log_out()


@click.command(epilog=_ENVIRONMENT + ".")
@click.argument("username")
@access.account_options
@json_option
def whoami(
    username: str, url: str | None, realm: str | None, state_dir: str | None, passphrase_stdin: bool, as_json: bool
) -> None:
    """Open the account of USERNAME and print who that is: its name, tag and realm."""
    with access.service(url, realm, state_dir) as client:
        passphrase = access.passphrase(passphrase_stdin)
        account = client.unlock(username, passphrase, account_secret=access.account_secret())
        _print({"username": account.username, "account_tag": account.account_tag, "realm": account.realm}, as_json)
        account.log_out()


def _show(account: "Account", as_json: bool, more: dict[str, Any]) -> None:
    record = {
        "username": account.username,
        "account_tag": account.account_tag,
        "realm": account.realm,
        "data_encryption_keys": list(account.data_encryption_keys),
    }
    _print(record | more, as_json)


def _print(record: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(record)
        return
    print_fields({name: ", ".join(value) if isinstance(value, list) else str(value) for name, value in record.items()})
