"""The first page: what this is, or for a developer who is signed in, what there is to do."""

from starlette.responses import Response

from strongroom.portal.page import Needs, Page, Visit
from strongroom.portal.pages.products import own_providers


async def show(visit: Visit) -> Response:
    session = visit.session
    if session is None or session.stage != "full":
        return visit.page("welcome.html")
    return visit.page("home.html", own=await own_providers(visit))


PAGES = (
    Page("GET", "", Needs.anybody, show),
    Page("GET", "/", Needs.anybody, show),
)
