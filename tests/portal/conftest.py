"""The portal in process, and a browser's half of a conversation with it: cookies, forms, links, mail."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pyotp
import pytest

from strongroom.app import Application
from strongroom.portal.area import PREFIX, Portal
from strongroom.portal.messaging.mail import MailQueue, Message
from strongroom.portal.messaging.mailers import OutboxMailer
from strongroom.runtime.clock import MovableClock
from strongroom.runtime.settings import load
from strongroom.services import passphrase_hashing

BASE_URL = "http://localhost:8000"
HTTPS_URL = "https://localhost:8443"
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
        """Send fields with the CSRF token of the page, and yes to what it asks, with or without a form on it."""
        token = next((hidden["csrf_token"] for _, hidden in self._forms if "csrf_token" in hidden), "")
        return await self.http.post(PREFIX + path, data={"csrf_token": token, "confirmed": "yes", **fields})

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
    sent: list[Path] = field(default_factory=list)
    """The files of the outbox in the order they were written: their times are too coarse to tell."""
    browsers: list[httpx.AsyncClient] = field(default_factory=list)

    @property
    def portal(self) -> Portal:
        assert self.application.portal is not None
        return self.application.portal

    def browser(self) -> Browser:
        http = httpx.AsyncClient(
            transport=httpx.ASGITransport(self.application), base_url=self.portal.base_url, follow_redirects=True
        )
        self.browsers.append(http)
        return Browser(http)

    async def mails(self, to: str = EMAIL) -> list[EmailMessage]:
        """What was sent to an address, in order."""
        await self.portal.mail.send_due()
        found = [message_from_bytes(file.read_bytes(), policy=policy.default) for file in self.sent]
        return [mail for mail in found if mail["To"] == to]

    async def link(self, to: str = EMAIL, page: str = "/") -> str:
        """The path of the newest link that an address was sent, of those to pages that begin so."""
        links = [link for mail in await self.mails(to) for link in links_in(mail)]
        return [link for link in links if link.startswith(page)][-1]

    async def sign_up(self, email: str = EMAIL, password: str = PASSWORD, name: str = "Ada") -> Browser:
        """A developer with a confirmed account, signed in."""
        browser = self.browser()
        await browser.get("/sign-up")
        await browser.send("/sign-up", email=email, name=name, password=password)
        link = await self.link(email, "/confirm/")
        await browser.get(link)
        await browser.send(link, password=password)
        assert browser.is_signed_in, browser.text
        return browser

    async def operator(self) -> Browser:
        """The operator, signed in, with authenticator codes turned on."""
        browser = await self.sign_up(OPERATOR)
        await browser.get("/account/totp")
        found = re.search(r'<code id="key"[^>]*>([A-Z2-7 ]+)</code>', browser.text)
        assert found
        code = pyotp.TOTP(found[1].replace(" ", "")).at(self.clock.now() // 1000)
        await browser.send("/account/totp", code=code, password=PASSWORD)
        return browser

    async def sign_in(self, email: str = EMAIL, password: str = PASSWORD) -> Browser:
        browser = self.browser()
        await browser.get("/sign-in")
        await browser.send("/sign-in", email=email, password=password)
        return browser


def links_in(mail: EmailMessage) -> list[str]:
    body = mail.get_body(("plain",))
    assert body is not None
    found: list[str] = re.findall(rf"https?://[^/\s]+{re.escape(PREFIX)}(/\S*)", body.get_content())
    return found


def link_in(mail: EmailMessage) -> str:
    return links_in(mail)[0]


@pytest.fixture(name="link_in")
def _link_in() -> Callable[[EmailMessage], str]:
    return link_in


Running = Callable[..., AbstractAsyncContextManager[Site]]


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Running:
    """Run a portal with these settings."""

    async def idle(queue: MailQueue) -> None:
        await asyncio.Event().wait()

    @asynccontextmanager
    async def run(public_url: str = BASE_URL, areas: str = "portal", **more: str) -> AsyncIterator[Site]:
        given = {"data": str(tmp_path / "data"), "areas": areas, "public_url": public_url, "operators": OPERATOR}
        given |= more
        clock = MovableClock()
        application = Application(load({}, {**given, "access_log": "off"}), clock=clock)
        await application.start(warm=False)
        made = Site(application, clock, tmp_path / "data" / "outbox")
        send = OutboxMailer.send

        async def recorded(mailer: OutboxMailer, message: Message) -> None:
            await send(mailer, message)
            made.sent += set(made.outbox.glob("*.eml")) - set(made.sent)

        monkeypatch.setattr(OutboxMailer, "send", recorded)
        try:
            yield made
        finally:
            for http in made.browsers:
                await http.aclose()
            await application.close()

    # The cheaper of the two costs: what is tested here is who gets in, not how long a hash takes.
    monkeypatch.setattr(passphrase_hashing, "cost_class", lambda field: passphrase_hashing.CostClass.derived)
    # Mail goes out when a test looks for it, and in no other order than that of the acts.
    monkeypatch.setattr(MailQueue, "run", idle)
    return run


@pytest.fixture
async def site(running: Running) -> AsyncIterator[Site]:
    async with running() as made:
        yield made


@pytest.fixture
async def whole_site(running: Running) -> AsyncIterator[Site]:
    """Beside the portal the areas whose users it shows."""
    async with running(areas="keystore,vault,portal") as made:
        yield made


@pytest.fixture
async def https_site(running: Running) -> AsyncIterator[Site]:
    """Reached over TLS."""
    async with running(HTTPS_URL) as made:
        yield made
