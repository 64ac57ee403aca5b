"""Two complete organisations and every kind of caller of their pages, to be called repeatedly."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import httpx
from tests.portal.furnished import (
    OPERATOR,
    PASSWORD,
    UUID,
    Organisation,
    Rows,
    differences,
    furnish,
    operator,
    restore,
    rows,
    token_of,
)

from strongroom.portal.accounts import sessions
from strongroom.portal.area import PREFIX
from strongroom.portal.web import cookies
from strongroom.portal.web.page import Page
from strongroom.runtime.clock import DAY, wire_time
from strongroom.runtime.ids import to_text
from strongroom.storage import Transaction

if TYPE_CHECKING:
    from tests.portal.conftest import Browser, Site

OWNER, MEMBER, REMOVED, STRANGER = (f"{name}@example.com" for name in ("olga", "max", "rex", "eve"))
ANONYMOUS, HALF = "anonymous", "half"


@dataclass
class Caller:
    """A browser as it was when it signed in: answers do not change what it sends."""

    cookies: str = field(repr=False)
    token: str = field(repr=False)
    session: str
    """The id of the session, as the page of sessions names it."""


@dataclass
class World:
    """Two complete organisations, every kind of caller, and the rows to restore."""

    site: "Site"
    http: httpx.AsyncClient
    acme: Organisation
    globex: Organisation
    callers: dict[str, Caller] = field(default_factory=dict)
    rows: Rows = field(default_factory=dict)

    async def call(self, who: str, page: Page, path: str, **fields: str) -> httpx.Response:
        """With a valid form: only the caller may be a wrong one."""
        self.http.cookies.clear()
        caller = self.callers[who]
        headers = {"Cookie": caller.cookies}
        if page.method == "GET":
            return await self.http.get(PREFIX + path, headers=headers)
        data = {**self.fields(), "session": caller.session, **fields, "csrf_token": caller.token}
        return await self.http.post(PREFIX + path, data=data, headers=headers)

    def fields(self) -> dict[str, str]:
        """Fields of all the forms."""
        return {
            "name": "changed",
            "slot": "primary",
            "grace": "none",
            "role": "owner",
            "ends": wire_time(self.site.clock.now() + 30 * DAY)[:10],
            "email": "mallory@example.com",
            "terms": "yes",
            "username": "zoe",
            "password": PASSWORD,
            "confirmation": "Acme",
            "confirmed": "yes",
        }

    async def changed(self) -> set[str]:
        """The tables that changed since the beginning; everything is then as it was."""
        found = differences(self.rows, await rows(self.site))
        await restore(self.site, self.rows)
        return found


async def caller(site: "Site", browser: "Browser") -> Caller:
    held = {cookie.name: cookie.value or "" for cookie in browser.http.cookies.jar}
    token, now = held.get(cookies.SESSION, ""), site.clock.now()
    session = await site.portal.store.read(lambda tx: sessions.find(tx, token, now, DAY))
    sent = "; ".join(f"{name}={value}" for name, value in held.items())
    return Caller(sent, token_of(browser), "" if session is None else to_text(session.id))


async def make_world(site: "Site") -> World:
    acme = await furnish(site, "Acme", OWNER, MEMBER)
    globex = await furnish(site, "Globex", STRANGER, "gus@example.com")
    removed = await site.sign_up(REMOVED)
    await acme.owner.get(f"{acme.base}/people")
    await acme.owner.send(f"{acme.base}/people/invite", email=REMOVED, role="owner")
    link = await site.link(REMOVED, "/invitations/")
    await removed.get(link)
    await removed.send(link)
    assert removed.path == acme.base
    await acme.owner.get(f"{acme.base}/people")
    [remove] = set(re.findall(f"{acme.base}/people/{UUID}/remove", acme.owner.text)) - {
        f"{acme.base}/people/{acme.ids['developer']}/remove"
    }
    await acme.owner.post(remove)
    anonymous, half = site.browser(), await site.sign_up("half@example.com")

    async def halve(tx: Transaction) -> None:
        newest = "SELECT max(created_at) FROM developer_sessions"
        await tx.run(f"UPDATE developer_sessions SET stage = 'password' WHERE created_at = ({newest})")

    await site.portal.store.write(halve)
    chief = await operator(site)
    await anonymous.get("/sign-in")
    await half.get("/sign-in/second-factor")
    for browser in (acme.owner, acme.member, removed, globex.owner, chief):
        await browser.get("/account")
    await site.mails()
    browsers = (anonymous, half, acme.owner, acme.member, removed, globex.owner, chief)
    names = (ANONYMOUS, HALF, OWNER, MEMBER, REMOVED, STRANGER, OPERATOR)
    http = site.browser().http
    http.follow_redirects = False
    callers = {name: await caller(site, browser) for name, browser in zip(names, browsers, strict=True)}
    return World(site, http, acme, globex, callers, await rows(site))
