"""The operator's decisions about a subscription, by page and command line; owners are notified."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from strongroom.access import subscription_states, subscriptions
from strongroom.access.subscriptions import SubscriptionRecord
from strongroom.portal import lengths, limits
from strongroom.portal.accounts.emails import canonical_email
from strongroom.portal.area import Portal
from strongroom.portal.limits import TooMany
from strongroom.portal.membership import organisations
from strongroom.portal.messaging import messages
from strongroom.portal.messaging.mail import MailQueue
from strongroom.runtime.ids import to_text
from strongroom.services import audit
from strongroom.services.audit import Action
from strongroom.storage import Transaction

_Run: TypeAlias = Callable[[Transaction, SubscriptionRecord, int], Awaitable[bool]]


@dataclass(frozen=True, slots=True)
class Decision:
    action: Action
    """What the audit calls it."""
    outcome: str
    """Completes a sentence that begins with the name of the subscription."""
    run: _Run
    """False where there is nothing to decide."""


async def _approve(tx: Transaction, record: SubscriptionRecord, now: int) -> bool:
    return await subscription_states.approve(tx, record.provider_id, record.id, now)


async def _reject(tx: Transaction, record: SubscriptionRecord, now: int) -> bool:
    waits = record.state == "submitted" and record.approved_at is None
    return waits and await subscriptions.cancel(tx, record.provider_id, record.id, now)


async def _suspend(tx: Transaction, record: SubscriptionRecord, now: int) -> bool:
    return await subscription_states.suspend(tx, record.provider_id, record.id, now)


async def _resume(tx: Transaction, record: SubscriptionRecord, now: int) -> bool:
    return await subscription_states.resume(tx, record.provider_id, record.id, now)


DECISIONS: Mapping[str, Decision] = {
    "approve": Decision(Action.subscription_approved, "was approved. It can be activated now.", _approve),
    "reject": Decision(Action.subscription_rejected, "was not approved, and has ended.", _reject),
    "suspend": Decision(
        Action.subscription_suspended, "was suspended by the operator. Its keys are refused for now.", _suspend
    ),
    "resume": Decision(Action.subscription_resumed, "was resumed. Its keys work again.", _resume),
}
ACTIONS = frozenset(decision.action for decision in DECISIONS.values())


async def decide(
    tx: Transaction,
    name: str,
    provider_id: bytes,
    subscription_id: bytes,
    now: int,
    *,
    mail: MailQueue | None,
    base_url: str,
    actor_id: bytes | None = None,
    reason: str = "",
) -> int | None:
    """Decide, record it in the audit and queue a message with the reason to every owner; how many messages.

    None where it is not possible. `base_url` is the portal's; without `mail` no message is sent.
    """
    record = await subscriptions.read(tx, provider_id, subscription_id)
    if record is None or not await DECISIONS[name].run(tx, record, now):
        return None
    action, outcome, said = DECISIONS[name].action, DECISIONS[name].outcome, _cleaned(reason)
    await audit.record(tx, provider_id, action, now, actor_id=actor_id, object_id=subscription_id, detail=said)
    if mail is None:
        return 0
    url = f"{base_url}/organisations/{to_text(provider_id)}/subscriptions/{to_text(subscription_id)}"
    owners = (await organisations.owners_of(tx, [provider_id]))[provider_id]
    for owner in owners:
        await mail.enqueue(tx, messages.subscription_news(owner, record.name, outcome, url, said), now)
    return len(owners)


def _cleaned(reason: str) -> str:
    """A reason for the audit and the mail, without characters that move or hide other text."""
    return "".join(character if character.isprintable() else " " for character in reason)[: lengths.MAX_REASON]


async def notify_operators(
    tx: Transaction, portal: Portal, name: str, organisation: str, product: str, now: int
) -> None:
    """Queue a message to every operator about a subscription that waits for approval, up to a limit for each.

    Beyond the limit nothing fails: the operator's page lists what waits.
    """
    # In one order everywhere, so that two concurrent subscriptions cannot deadlock.
    for email in sorted(filter(None, map(canonical_email, portal.settings.operators))):
        try:
            await limits.count(tx, portal.secret, limits.OPERATOR_NEWS, email, now)
        except TooMany:
            continue
        message = messages.subscription_waits(email, name, organisation, product, portal.url("/operator"))
        await portal.mail.enqueue(tx, message, now)


async def reason_of(tx: Transaction, record: SubscriptionRecord) -> str | None:
    """Why a subscription was rejected or is suspended, empty where no reason was given; None where it is neither."""
    action = {"suspended": Action.subscription_suspended, "cancelled": Action.subscription_rejected}.get(record.state)
    # An approved subscription was not rejected: this spares most ended ones the search through the audit.
    if action is None or (record.state == "cancelled" and record.approved_at is not None):
        return None
    event = await audit.newest(tx, record.provider_id, record.id, action)
    return None if event is None else event.detail
