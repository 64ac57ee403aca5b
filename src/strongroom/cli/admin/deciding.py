"""`strongroom admin subscription waiting`, `approve`, `reject`, `suspend` and `resume`: as on the operator's page."""

import os

import click

from strongroom.access import subscription_states
from strongroom.access.subscriptions import SubscriptionRecord
from strongroom.cli.admin.common import described, provider_id, show, subscription_command
from strongroom.cli.admin.stores import in_store, read_access
from strongroom.cli.output import Failed, data_option, json_option, note, print_records
from strongroom.cli.server_secret import server_secret
from strongroom.runtime.clock import SystemClock
from strongroom.runtime.ids import to_text
from strongroom.runtime.settings import load
from strongroom.storage import Store, Transaction

_MAX_WAITING = 1000
_NOTHING_WAITS = "No subscription is waiting for approval."


def _reason(_: click.Context, __: click.Parameter, value: str) -> str:
    from strongroom.portal.lengths import MAX_REASON

    if not value.isprintable() or len(value) > MAX_REASON:
        raise click.BadParameter(f"a reason has up to {MAX_REASON} printable characters, on one line")
    return value.strip()


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
    if not found and not as_json:
        note(_NOTHING_WAITS)
        return
    records = [
        described(record) | {"provider": provider, "owners": owners[record.provider_id]} for record, provider in found
    ]
    columns = {"PROVIDER": "provider", "NAME": "name", "PRODUCT": "product"}
    columns |= {"CREATED": "created_at", "OWNERS": "owners", "ID": "id"}
    print_records(records, columns, as_json)


def _command(decision: str, state: str, done: str, condition: str, text: str) -> click.Command:
    """A decision of the operator; afterwards the subscription is in `state`."""
    reason_option = click.option(
        "--reason", default="", callback=_reason, metavar="TEXT", help="What is written to the owners."
    )

    @click.command(decision, help=text)
    @subscription_command
    @reason_option
    def decide(provider: str, subscription_id: bytes, reason: str, data: str | None, as_json: bool) -> None:
        notified = _decide(decision, data, provider, subscription_id, reason)
        if notified is None:
            raise Failed(f"the provider has no such subscription that {condition}")
        mail = f"; {notified} owner{'s' if notified > 1 else ''} will get a mail from the running service"
        record = {"id": to_text(subscription_id), "state": state, "owners_notified": notified}
        show(record, as_json, done + (mail if notified else ""))

    return decide


COMMANDS = (
    waiting,
    _command(
        "approve",
        "submitted",
        "approved",
        "waits for approval",
        "Approve the subscription ID of PROVIDER, so that its developer can activate it.",
    ),
    _command(
        "reject",
        "cancelled",
        "rejected",
        "waits for approval",
        "Refuse to approve the subscription ID of PROVIDER; it has ended then.",
    ),
    _command(
        "suspend",
        "suspended",
        "suspended",
        "is active",
        "Refuse the keys of the active subscription ID of PROVIDER until it is resumed.",
    ),
    _command("resume", "active", "resumed", "is suspended", "End the suspension of the subscription ID of PROVIDER."),
)


def _decide(decision: str, data: str | None, provider: str, subscription_id: bytes, reason: str) -> int | None:
    """How many owners get a mail; None where the subscription is not in a state for this decision."""
    from strongroom.portal.area import PREFIX
    from strongroom.portal.messaging.mail import MailQueue
    from strongroom.portal.subscriptions import decisions

    settings = load(os.environ, {"data": data})
    secret, base_url = server_secret(settings), settings.base_url + PREFIX

    async def work(store: Store, now: int) -> int | None:
        # The running service sends what is put down.
        mail = None if secret is None else MailQueue(store, SystemClock(), secret, None)

        async def decide(tx: Transaction) -> int | None:
            owner = await provider_id(tx, provider)
            return await decisions.decide(
                tx, decision, owner, subscription_id, now, mail=mail, base_url=base_url, reason=reason
            )

        return await store.write(decide)

    return in_store(data, "access", work)
