"""Who did what to the keys and roles of an organisation."""

from starlette.responses import Response

from strongroom.portal.membership.activity import Names, names, sentence_of
from strongroom.portal.pages.organisation import provider_of
from strongroom.portal.subscriptions.decisions import ACTIONS as OPERATOR_ACTIONS
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.services import audit
from strongroom.services.audit import AuditEvent
from strongroom.storage import Transaction

SHOWN = 100


async def show(visit: Visit) -> Response:
    """The newest hundred acts."""
    provider = await provider_of(visit)

    async def look(tx: Transaction) -> tuple[list[AuditEvent], Names]:
        newest = await audit.list_of(tx, provider.id, SHOWN)
        people = {event.actor_id for event in newest if event.actor_id and not _is_operators(event)}
        people |= {event.object_id for event in newest if event.object_id and _is_about_a_person(event)}
        return newest, await names(tx, provider.id, people, visit.now)

    newest, named = await visit.read(look)
    return visit.page(
        "organisation/activity.html",
        provider=provider,
        events=[(event, _actor(event, named), named.sentence(event)) for event in newest],
    )


def _is_about_a_person(event: AuditEvent) -> bool:
    return sentence_of(event)[1] == "person"


def _is_operators(event: AuditEvent) -> bool:
    # The organisation must not learn who the operator is. Recognised by the act, which only an operator can do: the
    # detail may be a name that a member chose.
    return event.actor_id is None or event.action in OPERATOR_ACTIONS


def _actor(event: AuditEvent, named: Names) -> str:
    if event.actor_id is None or _is_operators(event):
        return "The operator"
    return named.person(event.actor_id)


PAGES = (Page("GET", "/organisations/{organisation}/activity", Needs.member, show),)
