"""An organisation: made by a developer, and the overview of what belongs to it."""

import re
from typing import Any

from starlette.responses import Response

from strongroom.access import providers, sandbox, subscriptions, usage
from strongroom.access.providers import ProviderRecord
from strongroom.portal.lengths import MAX_NAME
from strongroom.portal.membership import organisations
from strongroom.portal.membership.organisations import MAX_OWNED, TooManyOrganisations
from strongroom.portal.refusals import Absent
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.runtime.clock import DAY
from strongroom.runtime.ids import to_text
from strongroom.storage import Transaction

# Invisible characters that `isprintable` accepts: fillers, joiners, selectors, the Braille blank.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


async def provider_of(visit: Visit) -> ProviderRecord:
    """The provider of the path, which the visitor belongs to; `Absent` once it is closed."""
    provider_id = visit.organisation.provider_id
    found = await visit.read(lambda tx: providers.read(tx, provider_id))
    if found is None or found.closed_at is not None:
        raise Absent
    return found


def name_error(name: str) -> str | None:
    """What is wrong with a name, in a sentence for its author; None where nothing is."""
    if not name:
        return "Enter a name."
    if len(name) > MAX_NAME:
        return f"Use at most {MAX_NAME} characters."
    # Nor characters that change the direction of writing: a name is shown in mail and in the audit.
    if not name.isprintable() or _UNSEEN.search(name):
        return "Use characters that can be seen."
    return None


def organisation_name_error(name: str) -> str | None:
    """The same for the name of an organisation; the sandbox's name is reserved."""
    return "This name is taken." if name == sandbox.NAME else name_error(name)


async def show_new(visit: Visit) -> Response:
    return visit.page("organisation/new.html", product=visit.portal.products.find(visit.query("for")))


async def create(visit: Visit) -> Response:
    portal, now, developer_id = visit.portal, visit.now, visit.who.developer_id
    name = visit.form.text("name")
    product = portal.products.find(visit.form.text("for"))
    error = organisation_name_error(name)

    if error is None:
        try:
            provider_id = await visit.write(lambda tx: organisations.create(tx, name, developer_id, now))
        except TooManyOrganisations:
            error = f"You own {MAX_OWNED} organisations already."
        except providers.NameTaken:
            error = "This name is taken."
    if error is not None:
        return visit.page("organisation/new.html", errors={"name": error}, product=product)
    path = f"/organisations/{to_text(provider_id)}"
    if product is not None:  # continue with the product that was chosen before
        path = f"{path}/subscribe/{product.id}"
    return visit.redirect(path, "organisation_created")


async def show(visit: Visit) -> Response:
    provider = await provider_of(visit)

    async def look(tx: Transaction) -> dict[str, Any]:
        records = await subscriptions.list_of(tx, provider.id)
        return {
            "subscriptions": sorted(records, key=lambda record: (record.state == "cancelled", record.created_at)),
            "calls": await usage.calls_of(tx, provider.id, DAY, visit.now - 30 * DAY),
            "api_keys": await providers.keys_of(tx, provider.id),
        }

    shown = await visit.read(look)
    return visit.page("organisation/overview.html", provider=provider, products=visit.portal.products, **shown)


PAGES = (
    Page("GET", "/organisations/new", Needs.signed_in, show_new),
    Page("POST", "/organisations/new", Needs.signed_in, create),
    Page("GET", "/organisations/{organisation}", Needs.member, show),
)
