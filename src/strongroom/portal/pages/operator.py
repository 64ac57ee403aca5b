"""The operator's pages: subscriptions that wait for approval, and all that are in force."""

from typing import TypeAlias

from starlette.responses import Response

from strongroom.access import subscription_states, subscriptions
from strongroom.access.subscriptions import SubscriptionRecord
from strongroom.portal.membership import organisations
from strongroom.portal.refusals import Absent
from strongroom.portal.subscriptions.decisions import DECISIONS, decide
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.runtime.ids import from_text
from strongroom.storage import Transaction

_Named: TypeAlias = tuple[SubscriptionRecord, str]

PAGE_SIZE = 100

# What a page asks before it is done.
_QUESTIONS = {
    "reject": ("Reject {}?", "The subscription ends, and its owners are notified.", "Reject"),
    "suspend": ("Suspend {}?", "Every call with one of its keys is refused until it is resumed.", "Suspend"),
}


async def show(visit: Visit) -> Response:
    before = from_text(visit.query("before"))
    # Page by page: accounts are free, and a hundred subscriptions of one account must not hide later ones.
    after = from_text(visit.query("after")) or b""

    async def look(tx: Transaction) -> tuple[list[_Named], dict[bytes, list[str]], list[_Named]]:
        waiting = await subscription_states.waiting(tx, PAGE_SIZE, after)
        owners = await organisations.owners_of(tx, {record.provider_id for record, _ in waiting})
        return waiting, owners, await subscription_states.all_in_force(tx, PAGE_SIZE, before)

    waiting, owners, found = await visit.read_many(look)
    return visit.page(
        "operator.html",
        waiting=waiting,
        owners=owners,
        subscriptions=found,
        products=visit.portal.products,
        more_wait=waiting[-1][0].id if len(waiting) == PAGE_SIZE else None,
        more=found[-1][0].id if len(found) == PAGE_SIZE else None,
    )


async def change(visit: Visit) -> Response:
    """Approve, reject, suspend or resume one subscription; the owners are notified by mail."""
    portal, now, act = visit.portal, visit.now, visit.path("act")
    provider_id, subscription_id = from_text(visit.path("provider")), from_text(visit.path("subscription"))
    if act not in DECISIONS or provider_id is None or subscription_id is None:
        raise Absent
    if act in _QUESTIONS and not visit.is_confirmed:
        return await _ask(visit, act, provider_id, subscription_id)
    reason, who = visit.form.text("reason"), visit.who.developer_id
    mail, base_url = portal.mail, portal.url("")
    written_to = await visit.write(
        lambda tx: decide(
            tx, act, provider_id, subscription_id, now, mail=mail, base_url=base_url, actor_id=who, reason=reason
        )
    )
    if written_to is None:
        return visit.redirect("/operator", "nothing_changed")
    return visit.redirect("/operator", DECISIONS[act].action)


async def _ask(visit: Visit, act: str, provider_id: bytes, subscription_id: bytes) -> Response:
    record = await visit.read(lambda tx: subscriptions.read(tx, provider_id, subscription_id))
    if record is None:
        raise Absent
    heading, text, button = _QUESTIONS[act]
    return visit.ask(heading.format(record.name), text, button, "/operator", asks_reason=True)


PAGES = (
    Page("GET", "/operator", Needs.operator, show),
    Page("POST", "/operator/subscriptions/{provider}/{subscription}/{act}", Needs.operator, change),
)
