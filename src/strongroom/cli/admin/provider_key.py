"""`strongroom admin provider-key`: the keys with which a provider issues admission tokens."""

import click

from strongroom.access import providers
from strongroom.cli.admin.common import ONCE, described, id_argument, name_argument, provider_id, show, time_text
from strongroom.cli.admin.stores import read_access, write_access
from strongroom.cli.output import Failed, data_option, json_option, print_records
from strongroom.portal.subscriptions import api_keys
from strongroom.runtime.ids import to_text
from strongroom.runtime.settings import seconds
from strongroom.storage import Transaction


@click.group()
def provider_key() -> None:
    """Provider API keys: create, list, revoke."""


@provider_key.command()
@click.argument("provider", callback=name_argument)
@click.option("--name", default="key", show_default=True, callback=name_argument, help="What to call the key.")
@data_option
@json_option
def create(provider: str, name: str, data: str | None, as_json: bool) -> None:
    """Create an API key for PROVIDER, printed this once. At most two are active: the old one and its successor."""

    async def work(tx: Transaction, now: int) -> str:
        return await api_keys.create(tx, await provider_id(tx, provider), name, now)

    try:
        key = write_access(data, work)
    except providers.TooManyKeys:
        raise Failed("the provider has two active keys: revoke one first") from None
    show({"provider": provider, "name": name, "provider_api_key": key}, as_json, ONCE)


@provider_key.command("list")
@click.argument("provider", callback=name_argument)
@data_option
@json_option
def list_of(provider: str, data: str | None, as_json: bool) -> None:
    """List the API keys of PROVIDER: of each only the beginning and the end."""

    async def work(tx: Transaction, now: int) -> list[providers.ProviderKeyRecord]:
        return await providers.keys_of(tx, await provider_id(tx, provider))

    records = read_access(data, work)
    columns = {"NAME": "name", "KEY": "hint", "CREATED": "created_at", "REVOKED": "revoked_at", "ID": "id"}
    print_records([described(record) for record in records], columns, as_json)


@provider_key.command()
@click.argument("provider", callback=name_argument)
@click.argument("key_id", metavar="ID", callback=id_argument)
@click.option("--grace", default="0", metavar="DURATION", help="How long the key still works. [default: 0]")
@data_option
@json_option
def revoke(provider: str, key_id: bytes, grace: str, data: str | None, as_json: bool) -> None:
    """End the API key ID of PROVIDER, at once or after a grace such as 24h."""
    span = seconds("grace", grace) * 1000

    async def work(tx: Transaction, now: int) -> int:
        if not await api_keys.revoke(tx, await provider_id(tx, provider), key_id, span, now):
            raise Failed("the provider has no such key in force")
        return now + span

    at = write_access(data, work)
    show({"id": to_text(key_id), "revoked_at": time_text(at)}, as_json, "revoked")
