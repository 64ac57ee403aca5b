"""The first page: what this is, or for a developer who is signed in, what there is to do."""

from starlette.responses import Response

from strongroom.portal import organisations
from strongroom.portal.page import Needs, Page, Visit


async def show(visit: Visit) -> Response:
    session = visit.session
    if session is None or session.stage != "full":
        return visit.page("welcome.html")
    memberships = await visit.portal.store.read(lambda tx: organisations.list_of(tx, session.developer_id))
    return visit.page("home.html", memberships=memberships)


PAGES = (
    Page("GET", "", Needs.anybody, show),
    Page("GET", "/", Needs.anybody, show),
)
