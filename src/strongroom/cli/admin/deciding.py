"""`strongroom admin subscription waiting`, `approve`, `reject`, `suspend` and `resume`: as on the operator's page."""

import os
from collections.abc import Callable
from typing import Any, TypeAlias

import click

from strongroom.access import subscription_states
from strongroom.access.subscriptions import SubscriptionRecord
from strongroom.cli.admin.common import id_argument, name_argument, provider_id, show, time_text
from strongroom.cli.admin.stores import data_option, in_store, read_access
from strongroom.cli.output import Failed, json_option, note, print_json, print_table
from strongroom.cli.server_secret import server_secret
from strongroom.runtime.clock import SystemClock
from strongroom.runtime.ids import to_text
from strongroom.runtime.settings import load
from strongroom.storage import Store, Transaction

_Command: TypeAlias = Callable[..., None]

_MAX_WAITING = 1000
_NOTHING_WAITS = "No subscription is waiting for approval."


def _reason(_: click.Context, __: click.Parameter, value: str) -> str:
    from strongroom.portal.lengths import MAX_REASON

    if not value.isprintable() or len(value) > MAX_REASON:
        raise click.BadParameter(f"a reason has up to {MAX_REASON} printable characters, on one line")
    return value.strip()


def _one_subscription(command: _Command) -> _Command:
    for decorate in (
        json_option,
        data_option,
        click.option("--reason", default="", callback=_reason, metavar="TEXT", help="What the owners are told."),
        click.argument("subscription_id", metavar="ID", callback=id_argument),
        click.argument("provider", callback=name_argument),
    ):
        command = decorate(command)
    return command


@click.command()
@data_option
@json_option
def waiting(data: str | None, as_json: bool) -> None:
    """List what waits for approval, of all providers, oldest first, with who owns each organisation."""

    from strongroom.portal.membership import organisations

    async def work(tx: Transaction, now: int) -> tuple[list[tuple[SubscriptionRecord, str]], dict[bytes, list[str]]]:
        found = await subscription_states.waiting(tx, _MAX_WAITING)
        return found, await organisations.owners_of(tx, {record.provider_id for record, _ in found})

    found, owners = read_access(data, work)
    records: list[dict[str, Any]] = [
        {
            "id": to_text(record.id),
            "provider": provider,
            "name": record.name,
            "product": record.product,
            "created_at": time_text(record.created_at),
            "owners": owners[record.provider_id],
        }
        for record, provider in found
    ]
    if as_json:
        print_json(records)
    elif records:
        rows = [
            (r["provider"], r["name"], r["product"] or "none", r["created_at"], ", ".join(r["owners"]), r["id"])
            for r in records
        ]
        print_table(("PROVIDER", "NAME", "PRODUCT", "CREATED", "OWNERS", "ID"), rows)
    else:
        note(_NOTHING_WAITS)


@click.command()
@_one_subscription
def approve(provider: str, subscription_id: bytes, reason: str, data: str | None, as_json: bool) -> None:
    """Approve the subscription ID of PROVIDER, so that its developer can activate it."""
    otherwise = "the provider has no such subscription that waits for approval"
    told = _decide("approve", data, provider, subscription_id, reason, otherwise)
    _show(subscription_id, "submitted", told, as_json, "approved")


@click.command()
@_one_subscription
def reject(provider: str, subscription_id: bytes, reason: str, data: str | None, as_json: bool) -> None:
    """Refuse to approve the subscription ID of PROVIDER; it has ended then."""
    otherwise = "the provider has no such subscription that waits for approval"
    told = _decide("reject", data, provider, subscription_id, reason, otherwise)
    _show(subscription_id, "cancelled", told, as_json, "rejected")


@click.command()
@_one_subscription
def suspend(provider: str, subscription_id: bytes, reason: str, data: str | None, as_json: bool) -> None:
    """Refuse the keys of the active subscription ID of PROVIDER until it is resumed."""
    otherwise = "the provider has no such subscription that is active"
    told = _decide("suspend", data, provider, subscription_id, reason, otherwise)
    _show(subscription_id, "suspended", told, as_json, "suspended")


@click.command()
@_one_subscription
def resume(provider: str, subscription_id: bytes, reason: str, data: str | None, as_json: bool) -> None:
    """End the suspension of the subscription ID of PROVIDER."""
    otherwise = "the provider has no such subscription that is suspended"
    told = _decide("resume", data, provider, subscription_id, reason, otherwise)
    _show(subscription_id, "active", told, as_json, "resumed")


COMMANDS = (waiting, approve, reject, suspend, resume)


def _decide(decision: str, data: str | None, provider: str, subscription_id: bytes, reason: str, otherwise: str) -> int:
    """How many owners get a mail; `Failed` with `otherwise`."""
    from strongroom.portal.area import PREFIX
    from strongroom.portal.messaging.mail import MailQueue
    from strongroom.portal.subscriptions import decisions

    settings = load(os.environ, {"data": data})
    secret, base_url = server_secret(settings), settings.base_url + PREFIX

    async def work(store: Store, now: int) -> int:
        # The running service sends what is put down.
        mail = None if secret is None else MailQueue(store, SystemClock(), secret, None)

        async def decide(tx: Transaction) -> int:
            owner = await provider_id(tx, provider)
            told = await decisions.decide(
                tx, decision, owner, subscription_id, now, mail=mail, base_url=base_url, reason=reason
            )
            if told is None:
                raise Failed(otherwise)
            return told

        return await store.write(decide)

    return in_store(data, "access", work)


def _show(subscription_id: bytes, state: str, told: int, as_json: bool, done: str) -> None:
    mail = "" if not told else f"; {told} owner{'s' if told > 1 else ''} will get a mail from the running service"
    record = {"id": to_text(subscription_id), "state": state, "owners_told": told}
    show(record, as_json, f"{done}{mail}")
