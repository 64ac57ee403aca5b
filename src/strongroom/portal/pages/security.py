"""The security page of an account: password, second factors, sessions, and recent events."""

from typing import Any

from starlette.responses import Response

from strongroom.portal.accounts import ceremonies, developers, passkeys, passwords, second_factor, sessions
from strongroom.portal.accounts.developers import Developer
from strongroom.portal.membership.activity import sentence_of
from strongroom.portal.messaging import messages
from strongroom.portal.pages.account import WRONG_PASSWORD, current_developer
from strongroom.portal.refusals import Absent
from strongroom.portal.web import signing_in
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.runtime.clock import SECOND
from strongroom.runtime.ids import from_text
from strongroom.services import audit
from strongroom.storage import Transaction

EVENTS_SHOWN = 20


async def show(visit: Visit) -> Response:
    return await _page(visit, {})


async def change_password(visit: Visit) -> Response:
    portal, developer = visit.portal, await current_developer(visit)
    password = visit.form.exact("new_password")
    errors = {}
    fault = passwords.fault(password, developer.email)
    if fault is not None:
        errors["new_password"] = fault
    elif not await signing_in.password_is_right(visit, developer, visit.form.exact("password")):
        errors["password"] = WRONG_PASSWORD
    if errors:
        return await _page(visit, errors)
    password_hash = await portal.passwords.hash(password)

    async def work(tx: Transaction) -> str:
        await signing_in.require_unchanged(tx, developer)
        await developers.set_password(tx, developer.id, password_hash, visit.now)
        await signing_in.after_new_password(tx, developer.id)
        await send_notice(visit, tx, developer, "The password of your account was changed.")
        return await signing_in.open_session(visit, tx, developer.id, "full")

    signing_in.remember(visit, await visit.write(work))
    return visit.redirect("/account/security", "password_changed")


async def end_session(visit: Visit) -> Response:
    session_id = from_text(visit.form.text("session"))
    developer_id = visit.who.developer_id
    if session_id is None or not await visit.write(lambda tx: sessions.end_one(tx, developer_id, session_id)):
        raise Absent
    return visit.redirect("/account/security", "session_ended")


async def end_other_sessions(visit: Visit) -> Response:
    session = visit.who
    await visit.write(lambda tx: sessions.end_all(tx, session.developer_id, but=session.id))
    return visit.redirect("/account/security", "sessions_ended")


async def send_notice(visit: Visit, tx: Transaction, developer: Developer, what: str) -> None:
    """Mail about a change to the account, in the transaction of the change."""
    message = messages.security_notice(developer.email, what, visit.portal.url("/account/security"))
    await visit.portal.mail.enqueue(tx, message, visit.now)


async def _page(visit: Visit, errors: dict[str, str]) -> Response:
    idle = visit.portal.settings.portal_session_idle * SECOND

    async def look(tx: Transaction) -> dict[str, Any]:
        developer = await developers.read(tx, visit.who.developer_id)
        if developer is None:
            raise Absent
        return {
            "developer": developer,
            "passkeys": await passkeys.list_of(tx, developer.id),
            "codes_left": await second_factor.recovery_codes_left(tx, developer.id),
            "sessions": await sessions.list_of(tx, developer.id, visit.now, idle),
            "events": [(sentence_of(one)[0], one.at) for one in await audit.list_of(tx, developer.id, EVENTS_SHOWN)],
        }

    found = await visit.read(look)
    return visit.page(
        "security.html",
        errors=errors,
        passkeys_work=ceremonies.site(visit.portal.base_url) is not None,
        **found,
    )


PAGES = (
    Page("GET", "/account/security", Needs.signed_in, show),
    Page("POST", "/account/password", Needs.signed_in, change_password),
    Page("POST", "/account/sessions/end", Needs.signed_in, end_session),
    Page("POST", "/account/sessions/end-others", Needs.signed_in, end_other_sessions),
)
