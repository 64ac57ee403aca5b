"""The operator's pages: what waits for approval, and every subscription in force."""

from starlette.responses import Response

from strongroom.access import subscription_states, subscriptions
from strongroom.portal import messages, organisations
from strongroom.portal.page import Needs, Page, Visit
from strongroom.portal.refusals import Absent
from strongroom.server import audit
from strongroom.server.db import Transaction
from strongroom.server.ids import from_text, to_text

PAGE_SIZE = 100

_DONE = {
    "approve": ("subscription_approved", "was approved. It can be activated now."),
    "reject": ("subscription_rejected", "was not approved, and has ended."),
    "suspend": ("subscription_suspended", "was suspended by the operator. Its keys are refused for now."),
    "resume": ("subscription_resumed", "goes on. Its keys work again."),
}

ACTIONS = frozenset(action for action, _ in _DONE.values())
"""What the audit calls these acts."""


async def show(visit: Visit) -> Response:
    access = visit.portal.access
    before = from_text(visit.query("before"))
    waiting = await access.read(lambda tx: subscription_states.waiting(tx, PAGE_SIZE))
    found = await access.read(lambda tx: subscription_states.all_in_force(tx, PAGE_SIZE, before))
    return visit.page(
        "operator.html",
        waiting=waiting,
        subscriptions=found,
        products=visit.portal.products,
        more=found[-1][0].id if len(found) == PAGE_SIZE else None,
    )


async def change(visit: Visit) -> Response:
    """Approve, reject, suspend or resume one subscription; the owners are told by mail."""
    portal, now, act = visit.portal, visit.now, visit.path("act")
    provider_id, subscription_id = from_text(visit.path("provider")), from_text(visit.path("subscription"))
    if act not in _DONE or provider_id is None or subscription_id is None:
        raise Absent
    action, outcome = _DONE[act]

    async def work(tx: Transaction) -> str | None:
        record = await subscriptions.read(tx, provider_id, subscription_id)
        if record is None or not await _changed(tx, act, record, now):
            return None
        await audit.record(tx, provider_id, action, now, actor_id=visit.who.developer_id, object_id=subscription_id)
        return record.name

    name = await portal.access.write(work)
    if name is None:
        return visit.redirect("/operator", "nothing_changed")
    url = portal.url(f"/organisations/{to_text(provider_id)}/subscriptions/{to_text(subscription_id)}")

    async def tell(tx: Transaction) -> None:
        for member in await organisations.members_of(tx, provider_id):
            if member.role == "owner":
                await portal.mail.put(tx, messages.subscription_news(member.email, name, outcome, url), now)

    await portal.store.write(tell)
    portal.mail.wake()
    return visit.redirect("/operator", action)


async def _changed(tx: Transaction, act: str, record: subscriptions.SubscriptionRecord, now: int) -> bool:
    match act:
        case "approve":
            return await subscription_states.approve(tx, record.provider_id, record.id, now)
        case "reject":
            waits = record.state == "submitted" and record.approved_at is None
            return waits and await subscriptions.cancel(tx, record.provider_id, record.id, now)
        case "suspend":
            return await subscription_states.suspend(tx, record.provider_id, record.id, now)
        case _:
            return await subscription_states.resume(tx, record.provider_id, record.id, now)


PAGES = (
    Page("GET", "/operator", Needs.operator, show),
    Page("POST", "/operator/subscriptions/{provider}/{subscription}/{act}", Needs.operator, change),
)
