"""A developer's own account: name, e-mail address, deletion."""

from starlette.responses import Response

from strongroom.portal import limits
from strongroom.portal.accounts import developers, links
from strongroom.portal.accounts.developers import Developer
from strongroom.portal.accounts.emails import WRONG_EMAIL, canonical_email
from strongroom.portal.membership import organisations
from strongroom.portal.messaging import messages
from strongroom.portal.pages.organisation import name_error
from strongroom.portal.refusals import Absent
from strongroom.portal.web import signing_in
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.storage import Transaction

WRONG_PASSWORD = "This is not your password."  # noqa: S105  # what a page says


async def current_developer(visit: Visit) -> Developer:
    """The developer of the visit."""
    found = await visit.read(lambda tx: developers.read(tx, visit.who.developer_id))
    if found is None:
        raise Absent
    return found


async def show(visit: Visit) -> Response:
    return visit.page("account.html", developer=await current_developer(visit))


async def rename(visit: Visit) -> Response:
    name = visit.form.text("name")
    error = name_error(name) if name else None
    if error is not None:
        errors = {"name": error}
        return visit.page("account.html", developer=await current_developer(visit), errors=errors)
    await visit.write(lambda tx: developers.rename(tx, visit.who.developer_id, name))
    return visit.redirect("/account", "name_changed")


async def ask_for_email(visit: Visit) -> Response:
    """A link goes to the new address. Only the mail says whether the address has an account; the page does not."""
    portal, developer = visit.portal, await current_developer(visit)
    email = canonical_email(visit.form.text("email"))
    errors = {}
    if email is None:
        errors["email"] = WRONG_EMAIL
    elif not await signing_in.password_is_right(visit, developer, visit.form.exact("password")):
        errors["password"] = WRONG_PASSWORD
    if errors or email is None:
        return visit.page("account.html", developer=developer, errors=errors)
    await visit.count(limits.MAIL_FROM, visit.network)

    async def work(tx: Transaction) -> None:
        await limits.count_mail(tx, portal.secret, "change_email", email, visit.network, visit.now)
        await signing_in.require_unchanged(tx, developer)
        link = await links.issue(tx, "change_email", developer.id, email, visit.now)
        if await developers.find(tx, email) is not None:
            message = messages.address_wanted(email, portal.url("/account"))
        else:
            message = messages.change_email(email, portal.url(f"/account/email/{link}"))
        await portal.mail.enqueue(tx, message, visit.now)

    await portal.mail.write_unless_flooded(work)
    return visit.redirect("/account", "email_link_sent")


async def show_email(visit: Visit) -> Response:
    link = visit.path("link")
    found = await visit.read(lambda tx: links.find(tx, "change_email", link, visit.now))
    if found is None:
        return visit.page("link_over.html", status=404, what="change_email")
    is_theirs = found.developer_id == visit.who.developer_id
    return visit.page("change_email.html", email=found.email, is_theirs=is_theirs)


async def change_email(visit: Visit) -> Response:
    """The link proves the address; the session, that it is the one who asked. Both addresses are notified.

    Otherwise an attacker who gets the owner of a mailbox to open a link could attach that address to the attacker's
    account.
    """
    portal, link, own_id = visit.portal, visit.path("link"), visit.who.developer_id
    found = await visit.read(lambda tx: links.find(tx, "change_email", link, visit.now))
    if found is not None and found.developer_id != own_id:
        return await show_email(visit)

    async def work(tx: Transaction) -> bool:
        used = await links.consume(tx, "change_email", link, visit.now)
        before = await developers.read(tx, own_id)
        if used is None or before is None or not await developers.set_email(tx, own_id, used.email, visit.now):
            return False
        # An unused reset link in the old mailbox must not open the account any more.
        await links.forget_all(tx, own_id)
        notice = messages.security_notice(
            used.email, "This is the address of your account now.", portal.url("/account")
        )
        for message in (notice, messages.address_left(before.email)):
            await portal.mail.enqueue(tx, message, visit.now)
        return True

    if not await visit.write(work):
        return visit.page("link_over.html", status=404, what="change_email")
    return visit.redirect("/account", "email_changed")


async def delete_unless_needed(tx: Transaction, developer_id: bytes, now: int) -> bool:
    """False, and nothing done, where an organisation would be left without an owner."""
    await developers.lock(tx, developer_id)
    await organisations.lock_roles(tx, developer_id)
    if await organisations.owned_alone(tx, developer_id):
        return False
    await organisations.leave_all(tx, developer_id, now)
    await developers.delete(tx, developer_id, now)
    return True


async def show_delete(visit: Visit) -> Response:
    return await _delete_form(visit, {})


async def delete(visit: Visit) -> Response:
    portal, developer = visit.portal, await current_developer(visit)
    if not await signing_in.password_is_right(visit, developer, visit.form.exact("password")):
        return await _delete_form(visit, {"password": WRONG_PASSWORD})

    async def work(tx: Transaction) -> bool:
        await signing_in.require_unchanged(tx, developer)
        if not await delete_unless_needed(tx, developer.id, visit.now):
            return False
        await portal.mail.enqueue(tx, messages.account_deleted(developer.email), visit.now)
        return True

    if not await visit.write(work):
        return await _delete_form(visit, {})
    signing_in.forget(visit)
    return visit.redirect("/sign-in", "account_deleted")


async def _delete_form(visit: Visit, errors: dict[str, str]) -> Response:
    developer_id = visit.who.developer_id
    alone = await visit.read(lambda tx: organisations.owned_alone(tx, developer_id))
    return visit.page("delete_account.html", errors=errors, owned_alone=alone)


PAGES = (
    Page("GET", "/account", Needs.signed_in, show),
    Page("POST", "/account/name", Needs.signed_in, rename),
    Page("POST", "/account/email", Needs.signed_in, ask_for_email),
    Page("GET", "/account/email/{link}", Needs.signed_in, show_email),
    Page("POST", "/account/email/{link}", Needs.signed_in, change_email),
    Page("GET", "/account/delete", Needs.signed_in, show_delete),
    Page("POST", "/account/delete", Needs.signed_in, delete),
)
