"""An organisation: made by a developer, and the overview of what belongs to it."""

import re

from starlette.responses import Response

from strongroom.access import providers, sandbox, subscriptions, usage
from strongroom.access.providers import ProviderRecord
from strongroom.portal.lengths import MAX_NAME
from strongroom.portal.membership import organisations
from strongroom.portal.membership.organisations import MAX_OWNED, Role, TooManyOrganisations
from strongroom.portal.refusals import Absent
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.runtime.clock import DAY
from strongroom.runtime.ids import new_row_id, to_text
from strongroom.services import audit
from strongroom.services.audit import Action
from strongroom.storage import Transaction

# What `isprintable` lets pass though nothing is seen of it: fillers, joiners, selectors, the blank of Braille.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


async def provider_of(visit: Visit) -> ProviderRecord:
    """The provider of the path, which the visitor belongs to; `Absent` once it is closed."""
    provider_id = visit.organisation.provider_id
    found = await visit.portal.access.read(lambda tx: providers.read(tx, provider_id))
    if found is None or found.closed_at is not None:
        raise Absent
    return found


def name_error(name: str) -> str | None:
    """What is wrong with a name that people gave to something, if anything."""
    if not name:
        return "Enter a name."
    if len(name) > MAX_NAME:
        return f"Use at most {MAX_NAME} characters."
    # Nor what turns the direction of writing: a name stands in mail and in the audit.
    if not name.isprintable() or _UNSEEN.search(name):
        return "Use characters that can be seen."
    return None


def organisation_name_error(name: str) -> str | None:
    """The same for the name of an organisation, which the sandbox has to be able to take at any time."""
    return "This name is taken." if name == sandbox.NAME else name_error(name)


async def own_providers(visit: Visit) -> list[tuple[ProviderRecord, Role]]:
    """The visitor's organisations by name; one whose making was interrupted is left out."""
    portal, developer_id = visit.portal, visit.who.developer_id
    roles = {
        one.provider_id: one.role for one in await portal.store.read(lambda tx: organisations.list_of(tx, developer_id))
    }
    found = await portal.access.read(lambda tx: providers.in_force(tx, roles))
    return sorted(((found[row], roles[row]) for row in found), key=lambda one: one[0].name.casefold())


async def show_new(visit: Visit) -> Response:
    return visit.page("organisation/new.html", product=visit.portal.products.find(visit.query("for")))


async def create(visit: Visit) -> Response:
    """The owner comes first, so that a crash in between leaves no name taken by nobody."""
    portal, now, developer_id = visit.portal, visit.now, visit.who.developer_id
    name = visit.form.text("name")
    provider_id = new_row_id(now)
    product = portal.products.find(visit.form.text("for"))
    error = organisation_name_error(name)

    async def make(tx: Transaction) -> None:
        await providers.create(tx, name, now, provider_id=provider_id)
        await audit.record(tx, provider_id, Action.organisation_created, now, actor_id=developer_id, detail=name)

    if error is None:
        try:
            await portal.store.write(lambda tx: organisations.found(tx, provider_id, developer_id, now))
            await portal.access.write(make)
        except TooManyOrganisations:
            error = f"You own {MAX_OWNED} organisations already."
        except providers.NameTaken:
            await portal.store.write(lambda tx: organisations.undo_founding(tx, provider_id, developer_id))
            error = "This name is taken."
    if error is not None:
        return visit.page("organisation/new.html", errors={"name": error}, product=product)
    path = f"/organisations/{to_text(provider_id)}"
    if product is not None:  # whoever had chosen one goes on with it
        path = f"{path}/subscribe/{product.id}"
    return visit.redirect(path, "organisation_created")


async def show(visit: Visit) -> Response:
    provider = await provider_of(visit)
    records = await visit.portal.access.read(lambda tx: subscriptions.list_of(tx, provider.id))
    since = visit.now - 30 * DAY
    calls = await visit.portal.access.read(lambda tx: usage.calls_of(tx, provider.id, DAY, since))
    api_keys = await visit.portal.access.read(lambda tx: providers.keys_of(tx, provider.id))
    return visit.page(
        "organisation/overview.html",
        provider=provider,
        subscriptions=sorted(records, key=lambda record: (record.state == "cancelled", record.created_at)),
        products=visit.portal.products,
        calls=calls,
        api_keys=api_keys,
    )


PAGES = (
    Page("GET", "/organisations/new", Needs.signed_in, show_new),
    Page("POST", "/organisations/new", Needs.signed_in, create),
    Page("GET", "/organisations/{organisation}", Needs.member, show),
)
