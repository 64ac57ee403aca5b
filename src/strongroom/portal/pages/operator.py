"""The operator's pages: what waits for approval, and every subscription in force."""

from starlette.responses import Response

from strongroom.access import subscription_states, subscriptions
from strongroom.portal.membership import organisations
from strongroom.portal.refusals import Absent
from strongroom.portal.subscriptions.decisions import DECISIONS, decide, tell_owners
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.runtime.ids import from_text

PAGE_SIZE = 100

# What a page asks before it is done.
_QUESTIONS = {
    "reject": ("Reject {}?", "The subscription ends, and its owners are told.", "Reject"),
    "suspend": ("Suspend {}?", "Every call with one of its keys is refused until it is resumed.", "Suspend"),
}


async def show(visit: Visit) -> Response:
    access = visit.portal.access
    before = from_text(visit.query("before"))
    # Page by page: accounts are free, and a hundred of somebody's must not hide those that came after them.
    after = from_text(visit.query("after")) or b""
    waiting = await access.read(lambda tx: subscription_states.waiting(tx, PAGE_SIZE, after))
    found = await access.read(lambda tx: subscription_states.all_in_force(tx, PAGE_SIZE, before))
    ids = {record.provider_id for record, _ in waiting}
    owners = await visit.portal.store.read_many(lambda tx: organisations.owners_of(tx, ids))
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
    """Approve, reject, suspend or resume one subscription; the owners are told by mail."""
    portal, now, act = visit.portal, visit.now, visit.path("act")
    provider_id, subscription_id = from_text(visit.path("provider")), from_text(visit.path("subscription"))
    if act not in DECISIONS or provider_id is None or subscription_id is None:
        raise Absent
    if act in _QUESTIONS and not visit.is_confirmed:
        return await _ask(visit, act, provider_id, subscription_id)
    reason, who = visit.form.text("reason"), visit.who.developer_id
    record = await portal.access.write(
        lambda tx: decide(tx, act, provider_id, subscription_id, now, actor_id=who, reason=reason)
    )
    if record is None:
        return visit.redirect("/operator", "nothing_changed")
    await portal.store.write(lambda tx: tell_owners(tx, portal.mail, act, record, portal.url(""), reason, now))
    portal.mail.wake()
    return visit.redirect("/operator", DECISIONS[act].action)


async def _ask(visit: Visit, act: str, provider_id: bytes, subscription_id: bytes) -> Response:
    record = await visit.portal.access.read(lambda tx: subscriptions.read(tx, provider_id, subscription_id))
    if record is None:
        raise Absent
    heading, text, button = _QUESTIONS[act]
    return visit.ask(heading.format(record.name), text, button, "/operator", asks_reason=True)


PAGES = (
    Page("GET", "/operator", Needs.operator, show),
    Page("POST", "/operator/subscriptions/{provider}/{subscription}/{act}", Needs.operator, change),
)
