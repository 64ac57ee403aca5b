"""The first page: a welcome, or the overview of a developer who is signed in."""

from typing import TypeAlias

from starlette.responses import Response

from strongroom.access import subscriptions
from strongroom.access.providers import ProviderRecord
from strongroom.access.subscriptions import SubscriptionRecord
from strongroom.portal.accounts.emails import canonical_email
from strongroom.portal.membership import invitations, organisations
from strongroom.portal.membership.invitations import Invitation
from strongroom.portal.membership.organisations import Role
from strongroom.portal.refusals import Absent
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.runtime.ids import from_text, to_text
from strongroom.storage import Transaction

_Own: TypeAlias = tuple[ProviderRecord, Role, list[SubscriptionRecord]]


async def show(visit: Visit) -> Response:
    if visit.signed_in is None:
        return visit.page("welcome.html")

    async def look(tx: Transaction) -> tuple[list[_Own], list[Invitation]]:
        own = [
            (provider, role, [one for one in await subscriptions.list_of(tx, provider.id) if one.state != "cancelled"])
            for provider, role in await organisations.of_developer(tx, visit.who.developer_id)
        ]
        return own, await _invited(visit, tx)

    own, invited = await visit.read_many(look)
    return visit.page("home.html", own=own, invited=invited)


async def join(visit: Visit) -> Response:
    """Accept an invitation without its link: the address it was sent to is the one this account has proved."""
    wanted, now = from_text(visit.path("invitation")), visit.now

    async def work(tx: Transaction) -> tuple[Invitation, bool]:
        found = next((one for one in await _invited(visit, tx) if one.id == wanted), None)
        if found is None:
            raise Absent
        return found, await invitations.accept(tx, found, visit.who.developer_id, now)

    found, done = await visit.write(work)
    return visit.redirect(f"/organisations/{to_text(found.provider_id)}", "joined" if done else "nothing_changed")


async def _invited(visit: Visit, tx: Transaction) -> list[Invitation]:
    """The open invitations for the address of the visitor."""
    email = canonical_email(visit.who.email)
    return [] if email is None else await invitations.open_for(tx, email, visit.now)


PAGES = (
    Page("GET", "", Needs.anybody, show),
    Page("GET", "/", Needs.anybody, show),
    Page("POST", "/invitations/{invitation}/join", Needs.signed_in, join),
)
