"""What there is to subscribe to."""

from starlette.responses import Response

from strongroom.access import providers
from strongroom.access.providers import ProviderRecord
from strongroom.portal import organisations
from strongroom.portal.page import Needs, Page, Visit
from strongroom.portal.refusals import Absent


async def own_providers(visit: Visit) -> list[tuple[ProviderRecord, organisations.Role]]:
    """The visitor's organisations by name; one whose making was interrupted is left out."""
    portal, developer_id = visit.portal, visit.who.developer_id
    memberships = await portal.store.read(lambda tx: organisations.list_of(tx, developer_id))
    found = []
    for membership in memberships:
        provider_id = membership.provider_id
        provider = await portal.access.read(lambda tx, provider_id=provider_id: providers.read(tx, provider_id))  # type: ignore[misc]  # bound early
        if provider is not None and provider.closed_at is None:
            found.append((provider, membership.role))
    return sorted(found, key=lambda one: one[0].name.casefold())


async def show_all(visit: Visit) -> Response:
    return visit.page("products/list.html", products=visit.portal.products.all)


async def show(visit: Visit) -> Response:
    product = visit.portal.products.find(visit.path("product"))
    if product is None:
        raise Absent
    return visit.page("products/detail.html", product=product, own=await own_providers(visit))


PAGES = (
    Page("GET", "/products", Needs.signed_in, show_all),
    Page("GET", "/products/{product}", Needs.signed_in, show),
)
