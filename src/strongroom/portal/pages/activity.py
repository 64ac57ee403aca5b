"""Who did what to the keys and roles of an organisation."""

from starlette.responses import Response

from strongroom.portal.membership.activity import Names, names_in_access, names_of_people, told
from strongroom.portal.pages.organisation import provider_of
from strongroom.portal.subscriptions.decisions import ACTIONS as OPERATOR_ACTIONS
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.services import audit
from strongroom.services.audit import AuditEvent

SHOWN = 100


async def show(visit: Visit) -> Response:
    """The newest hundred acts: keys are noted in the access database, roles in the portal's own."""
    portal, provider, now = visit.portal, await provider_of(visit), visit.now
    events = [
        *await portal.store.read(lambda tx: audit.list_of(tx, provider.id, SHOWN)),
        *await portal.access.read(lambda tx: audit.list_of(tx, provider.id, SHOWN)),
    ]
    events.sort(key=lambda event: (event.at, event.id), reverse=True)
    newest = events[:SHOWN]
    people = {event.actor_id for event in newest if event.actor_id and not _is_operators(event)}
    people |= {event.object_id for event in newest if event.object_id and _is_about_a_person(event)}
    names = Names(
        await portal.access.read(lambda tx: names_in_access(tx, provider.id))
        | await portal.store.read(lambda tx: names_of_people(tx, provider.id, people, now))
    )
    return visit.page(
        "organisation/activity.html",
        provider=provider,
        events=[(event, _actor(event, names), names.sentence(event)) for event in newest],
    )


def _is_about_a_person(event: AuditEvent) -> bool:
    return told(event)[1] == "person"


def _is_operators(event: AuditEvent) -> bool:
    # Who operates the service is no business of the organisation. Told by the act, which nobody else can do: the detail
    # may be a name that a member chose.
    return event.actor_id is None or event.action in OPERATOR_ACTIONS


def _actor(event: AuditEvent, names: Names) -> str:
    if event.actor_id is None or _is_operators(event):
        return "The operator"
    return names.person(event.actor_id)


PAGES = (Page("GET", "/organisations/{organisation}/activity", Needs.member, show),)
