"""The settings of an organisation, for owners: renaming and closing it."""

from starlette.responses import Response

from strongroom.access.closing import InUse
from strongroom.access.providers import NameTaken
from strongroom.portal import limits
from strongroom.portal.membership import closing, organisations
from strongroom.portal.pages.account import WRONG_PASSWORD, current_developer
from strongroom.portal.pages.organisation import organisation_name_error, provider_of
from strongroom.portal.rendering import ago
from strongroom.portal.web import signing_in
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.storage import Transaction


async def show(visit: Visit) -> Response:
    return await _page(visit, {})


async def rename(visit: Visit) -> Response:
    provider, name = await provider_of(visit), visit.form.text("name")
    now, actor = visit.now, visit.who.developer_id
    error = organisation_name_error(name)
    if error is None:
        try:
            done = await visit.write(lambda tx: closing.rename(tx, provider, name, actor, now))
        except NameTaken:
            error = "This name is taken."
    if error is not None:
        return await _page(visit, {"name": error})
    path = f"/organisations/{visit.path('organisation')}/settings"
    return visit.redirect(path, "renamed" if done else "nothing_changed")


async def close(visit: Visit) -> Response:
    """For good, so the name has to be typed and the password given: a mistake or a stolen session is not enough."""
    provider, developer = await provider_of(visit), await current_developer(visit)
    now, errors = visit.now, {}
    if visit.form.text("confirmation") != provider.name:
        errors["confirmation"] = "This is not the name of the organisation."
    elif not await signing_in.password_is_right(visit, developer, visit.form.exact("password")):
        errors["password"] = WRONG_PASSWORD

    async def work(tx: Transaction) -> bool:
        # While a password is verified, it can be reset and its owner can be removed.
        await signing_in.require_unchanged(tx, developer)
        await organisations.require_owner(tx, provider.id, developer.id)
        await limits.count(tx, visit.portal.secret, limits.CLOSINGS, developer.id.hex(), now)
        return await closing.close(tx, visit.portal, provider, developer.id, now)

    if not errors:
        try:
            done = await visit.write(work)
        except InUse as error:
            errors[""] = (
                f"A key was used {ago(error.at, now)}, so it is still needed. Cancel the subscription "
                "first, or wait until its keys were not used for a day."
            )
        else:
            return visit.redirect("/", "organisation_closed" if done else "nothing_changed")
    return await _page(visit, errors)


async def _page(visit: Visit, errors: dict[str, str]) -> Response:
    provider = await provider_of(visit)
    return visit.page("organisation/settings.html", errors=errors, provider=provider)


_SETTINGS = "/organisations/{organisation}/settings"

PAGES = (
    Page("GET", _SETTINGS, Needs.owner, show),
    Page("POST", f"{_SETTINGS}/name", Needs.owner, rename),
    Page("POST", f"{_SETTINGS}/close", Needs.owner, close),
)
