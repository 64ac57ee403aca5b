"""Sign up, and confirm by the link in the mail."""

from starlette.responses import Response

from strongroom.portal import limits
from strongroom.portal.accounts import developers, passwords, sign_ups
from strongroom.portal.accounts.emails import WRONG_EMAIL, canonical_email
from strongroom.portal.accounts.sign_ups import SignUp
from strongroom.portal.messaging import messages
from strongroom.portal.pages.organisation import name_error
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.portal.web.signing_in import open_session, remember
from strongroom.runtime import tokens
from strongroom.storage import Transaction


async def show(visit: Visit) -> Response:
    if not visit.portal.mail.is_set_up:
        return visit.page("refused.html", status=503, reason="mail")
    return visit.page("sign_up.html")


async def sign_up(visit: Visit) -> Response:
    """The same answer, after the same work, whether or not the address has an account: only the mail says it."""
    portal, form = visit.portal, visit.form
    if not portal.mail.is_set_up:
        return visit.page("refused.html", status=503, reason="mail")
    email, password = canonical_email(form.text("email")), form.exact("password")
    errors = _faults(email, form.text("name"), password)
    if errors or email is None:
        return visit.page("sign_up.html", errors=errors)
    await visit.count(limits.MAIL_FROM, visit.network)
    asked = SignUp(email, form.text("name"), await portal.passwords.hash(password))

    async def work(tx: Transaction) -> None:
        await limits.count_mail(tx, portal.secret, "sign_up", email, visit.network, visit.now)
        known = await developers.find(tx, email) is not None
        # Made for known addresses too, so that both cases cost the same; in that case the link is never sent.
        link = await sign_ups.create(tx, asked, visit.now)
        if known:
            message = messages.already_signed_up(email, portal.url("/sign-in"))
        else:
            message = messages.confirm(email, portal.url(f"/confirm/{link}"))
        await portal.mail.enqueue(tx, message, visit.now)

    await portal.mail.write_unless_flooded(work)
    return visit.redirect("/sign-up/sent")


async def sent(visit: Visit) -> Response:
    return visit.page("mail_sent.html", what="confirm", outbox=visit.portal.keeps_mail)


async def show_confirm(visit: Visit) -> Response:
    link = visit.path("link")
    found = await visit.read(lambda tx: sign_ups.find(tx, link, visit.now))
    if found is None:
        return visit.page("link_over.html", status=404, what="confirm")
    return visit.page("confirm.html", email=found.email)


async def confirm(visit: Visit) -> Response:
    """The link proves the address; the password, that it is the same person who signed up with it.

    Otherwise an attacker who gets the owner to open a link would have an account with the attacker's password.
    """
    portal, link = visit.portal, visit.path("link")
    found = await visit.read(lambda tx: sign_ups.find(tx, link, visit.now))
    if found is None:
        return visit.page("link_over.html", status=404, what="confirm")
    key = tokens.digest(link).hex()
    await visit.count(limits.CONFIRM_PASSWORD, key)
    if not await portal.passwords.verify(visit.form.exact("password"), found.password_hash):
        errors = {"password": "This is not the password you chose when you signed up."}
        return visit.page("confirm.html", email=found.email, errors=errors)

    async def work(tx: Transaction) -> str | None:
        developer_id = await sign_ups.confirm(tx, link, visit.now)
        return None if developer_id is None else await open_session(visit, tx, developer_id, "full")

    token = await visit.write(work)
    if token is None:
        return visit.page("link_over.html", status=404, what="confirm")
    remember(visit, token)
    return visit.redirect("/", "confirmed")


def _faults(email: str | None, name: str, password: str) -> dict[str, str]:
    faults = {}
    if email is None:
        faults["email"] = WRONG_EMAIL
    wrong = name_error(name) if name else None
    if wrong is not None:
        faults["name"] = wrong
    fault = passwords.fault(password, email or "")
    if fault is not None:
        faults["password"] = fault
    return faults


PAGES = (
    Page("GET", "/sign-up", Needs.anybody, show),
    Page("POST", "/sign-up", Needs.anybody, sign_up, because="signing up is how one becomes a developer"),
    Page("GET", "/sign-up/sent", Needs.anybody, sent),
    Page("GET", "/confirm/{link}", Needs.anybody, show_confirm),
    Page("POST", "/confirm/{link}", Needs.anybody, confirm, because="the link in the mail and the password prove it"),
)
