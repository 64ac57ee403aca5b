"""The first page: what this is, or for a developer who is signed in, what there is to do."""

from starlette.responses import Response

from strongroom.access import providers, subscriptions
from strongroom.access.providers import ProviderRecord
from strongroom.portal.accounts.emails import canonical_email
from strongroom.portal.membership import invitations, organisations
from strongroom.portal.membership.invitations import Invitation
from strongroom.portal.membership.organisations import Role
from strongroom.portal.pages.organisation import own_providers
from strongroom.portal.refusals import Absent
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.runtime.ids import from_text, to_text
from strongroom.storage import Transaction


async def show(visit: Visit) -> Response:
    if visit.signed_in is None:
        return visit.page("welcome.html")
    own = await own_providers(visit)
    return visit.page("home.html", own=await _with_subscriptions(visit, own), invited=await _invited(visit))


async def join(visit: Visit) -> Response:
    """Accept an invitation without its link: the address it was sent to is the one this account has proved."""
    wanted, now, who = from_text(visit.path("invitation")), visit.now, visit.who
    found = next((one for one, _ in await _invited(visit) if one.id == wanted), None)
    if found is None:
        raise Absent

    async def work(tx: Transaction) -> bool:
        if not await invitations.take(tx, found, now):
            return False
        return await organisations.join(tx, found.provider_id, who.developer_id, found.role, now)

    done = await visit.portal.store.write(work)
    return visit.redirect(f"/organisations/{to_text(found.provider_id)}", "joined" if done else "nothing_changed")


async def _invited(visit: Visit) -> list[tuple[Invitation, str]]:
    """The open invitations for the address of the visitor, with the name of the organisation."""
    portal, now, email = visit.portal, visit.now, canonical_email(visit.who.email)
    if email is None:
        return []
    waiting = await portal.store.read(lambda tx: invitations.open_for(tx, email, now))
    ids = {one.provider_id for one in waiting}
    found = await portal.access.read(lambda tx: providers.in_force(tx, ids))
    return [(one, found[one.provider_id].name) for one in waiting if one.provider_id in found]


async def _with_subscriptions(
    visit: Visit, own: list[tuple[ProviderRecord, Role]]
) -> list[tuple[ProviderRecord, Role, list[subscriptions.SubscriptionRecord]]]:
    async def look(tx: Transaction) -> list[list[subscriptions.SubscriptionRecord]]:
        return [await subscriptions.list_of(tx, provider.id) for provider, _ in own]

    found = await visit.portal.access.read_many(look)
    return [
        (provider, role, [record for record in records if record.state != "cancelled"])
        for (provider, role), records in zip(own, found, strict=True)
    ]


PAGES = (
    Page("GET", "", Needs.anybody, show),
    Page("GET", "/", Needs.anybody, show),
    Page("POST", "/invitations/{invitation}/join", Needs.signed_in, join),
)
