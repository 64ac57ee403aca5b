"""The users of a provider, as metadata only: how many, since when, last seen, suspended."""

from starlette.responses import Response

from strongroom.portal.pages.organisation import provider_of
from strongroom.portal.refusals import Absent
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.runtime.ids import from_text, to_text
from strongroom.services import audit
from strongroom.services.audit import Action
from strongroom.services.user_metadata import UserMetadata
from strongroom.storage import Transaction

PAGE_SIZE = 50
# The acts in the audit: requested, done, not possible.
_ACTS = {
    "suspend": (Action.user_suspend_asked, Action.user_suspended, Action.user_suspend_not_possible),
    "resume": (Action.user_resume_asked, Action.user_resumed, Action.user_resume_not_possible),
}


async def show(visit: Visit) -> Response:
    return await _page(visit, None)


async def find(visit: Visit) -> Response:
    """By username, which is sent in a form and is never part of a URL."""
    provider_id, username = visit.organisation.provider_id, visit.form.exact("username")
    directory = visit.portal.directories.get("keystore")
    if directory is None:
        raise Absent
    found = await directory.find(provider_id, username)
    if found is None:
        return await _page(visit, None, {"username": "There is no user of this name."})
    return await _page(visit, found)


async def change(visit: Visit) -> Response:
    portal, provider_id, now = visit.portal, visit.organisation.provider_id, visit.now
    area, act, user_id = visit.path("area"), visit.path("act"), from_text(visit.path("user"))
    directory = portal.directories.get(area)
    if directory is None or act not in _ACTS or user_id is None:
        raise Absent
    path, actor = f"/organisations/{visit.path('organisation')}/users", visit.who.developer_id

    async def note(tx: Transaction, action: Action) -> None:
        await audit.record(tx, provider_id, action, now, actor_id=actor, object_id=user_id, detail=area)

    if await directory.read(provider_id, user_id) is None:
        return visit.redirect(path, "nothing_changed")
    if act == "suspend" and not visit.is_confirmed:
        text = f"Every session of {to_text(user_id)} ends, and logging in is refused until you resume the user."
        return visit.ask("Suspend the user?", text, "Suspend", path)

    # The user is in another database than the audit, so no transaction holds both. The request is recorded in the audit
    # first: without that line nothing happens, and it stays if a later step fails.
    asked, succeeded, failed = _ACTS[act]
    await visit.write(lambda tx: note(tx, asked))
    done = await (directory.suspend if act == "suspend" else directory.resume)(provider_id, user_id)
    # In any case, also where the visitor was removed meanwhile.
    await portal.store.write(lambda tx: note(tx, succeeded if done else failed))
    return visit.redirect(path, succeeded if done else "nothing_changed")


async def _page(visit: Visit, found: UserMetadata | None, errors: dict[str, str] | None = None) -> Response:
    provider = await provider_of(visit)
    areas = []
    for area, directory in visit.portal.directories.items():
        after = from_text(visit.query(f"{area}_after")) or b""
        some = await directory.some(provider.id, after, PAGE_SIZE)
        more = some[-1].id if len(some) == PAGE_SIZE else None
        areas.append((area, await directory.totals(provider.id), some, more))
    return visit.page(
        "organisation/users.html",
        errors=errors,
        provider=provider,
        areas=areas,
        found=found,
    )


_USERS = "/organisations/{organisation}/users"

PAGES = (
    Page("GET", _USERS, Needs.member, show),
    Page("POST", f"{_USERS}/find", Needs.owner, find),
    Page("POST", f"{_USERS}/{{area}}/{{user}}/{{act}}", Needs.owner, change),
)
