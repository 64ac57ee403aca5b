"""Sign in with a password, sign out."""

from urllib.parse import urlencode

from starlette.responses import Response

from strongroom.portal import limits
from strongroom.portal.accounts import ceremonies, developers, sessions
from strongroom.portal.accounts.emails import canonical_email
from strongroom.portal.web import signing_in
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.storage import Transaction

WRONG = {"": "The e-mail address or the password is not right."}


async def show(visit: Visit) -> Response:
    if visit.signed_in is not None:
        return visit.redirect(signing_in.safe_next(visit.query("next")))
    return _form(visit, visit.query("next"))


async def sign_in(visit: Visit) -> Response:
    """Continue with the second factor where there is one. An unknown address has the same cost and the same answer."""
    portal, password = visit.portal, visit.form.exact("password")
    onward = visit.form.text("next")
    email = canonical_email(visit.form.text("email")) or ""
    await visit.write(lambda tx: _count(visit, tx, email))
    developer = await visit.read(lambda tx: developers.find(tx, email)) if email else None
    right = await portal.passwords.verify(password, developer.password_hash if developer is not None else None)
    if developer is None or not right:
        return _form(visit, onward, WRONG)
    fresh_hash = await portal.passwords.hash(password) if portal.passwords.is_stale(developer.password_hash) else None

    async def work(tx: Transaction) -> tuple[sessions.Stage, str] | None:
        await developers.lock(tx, developer.id)
        current = await developers.read(tx, developer.id)
        # The password that was verified must still be the current one: a reset may have happened meanwhile.
        if current is None or current.password_changed_at != developer.password_changed_at:
            return None
        await limits.forget(tx, portal.secret, limits.SIGN_IN_AS_FROM, _account_and_network(visit, email))
        await limits.remember_network(tx, portal.secret, email, visit.network, visit.now)
        if fresh_hash is not None:
            await developers.replace_hash(tx, developer.id, developer.password_hash, fresh_hash)
        stage: sessions.Stage = "password" if await signing_in.has_second_factor(tx, developer.id) else "full"
        return stage, await signing_in.open_session(visit, tx, developer.id, stage)

    opened = await visit.write(work)
    if opened is None:
        return _form(visit, onward, WRONG)
    stage, token = opened
    signing_in.remember(visit, token)
    onward = signing_in.safe_next(onward)
    if stage == "password":
        return visit.redirect(f"/sign-in/second-factor?{urlencode({'next': onward})}")
    return visit.redirect(onward)


async def sign_out(visit: Visit) -> Response:
    token = visit.token
    if token is not None:
        await visit.write(lambda tx: sessions.end(tx, token))
    signing_in.forget(visit)
    return visit.redirect("/sign-in", "signed_out")


def _form(visit: Visit, onward: str, errors: dict[str, str] | None = None) -> Response:
    return visit.page(
        "sign_in.html",
        errors=errors,
        next=signing_in.safe_next(onward),
        passkeys=ceremonies.site(visit.portal.base_url) is not None,
    )


async def _count(visit: Visit, tx: Transaction, email: str) -> None:
    secret = visit.portal.secret
    await limits.count(tx, secret, limits.SIGN_IN_FROM, visit.network, visit.now)
    await limits.count(tx, secret, limits.SIGN_IN_AS_FROM, _account_and_network(visit, email), visit.now)
    # An attacker who guesses all day would otherwise lock the owner out.
    if not await limits.is_known_network(tx, secret, email, visit.network, visit.now):
        await limits.count(tx, secret, limits.SIGN_IN_AS, email, visit.now)


def _account_and_network(visit: Visit, email: str) -> str:
    return f"{email}\x00{visit.network}"


PAGES = (
    Page("GET", "/sign-in", Needs.anybody, show),
    Page("POST", "/sign-in", Needs.anybody, sign_in, because="address and password are what it asks for"),
    Page("POST", "/sign-out", Needs.anybody, sign_out, because="without a session there is nothing to end"),
)
