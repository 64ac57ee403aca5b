"""Reset a forgotten password by a link in the mail."""

from starlette.responses import Response

from strongroom.portal import limits
from strongroom.portal.accounts import developers, links, passwords
from strongroom.portal.accounts.emails import WRONG_EMAIL, canonical_email
from strongroom.portal.messaging import messages
from strongroom.portal.web import signing_in
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.storage import Transaction


async def show(visit: Visit) -> Response:
    if not visit.portal.mail.is_set_up:
        return visit.page("refused.html", status=503, reason="mail")
    return visit.page("reset.html")


async def ask(visit: Visit) -> Response:
    """The same answer whether or not the address has an account: only the mail says it."""
    portal = visit.portal
    if not portal.mail.is_set_up:
        return visit.page("refused.html", status=503, reason="mail")
    email = canonical_email(visit.form.text("email"))
    if email is None:
        errors = {"email": WRONG_EMAIL}
        return visit.page("reset.html", errors=errors)
    await visit.count(limits.MAIL_FROM, visit.network)

    async def work(tx: Transaction) -> None:
        await limits.count_mail(tx, portal.secret, "reset", email, visit.network, visit.now)
        developer = await developers.find(tx, email)
        if developer is None:
            message = messages.no_account(email, portal.url("/sign-up"))
        else:
            link = await links.issue(tx, "reset", developer.id, email, visit.now)
            message = messages.reset(email, portal.url(f"/reset/{link}"))
        await portal.mail.enqueue(tx, message, visit.now)

    await portal.mail.write_unless_flooded(work)
    return visit.redirect("/reset/sent")


async def sent(visit: Visit) -> Response:
    return visit.page("mail_sent.html", what="reset", outbox=visit.portal.keeps_mail)


async def show_new(visit: Visit) -> Response:
    link = visit.path("link")
    found = await visit.read(lambda tx: links.find(tx, "reset", link, visit.now))
    if found is None:
        return visit.page("link_over.html", status=404, what="reset")
    return visit.page("new_password.html", email=found.email)


async def set_new(visit: Visit) -> Response:
    """A new password, and every session ends. A second factor stays: a mailbox alone is not enough."""
    portal, link, password = visit.portal, visit.path("link"), visit.form.exact("password")
    found = await visit.read(lambda tx: links.find(tx, "reset", link, visit.now))
    if found is None:
        return visit.page("link_over.html", status=404, what="reset")
    fault = passwords.fault(password, found.email)
    if fault is not None:
        return visit.page("new_password.html", email=found.email, errors={"password": fault})
    password_hash = await portal.passwords.hash(password)

    async def work(tx: Transaction) -> bool:
        used = await links.consume(tx, "reset", link, visit.now)
        if used is None:
            return False
        await developers.set_password(tx, used.developer_id, password_hash, visit.now)
        await signing_in.after_new_password(tx, used.developer_id)
        await limits.forget(tx, portal.secret, limits.SIGN_IN_AS, used.email)
        await portal.mail.enqueue(
            tx,
            messages.security_notice(used.email, "The password of your account was reset.", portal.url("/account")),
            visit.now,
        )
        return True

    if not await visit.write(work):
        return visit.page("link_over.html", status=404, what="reset")
    signing_in.forget(visit)
    return visit.redirect("/sign-in", "password_changed")


PAGES = (
    Page("GET", "/reset", Needs.anybody, show),
    Page("POST", "/reset", Needs.anybody, ask, because="a developer who forgot the password cannot sign in"),
    Page("GET", "/reset/sent", Needs.anybody, sent),
    Page("GET", "/reset/{link}", Needs.anybody, show_new),
    Page("POST", "/reset/{link}", Needs.anybody, set_new, because="the link in the mail proves it"),
)
