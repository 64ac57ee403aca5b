"""`strongroom admin subscription`: who may call at all, by a primary and a secondary key."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import click

from strongroom.access import subscriptions
from strongroom.cli.admin.common import ONCE, described, name_argument, provider_id, show, subscription_command
from strongroom.cli.admin.deciding import COMMANDS
from strongroom.cli.admin.stores import read_access, write_access
from strongroom.cli.output import Columns, Failed, Record, data_option, json_option, print_records
from strongroom.portal.subscriptions import subscribing
from strongroom.runtime.ids import to_text
from strongroom.runtime.settings import seconds
from strongroom.services import audit
from strongroom.services.audit import Action
from strongroom.storage import Transaction

_Act: TypeAlias = Callable[[Transaction, bytes, bytes, None, int], Awaitable[bool]]

_INACTIVE = "The keys open nothing until: strongroom admin subscription activate"


@click.group()
def subscription() -> None:
    """Subscriptions of a provider and their two keys, and what the operator decides about them."""


@subscription.command()
@click.argument("provider", callback=name_argument)
@click.option("--name", default="subscription", show_default=True, callback=name_argument, help="What to call it.")
@click.option("--activate", "at_once", is_flag=True, help="Activate it at once.")
@click.option("--needs-approval", is_flag=True, help="Keep it from being activated until `approve`.")
@data_option
@json_option
def create(provider: str, name: str, at_once: bool, needs_approval: bool, data: str | None, as_json: bool) -> None:
    """Create a subscription for PROVIDER; both keys are printed this once."""
    if at_once and needs_approval:
        raise click.UsageError("--activate and --needs-approval exclude each other")

    async def work(tx: Transaction, now: int) -> subscriptions.NewSubscription:
        owner = await provider_id(tx, provider)
        new = await subscriptions.create(tx, owner, name, now, approved=not needs_approval)
        if at_once:
            await subscriptions.activate(tx, owner, new.id, now)
        await audit.record(tx, owner, Action.subscription_created, now, object_id=new.id, detail=name)
        return new

    new = write_access(data, work)
    record = {
        "id": to_text(new.id),
        "provider": provider,
        "name": name,
        "state": "active" if at_once else "submitted",
        "subscription_key": new.primary,
        "secondary_subscription_key": new.secondary,
    }
    show(record, as_json, ONCE if at_once else f"{ONCE}\n{_INACTIVE}")


@subscription.command("list")
@click.argument("provider", callback=name_argument)
@data_option
@json_option
def list_of(provider: str, data: str | None, as_json: bool) -> None:
    """List the subscriptions of PROVIDER; of each key only the beginning and the end."""

    async def work(tx: Transaction, now: int) -> list[dict[str, Any]]:
        owner = await provider_id(tx, provider)
        found = []
        for record in await subscriptions.list_of(tx, owner):
            keys = [described(key) for key in await subscriptions.keys_of(tx, owner, record.id)]
            found.append(described(record) | {"state": record.state_at(now), "keys": keys})
        return found

    columns: Columns = {"NAME": "name", "STATE": "state", "CREATED": "created_at", "KEYS": _hints, "ID": "id"}
    print_records(read_access(data, work), columns, as_json)


def _hints(subscription: Record) -> str:
    return ", ".join(f"{key['slot']} {key['hint']}" for key in subscription["keys"] if key["replaced_at"] is None)


def _change(data: str | None, provider: str, subscription_id: bytes, act: _Act, otherwise: str) -> None:
    """Run one change of a state, and fail with `otherwise` where there was nothing to change."""

    async def work(tx: Transaction, now: int) -> None:
        if not await act(tx, await provider_id(tx, provider), subscription_id, None, now):
            raise Failed(otherwise)

    write_access(data, work)


@subscription.command()
@subscription_command
def activate(provider: str, subscription_id: bytes, data: str | None, as_json: bool) -> None:
    """Open the subscription ID of PROVIDER for use."""
    otherwise = "the provider has no such subscription that is approved and waits to be activated"
    _change(data, provider, subscription_id, subscribing.activate, otherwise)
    show({"id": to_text(subscription_id), "state": "active"}, as_json, "activated")


@subscription.command()
@subscription_command
@click.argument("slot", type=click.Choice(subscriptions.SLOTS))
@click.option("--grace", default="0", metavar="DURATION", help="How long the old key still works. [default: 0]")
def regenerate(provider: str, subscription_id: bytes, slot: str, grace: str, data: str | None, as_json: bool) -> None:
    """Make one key of the subscription ID anew, printed this once; the other key stays as it is."""
    span = seconds("grace", grace) * 1000

    async def work(tx: Transaction, now: int) -> str:
        owner = await provider_id(tx, provider)
        made = await subscribing.regenerate(tx, owner, subscription_id, slot, span, None, now)
        if made is None:
            raise Failed("the provider has no such subscription in force")
        return made

    key = write_access(data, work)
    name = "subscription_key" if slot == "primary" else "secondary_subscription_key"
    show({"id": to_text(subscription_id), name: key}, as_json, ONCE)


@subscription.command()
@subscription_command
def cancel(provider: str, subscription_id: bytes, data: str | None, as_json: bool) -> None:
    """End the subscription ID of PROVIDER and both its keys for good."""
    otherwise = "the provider has no such subscription in force"
    _change(data, provider, subscription_id, subscribing.cancel, otherwise)
    show({"id": to_text(subscription_id), "state": "cancelled"}, as_json, "cancelled")


for _command in COMMANDS:
    subscription.add_command(_command)
