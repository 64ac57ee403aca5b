"""`strongroom admin subscription`: who may call at all, by a primary and a secondary key."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

import click

from strongroom.access import subscriptions
from strongroom.cli.admin.common import ONCE, id_argument, name_argument, provider_id, show, time_text
from strongroom.cli.admin.deciding import COMMANDS
from strongroom.cli.admin.stores import data_option, read_access, write_access
from strongroom.cli.output import Failed, json_option, print_json, print_table
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
        return [
            _record(record, await subscriptions.keys_of(tx, owner, record.id), now)
            for record in await subscriptions.list_of(tx, owner)
        ]

    records = read_access(data, work)
    if as_json:
        print_json(records)
    else:
        rows = [(r["name"], r["state"], r["created_at"], _hints(r["keys"]), r["id"]) for r in records]
        print_table(("NAME", "STATE", "CREATED", "KEYS", "ID"), rows)


def _record(
    record: subscriptions.SubscriptionRecord, keys: list[subscriptions.SubscriptionKeyRecord], now: int
) -> dict[str, Any]:
    return {
        "id": to_text(record.id),
        "name": record.name,
        "state": record.state_at(now),
        "product": record.product,
        "approved_at": time_text(record.approved_at),
        "created_at": time_text(record.created_at),
        "activated_at": time_text(record.activated_at),
        "ended_at": time_text(record.ended_at),
        "expires_at": time_text(record.expires_at),
        "keys": [
            {
                "slot": key.slot,
                "hint": key.hint,
                "created_at": time_text(key.created_at),
                "expires_at": time_text(key.expires_at),
                "replaced_at": time_text(key.replaced_at),
                "last_used_at": time_text(key.last_used_at),
            }
            for key in keys
        ],
    }


def _hints(keys: list[dict[str, Any]]) -> str:
    return ", ".join(f"{key['slot']} {key['hint']}" for key in keys if key["replaced_at"] is None)


def _change(data: str | None, provider: str, subscription_id: bytes, act: _Act, otherwise: str) -> None:
    """Run one change of a state, and fail with `otherwise` where there was nothing to change."""

    async def work(tx: Transaction, now: int) -> None:
        if not await act(tx, await provider_id(tx, provider), subscription_id, None, now):
            raise Failed(otherwise)

    write_access(data, work)


@subscription.command()
@click.argument("provider", callback=name_argument)
@click.argument("subscription_id", metavar="ID", callback=id_argument)
@data_option
@json_option
def activate(provider: str, subscription_id: bytes, data: str | None, as_json: bool) -> None:
    """Open the subscription ID of PROVIDER for use."""
    otherwise = "the provider has no such subscription that is approved and waits to be activated"
    _change(data, provider, subscription_id, subscribing.activate, otherwise)
    show({"id": to_text(subscription_id), "state": "active"}, as_json, "activated")


@subscription.command()
@click.argument("provider", callback=name_argument)
@click.argument("subscription_id", metavar="ID", callback=id_argument)
@click.argument("slot", type=click.Choice(subscriptions.SLOTS))
@click.option("--grace", default="0", metavar="DURATION", help="How long the old key still works. [default: 0]")
@data_option
@json_option
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
@click.argument("provider", callback=name_argument)
@click.argument("subscription_id", metavar="ID", callback=id_argument)
@data_option
@json_option
def cancel(provider: str, subscription_id: bytes, data: str | None, as_json: bool) -> None:
    """End the subscription ID of PROVIDER and both its keys for good."""
    otherwise = "the provider has no such subscription in force"
    _change(data, provider, subscription_id, subscribing.cancel, otherwise)
    show({"id": to_text(subscription_id), "state": "cancelled"}, as_json, "cancelled")


for _command in COMMANDS:
    subscription.add_command(_command)
