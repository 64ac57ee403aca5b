"""`strongroom register`, `unlock` and `whoami`: the client's journeys against a running service."""

from typing import TYPE_CHECKING, Any

import click

from strongroom.cli import access
from strongroom.cli.output import json_option, note, print_record
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
    help="What a guess at the passphrase costs a thief of the database.",
)
@json_option
def register(username: str, passphrase_stdin: bool, iterations: int, as_json: bool, **where: str | None) -> None:
    """Register USERNAME in the eleven steps of the specification.

    The passphrase is asked for twice and never leaves this machine. Interrupted, the same command finishes the
    registration. A forgotten passphrase cannot be recovered. With STRONGROOM_ACCOUNT_SECRET set, to what
    `strongroom crypto account-secret` printed, the account opens with both together only.
    """
    admission_token = access.admission_token()
    with access.service(**where) as client:
        passphrase = access.passphrase(passphrase_stdin, confirm=True)
        account = client.register(
            username,
            passphrase,
            admission_token=admission_token,
            account_secret=access.account_secret(),
            iterations=iterations,
        )
        print_record(_described(account), as_json)
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
def unlock(username: str, passphrase_stdin: bool, compat: bool, as_json: bool, **where: str | None) -> None:
    """Open the account of USERNAME from name and passphrase, check all its keys, and say what is in it."""
    with access.service(**where) as client:
        passphrase = access.passphrase(passphrase_stdin)
        account = client.unlock(username, passphrase, account_secret=access.account_secret(), compat=compat)
        nodes = len(account.classification_nodes())
        print_record(_described(account) | {"classification_nodes": nodes}, as_json)
        account.log_out()


@click.command(epilog=_ENVIRONMENT + ".")
@click.argument("username")
@access.account_options
@json_option
def whoami(username: str, passphrase_stdin: bool, as_json: bool, **where: str | None) -> None:
    """Open the account of USERNAME and print who that is: its name, tag and realm."""
    with access.service(**where) as client:
        passphrase = access.passphrase(passphrase_stdin)
        account = client.unlock(username, passphrase, account_secret=access.account_secret())
        record = _described(account)
        del record["data_encryption_keys"]
        print_record(record, as_json)
        account.log_out()


def _described(account: "Account") -> dict[str, Any]:
    return {
        "username": account.username,
        "account_tag": account.account_tag,
        "realm": account.realm,
        "data_encryption_keys": list(account.data_encryption_keys),
    }
