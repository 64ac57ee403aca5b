"""What the operator decides about a subscription, on the page and on the command line alike; owners are told."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from strongroom.access import subscription_states, subscriptions
from strongroom.access.subscriptions import SubscriptionRecord
from strongroom.portal import lengths, limits
from strongroom.portal.accounts.emails import canonical_email
from strongroom.portal.area import Portal
from strongroom.portal.membership import organisations
from strongroom.portal.messaging import messages
from strongroom.portal.messaging.mail import MailQueue, Message
from strongroom.runtime.ids import to_text
from strongroom.runtime.logging import LOGGER
from strongroom.services import audit
from strongroom.services.audit import Action
from strongroom.storage import Transaction, Unavailable

_logger = logging.getLogger(LOGGER)

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
    actor_id: bytes | None = None,
    reason: str = "",
) -> SubscriptionRecord | None:
    """Decide and note it, in the access database; None where it is not possible. The reason is told to the owners."""
    record = await subscriptions.read(tx, provider_id, subscription_id)
    if record is None or not await DECISIONS[name].run(tx, record, now):
        return None
    action, detail = DECISIONS[name].action, _said(reason)
    await audit.record(tx, provider_id, action, now, actor_id=actor_id, object_id=subscription_id, detail=detail)
    return record


def _said(reason: str) -> str:
    """What of a reason reaches the audit and the mail: nothing that moves or hides the words beside it."""
    return "".join(character if character.isprintable() else " " for character in reason)[: lengths.MAX_REASON]


async def tell_owners(
    tx: Transaction, mail: MailQueue, name: str, record: SubscriptionRecord, base_url: str, reason: str, now: int
) -> int:
    """Put down a message to every owner, in the portal's database; how many. `base_url` is the portal's."""
    url = f"{base_url}/organisations/{to_text(record.provider_id)}/subscriptions/{to_text(record.id)}"
    owners = (await organisations.owners_of(tx, [record.provider_id]))[record.provider_id]
    for owner in owners:
        outcome, said = DECISIONS[name].outcome, _said(reason)
        await mail.put(tx, messages.subscription_news(owner, record.name, outcome, url, said), now)
    return len(owners)


async def tell_operators(portal: Portal, name: str, organisation: str, product: str, now: int) -> None:
    """A message to every operator about a subscription that waits for approval, up to a limit for each of them.

    Where it cannot be put down the log says so, and nothing fails: the operator's page lists what waits.
    """
    for address in portal.settings.operators:
        email = canonical_email(address)
        if email is not None:
            message = messages.subscription_waits(email, name, organisation, product, portal.url("/operator"))
            try:
                await portal.mail.write_unless_flooded(partial(_put_for_operator, portal, message, now))
            except Unavailable as error:
                _logger.warning("operator not told", extra={"cause": type(error.__cause__).__name__})


async def _put_for_operator(portal: Portal, message: Message, now: int, tx: Transaction) -> None:
    await limits.count(tx, portal.secret, limits.OPERATOR_NEWS, message.to, now)
    await portal.mail.put(tx, message, now)


async def reason_of(tx: Transaction, record: SubscriptionRecord) -> str | None:
    """Why a subscription was rejected or is suspended, empty where nobody said; None where it is neither.

    Asked of the access database, where the decision was noted.
    """
    action = {"suspended": Action.subscription_suspended, "cancelled": Action.subscription_rejected}.get(record.state)
    # What was approved was not rejected: most of what ended is spared the walk through the acts.
    if action is None or (record.state == "cancelled" and record.approved_at is not None):
        return None
    event = await audit.newest(tx, record.provider_id, record.id, action)
    return None if event is None else event.detail
