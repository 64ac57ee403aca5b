"""The products, and the page of one of them."""

from starlette.responses import Response

from strongroom.portal.membership import organisations
from strongroom.portal.refusals import Absent
from strongroom.portal.web.page import Needs, Page, Visit


async def show_all(visit: Visit) -> Response:
    return visit.page("products/list.html", products=visit.portal.products.all)


async def show(visit: Visit) -> Response:
    product = visit.portal.products.find(visit.path("product"))
    if product is None:
        raise Absent
    developer_id = visit.who.developer_id
    own = await visit.read(lambda tx: organisations.of_developer(tx, developer_id))
    return visit.page("products/detail.html", product=product, own=own)


PAGES = (
    Page("GET", "/products", Needs.signed_in, show_all),
    Page("GET", "/products/{product}", Needs.signed_in, show),
)
