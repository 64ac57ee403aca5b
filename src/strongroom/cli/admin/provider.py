"""`strongroom admin provider`: the external parties whose users the service holds."""

import click

from strongroom.access import providers, sandbox
from strongroom.cli.admin.common import described, name_argument, provider_id, show
from strongroom.cli.admin.stores import make_folder, read_access, write_access
from strongroom.cli.output import Failed, data_option, json_option, print_records
from strongroom.runtime.ids import to_text
from strongroom.services import audit
from strongroom.services.audit import Action
from strongroom.storage import Transaction

_policy_choice = click.Choice(providers.LOGIN_POLICIES)


@click.group()
def provider() -> None:
    """External parties: create, list, set the login policy."""


@provider.command()
@click.argument("name", callback=name_argument)
@click.option(
    "--login-policy",
    type=_policy_choice,
    default="any",
    show_default=True,
    help="derived_only refuses raw passphrases when a user is created.",
)
@data_option
@json_option
def create(name: str, login_policy: str, data: str | None, as_json: bool) -> None:
    """Create the provider NAME."""
    if name == sandbox.NAME:
        raise Failed(f"“{name}” is the name of the provider that `strongroom serve --sandbox` makes: choose another")
    make_folder(data)

    try:
        made = write_access(data, lambda tx, now: providers.create(tx, name, now, login_policy))
    except providers.NameTaken:
        raise Failed("a provider of that name exists") from None
    record = {"id": to_text(made), "name": name, "login_policy": login_policy}
    show(record, as_json, "Next: strongroom admin subscription create, and strongroom admin provider-key create.")


@provider.command("list")
@data_option
@json_option
def list_all(data: str | None, as_json: bool) -> None:
    """List all providers."""
    records = read_access(data, lambda tx, now: providers.list_all(tx))
    columns = {"NAME": "name", "LOGIN POLICY": "login_policy"}
    columns |= {"CREATED": "created_at", "CLOSED": "closed_at", "ID": "id"}
    print_records([described(record) for record in records], columns, as_json)


@provider.command("set-login-policy")
@click.argument("name", callback=name_argument)
@click.argument("login_policy", type=_policy_choice)
@data_option
@json_option
def set_login_policy(name: str, login_policy: str, data: str | None, as_json: bool) -> None:
    """Choose how new users of the provider NAME log in.

    `derived_only` takes login secrets only, so that the service never learns a passphrase; `any` also takes raw
    passphrases. Users who exist are not touched.
    """

    async def work(tx: Transaction, now: int) -> bytes:
        found = await provider_id(tx, name)
        await providers.set_login_policy(tx, found, login_policy)
        await audit.record(tx, found, Action.login_policy_set, now, detail=login_policy)
        return found

    found = write_access(data, work)
    show({"id": to_text(found), "name": name, "login_policy": login_policy}, as_json, "set")
