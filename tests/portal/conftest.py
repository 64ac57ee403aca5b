"""The portal in process, and a browser's half of a conversation with it: cookies, forms, links, mail."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest

from strongroom.app import Application
from strongroom.portal.area import PREFIX, Portal
from strongroom.server import passphrases
from strongroom.server.clock import MovableClock
from strongroom.server.settings import load

BASE_URL = "http://localhost:8000"
PASSWORD = "plain words for a portal"
EMAIL = "ada@example.com"
OPERATOR = "operator@example.com"


class _Forms(HTMLParser):
    """Every form of a page: its action, and the hidden fields it sends."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append((given.get("action", ""), {}))
        elif tag == "input" and given.get("type") == "hidden" and self.forms:
            self.forms[-1][1][given["name"]] = given.get("value", "")


@dataclass
class Browser:
    """Keeps cookies, follows redirects, and sends forms as they stand on the page it last saw."""

    http: httpx.AsyncClient
    seen: httpx.Response | None = None
    _forms: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    async def get(self, path: str) -> httpx.Response:
        answer = await self.http.get(path if path.startswith(("/portal", "http")) else PREFIX + path)
        return self._keep(answer)

    async def send(self, path: str, headers: dict[str, str] | None = None, /, **fields: str) -> httpx.Response:
        """Fill in and send the form of the page that goes to `path`."""
        hidden = next(hidden for action, hidden in self._forms if action == PREFIX + path)
        return self._keep(await self.http.post(PREFIX + path, data={**hidden, **fields}, headers=headers))

    async def post(self, path: str, **fields: str) -> httpx.Response:
        """Send fields with the CSRF token of the page, to an action that may have no form on it."""
        token = next((hidden["csrf_token"] for _, hidden in self._forms if "csrf_token" in hidden), "")
        return await self.http.post(PREFIX + path, data={"csrf_token": token, **fields})

    @property
    def text(self) -> str:
        assert self.seen is not None
        return self.seen.text

    @property
    def path(self) -> str:
        assert self.seen is not None
        return self.seen.url.path.removeprefix(PREFIX)

    @property
    def is_signed_in(self) -> bool:
        return 'action="/portal/sign-out"' in self.text and 'href="/portal/account"' in self.text

    def _keep(self, answer: httpx.Response) -> httpx.Response:
        self.seen = answer
        parser = _Forms()
        parser.feed(answer.text)
        self._forms = parser.forms
        return answer


@dataclass
class Site:
    """A running portal with its clock and the mail it sent."""

    application: Application
    clock: MovableClock
    outbox: Path
    browsers: list[httpx.AsyncClient] = field(default_factory=list)

    @property
    def portal(self) -> Portal:
        assert self.application.portal is not None
        return self.application.portal

    def browser(self) -> Browser:
        http = httpx.AsyncClient(
            transport=httpx.ASGITransport(self.application), base_url=BASE_URL, follow_redirects=True
        )
        self.browsers.append(http)
        return Browser(http)

    async def mails(self, to: str = EMAIL) -> list[EmailMessage]:
        """What was sent to an address, in order, once nothing waits any more."""
        await self.portal.mail.send_due()
        for _ in range(500):  # the portal's own task may have taken one on
            if await self.portal.store.read(lambda tx: tx.one("SELECT id FROM mails")) is None:
                break
            await asyncio.sleep(0.01)
        files = sorted(self.outbox.glob("*.eml"), key=lambda file: file.stat().st_mtime_ns)
        found = [message_from_bytes(file.read_bytes(), policy=policy.default) for file in files]
        return [mail for mail in found if mail["To"] == to]

    async def link(self, to: str = EMAIL) -> str:
        """The path of the link in the newest message to an address."""
        mail = (await self.mails(to))[-1]
        return link_in(mail)

    async def sign_up(self, email: str = EMAIL, password: str = PASSWORD, name: str = "Ada") -> Browser:
        """A developer with a confirmed account, signed in."""
        browser = self.browser()
        await browser.get("/sign-up")
        await browser.send("/sign-up", email=email, name=name, password=password)
        link = await self.link(email)
        await browser.get(link)
        await browser.send(link, password=password)
        assert browser.is_signed_in, browser.text
        return browser

    async def sign_in(self, email: str = EMAIL, password: str = PASSWORD) -> Browser:
        browser = self.browser()
        await browser.get("/sign-in")
        await browser.send("/sign-in", email=email, password=password)
        return browser


def link_in(mail: EmailMessage) -> str:
    body = mail.get_body(("plain",))
    assert body is not None
    found = re.search(rf"{re.escape(BASE_URL + PREFIX)}(/\S+)", body.get_content())
    assert found, body.get_content()
    return found[1]


@pytest.fixture(name="link_in")
def _link_in() -> Callable[[EmailMessage], str]:
    return link_in


@pytest.fixture
async def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Site]:
    # The cheaper of the two costs: what is tested here is who gets in, not how long a hash takes.
    monkeypatch.setattr(passphrases, "cost_class", lambda field: passphrases.CostClass.derived)
    clock = MovableClock()
    given = {"data": str(tmp_path / "data"), "areas": "portal", "public_url": BASE_URL, "operators": OPERATOR}
    application = Application(load({}, {**given, "access_log": "off"}), clock=clock)
    await application.start(warm=False)
    made = Site(application, clock, tmp_path / "data" / "outbox")
    try:
        yield made
    finally:
        for http in made.browsers:
            await http.aclose()
        await application.close()
