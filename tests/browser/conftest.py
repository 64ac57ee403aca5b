"""A real Chromium for the tests of this folder: `make browser` runs them, plain pytest leaves them out."""

import os
import queue
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any, ClassVar

import pytest
from aiosmtpd.controller import Controller
from playwright.sync_api import Page, expect
from tests.browser.chromium import browser, chromium, context, page
from tests.browser.processes import PATIENCE, free_port, serving

from strongroom import Strongroom

__all__ = ["browser", "context", "page"]

# Beside the product that ships, one that an operator has to approve.
PRODUCTS = """
[[product]]
id = "sandbox"
name = "Sandbox"
description = "The whole service, to try things with."
quota = 10000
rate = 60
approval = false
terms = "For trials."

[[product]]
id = "production"
name = "Production"
description = "For your users."
approval = true
lifetime_days = 365
"""


@dataclass
class Mailbox:
    """The messages that a real SMTP server received."""

    port: int
    _arrived: "queue.Queue[EmailMessage]" = field(default_factory=queue.Queue, repr=False)

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802 - aiosmtpd calls it so
        mail = message_from_bytes(envelope.content, policy=policy.default)
        assert isinstance(mail, EmailMessage)
        self._arrived.put(mail)
        return "250 kept"

    def next(self, address: str) -> EmailMessage:
        """The next message to this address; others are dropped. Fails after a while without one."""
        while True:
            mail = self._arrived.get(timeout=PATIENCE)
            if mail["To"] == address:
                return mail


@dataclass
class Portal:
    """`strongroom serve --sandbox` as a process that sends its mail to `mailbox`, reached by name, as passkeys need."""

    address: str
    base_url: str
    """Of the API."""
    subscription_key: str = field(repr=False)
    inactive_subscription_key: str = field(repr=False)
    provider_api_key: str = field(repr=False)
    mailbox: Mailbox
    data: Path
    password: ClassVar[str] = "plain words for a portal"
    """Of every developer here."""

    def url(self, path: str) -> str:
        return f"{self.address}/portal{path}"

    def link(self, email: str, page: str = "/") -> str:
        """The next link to a page of this kind in the messages to this address; it stands in both of their forms."""
        while True:
            mail = self.mailbox.next(email)
            text, html = mail.get_body(("plain",)), mail.get_body(("html",))
            assert text is not None
            assert html is not None
            found = re.search(rf"{re.escape(self.url(page))}\S+", text.get_content())
            if found is not None:
                assert found[0] in html.get_content()
                return found[0]

    def sign_up(self, page: Page, email: str) -> None:
        """A developer with a confirmed account, signed in: by the pages and the mail alone."""
        page.goto(self.url("/"))
        page.get_by_role("link", name="Sign up").first.click()
        page.get_by_label("E-mail address").fill(email)
        page.get_by_label("Your name").fill("Ada")
        page.get_by_label("Password").fill(self.password)
        page.get_by_role("main").get_by_role("button", name="Sign up").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("mail")
        page.goto(self.link(email, "/confirm/"))
        page.get_by_label("Password").fill(self.password)
        page.get_by_role("button", name="Confirm the account").click()
        expect(page.get_by_role("button", name="Sign out")).to_be_visible()

    def add_passkey(self, page: Page) -> None:
        """A second step for the developer who is signed in, on a virtual authenticator of this browser."""
        device = page.context.new_cdp_session(page)
        device.send("WebAuthn.enable")
        options = {
            "protocol": "ctap2",
            "transport": "internal",
            "hasResidentKey": True,
            "hasUserVerification": True,
            "isUserVerified": True,
            "automaticPresenceSimulation": True,
        }
        device.send("WebAuthn.addVirtualAuthenticator", {"options": options})
        page.goto(self.url("/account/passkeys"))
        page.get_by_label("Name of the passkey").fill("laptop")
        page.get_by_label("Your password").fill(self.password)
        page.get_by_role("main").get_by_role("button", name="Add the passkey", exact=True).click()
        expect(page).not_to_have_url(self.url("/account/passkeys"))

    def client(self) -> Strongroom:
        """The Python client with the sandbox's keys."""
        return Strongroom(self.base_url, subscription_key=self.subscription_key, provider_api_key=self.provider_api_key)


@pytest.fixture(scope="session")
def mailbox() -> Iterator[Mailbox]:
    made = Mailbox(free_port())
    controller = Controller(made, hostname="127.0.0.1", port=made.port)
    controller.start()
    yield made
    controller.stop()


@pytest.fixture(scope="session")
def operators() -> list[str]:
    """Addresses of operators; each test that needs one takes one away."""
    return [f"operator-{number}@vault.example" for number in range(4)]


@pytest.fixture
def operator(operators: list[str], portal: Portal) -> str:
    """The address of an operator who has no account yet."""
    return operators.pop()


@pytest.fixture
def email() -> str:
    """An address without an account."""
    return f"ada-{secrets.token_hex(4)}@developer.example"


def _portal(address: str, keys: dict[str, str], mailbox: Mailbox, folder: Path) -> Portal:
    return Portal(
        address,
        keys["base_url"],
        keys["subscription_key"],
        keys["inactive_subscription_key"],
        keys["provider_api_key"],
        mailbox,
        folder / "data",
    )


@pytest.fixture(scope="session")
def portal(tmp_path_factory: pytest.TempPathFactory, mailbox: Mailbox, operators: list[str]) -> Iterator[Portal]:
    port, folder = free_port(), tmp_path_factory.mktemp("portal")
    (folder / "products.toml").write_text(PRODUCTS)
    settings = {
        "port": str(port),
        "public_url": f"http://localhost:{port}",
        "smtp_url": f"smtp://127.0.0.1:{mailbox.port}",
        "operators": ",".join(operators),
        "products": str(folder / "products.toml"),
    }
    with serving(folder, **settings) as keys:
        yield _portal(keys["base_url"], keys, mailbox, folder)


@pytest.fixture
def portal_apart(tmp_path: Path, mailbox: Mailbox) -> Iterator[Portal]:
    """The portal in one process and the areas in another, of different origins."""
    ports = free_port(), free_port()
    address, api_url = (f"http://localhost:{port}" for port in ports)
    api = {"port": str(ports[1]), "public_url": api_url, "areas": "keystore,vault", "cors_origins": address}
    own = {"port": str(ports[0]), "public_url": address, "areas": "portal", "api_url": api_url}
    with serving(tmp_path, **api) as keys, serving(tmp_path, **own):
        yield _portal(address, keys, mailbox, tmp_path)


@pytest.fixture
def portal_with_outbox(tmp_path: Path, mailbox: Mailbox) -> Iterator[Portal]:
    """A portal in development: its mail stays on this machine."""
    port = free_port()
    with serving(tmp_path, port=str(port), public_url=f"http://localhost:{port}") as keys:
        yield _portal(keys["base_url"], keys, mailbox, tmp_path)


def pytest_configure() -> None:
    if chromium() is not None:
        return
    if os.environ.get("STRONGROOM_REQUIRE_BROWSER") == "1":
        pytest.exit("FAILED: STRONGROOM_REQUIRE_BROWSER=1, and no Chromium is installed", returncode=1)
    pytest.exit("SKIPPED: the browser tests need Chromium, and none is installed", returncode=0)
