"""Signing in: what sign-in by password, second factor and reset share."""

from strongroom.portal import limits
from strongroom.portal.accounts import developers, links, passkeys, sessions
from strongroom.portal.accounts.developers import Developer
from strongroom.portal.web import cookies
from strongroom.portal.web.forms import BadForm
from strongroom.portal.web.page import Visit
from strongroom.runtime.clock import SECOND
from strongroom.storage import Transaction


async def has_second_factor(tx: Transaction, developer_id: bytes) -> bool:
    developer = await developers.read(tx, developer_id)
    return developer is not None and (developer.totp_key is not None or bool(await passkeys.list_of(tx, developer_id)))


async def open_session(visit: Visit, tx: Transaction, developer_id: bytes, stage: sessions.Stage) -> str:
    """A new session's token. The browser's previous session ends, against session fixation."""
    if visit.token is not None:
        await sessions.end(tx, visit.token)
    lifetime = visit.portal.settings.portal_session_lifetime * SECOND
    agent = visit.request.headers.get("user-agent", "")
    return await sessions.create(tx, developer_id, stage, visit.now, lifetime, agent)


def remember(visit: Visit, token: str) -> None:
    """Set the session cookie. It lasts as long as the browser runs; the session expires before that."""
    visit.set_cookie(cookies.Cookie(cookies.SESSION, token))
    visit.set_cookie(cookies.expired(cookies.FORM))


def forget(visit: Visit) -> None:
    visit.set_cookie(cookies.expired(cookies.SESSION))


def safe_next(path: str) -> str:
    """A page of this portal to continue with, or the first one: never another site (open redirect)."""
    plain = path.isascii() and path.isprintable() and not set(path) & set("\\?#%")
    return path if plain and path.startswith("/") and not path.startswith("//") and len(path) < 200 else "/"


async def password_is_right(visit: Visit, developer: Developer, password: str) -> bool:
    """Ask for the password again within a session, before an act that a stolen session must not do; `TooMany`."""
    portal, key = visit.portal, developer.id.hex()
    await visit.count(limits.CONFIRM_PASSWORD, key)
    if not await portal.passwords.verify(password, developer.password_hash):
        return False
    await visit.write(lambda tx: limits.forget(tx, portal.secret, limits.CONFIRM_PASSWORD, key))
    return True


async def require_unchanged(tx: Transaction, developer: Developer) -> None:
    """`BadForm` where the password that was verified is not the password any more.

    Verifying takes a while: a reset in that time has to win over a sign-in with the old password.
    """
    current = await developers.read(tx, developer.id)
    if current is None or current.password_changed_at != developer.password_changed_at:
        raise BadForm


async def before_first_factor(visit: Visit, tx: Transaction) -> None:
    """End the other sessions when the first second factor is turned on: they were opened with a password alone."""
    developer_id = visit.who.developer_id
    await developers.lock(tx, developer_id)
    if not await has_second_factor(tx, developer_id):
        await sessions.end_all(tx, developer_id, but=visit.who.id)


async def after_new_password(tx: Transaction, developer_id: bytes, *, but: bytes | None = None) -> None:
    """End the sessions that the old password opened, and every unused link."""
    await sessions.end_all(tx, developer_id, but=but)
    await links.forget_all(tx, developer_id)
