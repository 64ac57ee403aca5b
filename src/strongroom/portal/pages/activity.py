"""Who did what to the keys and roles of an organisation."""

from starlette.responses import Response

from strongroom.portal import developers
from strongroom.portal.developers import called
from strongroom.portal.page import Needs, Page, Visit
from strongroom.portal.pages.operator import ACTIONS as OPERATOR_ACTIONS
from strongroom.portal.pages.organisation import provider_of
from strongroom.server import audit
from strongroom.server.audit import AuditEvent

SHOWN = 100


async def show(visit: Visit) -> Response:
    """The newest hundred acts: keys are noted in the access database, roles in the portal's own."""
    portal, provider = visit.portal, await provider_of(visit)
    events = [
        *await portal.store.read(lambda tx: audit.list_of(tx, provider.id, SHOWN)),
        *await portal.access.read(lambda tx: audit.list_of(tx, provider.id, SHOWN)),
    ]
    events.sort(key=lambda event: (event.at, event.id), reverse=True)
    newest = events[:SHOWN]
    people: dict[bytes, str] = {}
    for developer_id in {event.actor_id for event in newest if event.actor_id and event.action not in OPERATOR_ACTIONS}:
        found = await portal.store.read(lambda tx, row=developer_id: developers.read(tx, row))  # type: ignore[misc]  # bound early
        people[developer_id] = "somebody whose account is gone" if found is None else called(found.name, found.email)
    return visit.page(
        "organisation/activity.html", provider=provider, events=[(event, _actor(event, people)) for event in newest]
    )


def _actor(event: AuditEvent, people: dict[bytes, str]) -> str:
    # Who operates the service is no business of the organisation. Told by the act, which nobody else can do: the detail
    # may be a name that a member chose.
    if event.actor_id is None or event.action in OPERATOR_ACTIONS:
        return "the operator"
    return people[event.actor_id]


PAGES = (Page("GET", "/organisations/{organisation}/activity", Needs.member, show),)
