"""Every page a browser is led to: no violation for axe, no sideways scrolling on a phone, and pictures on request."""

import os
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pyotp
import pytest
from playwright.sync_api import Browser, Page, expect

from strongroom.portal import pages
from strongroom.portal.area import PREFIX

if TYPE_CHECKING:
    from tests.browser.conftest import Portal

AXE = (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
PHONE = {"width": 360, "height": 740}
DESK = {"width": 1200, "height": 800}
LOOKS: tuple[tuple[str, str, dict[str, int]], ...] = (
    ("light", "light", DESK),
    ("dark", "dark", DESK),
    ("phone", "light", PHONE),
    ("phone-dark", "dark", PHONE),
)
# The dark look is another set of colours on the same page: what else axe knows would be said twice.
CHECKS: dict[str, dict[str, Any]] = {"light": {}, "dark": {"runOnly": ["color-contrast"]}}
PATTERNS = {page.path for page in pages.ALL if page.method == "GET" and not page.path.startswith("/static/")}
# What no link and no step of the tour leads to, and why it is looked at elsewhere or not at all.
NOT_TOURED = {
    "": "the same page as /",
    "/outbox": "absent where mail goes over SMTP: a test of its own looks at it",
}


def pattern_of(path: str) -> str | None:
    """The path of the page in the table, without what a query adds; None for anything else."""
    own = path.removeprefix(PREFIX).partition("?")[0].partition("#")[0]
    exact = [known for known in PATTERNS if known == own]
    shaped = [known for known in PATTERNS if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(known)), own)]
    return next(iter(exact + shaped), None)


@dataclass
class Tour:
    """Visits pages, each in every look, and notes what is wrong and which pages of the table were seen."""

    page: Page
    portal: "Portal"
    seen: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)

    def look(self, name: str) -> None:
        """Check the page that is open."""
        pattern = pattern_of(self.page.url.removeprefix(self.portal.base_url))
        if pattern is not None:
            self.seen.add(pattern)
        self.page.evaluate(AXE)
        for look, scheme, size in LOOKS:
            self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # a literal of the table above
            self.page.set_viewport_size(size)  # type: ignore[arg-type]  # a typed dictionary of the same shape
            if look in CHECKS:
                self.wrong += [f"{name}, {look}: {violation}" for violation in self._violations(CHECKS[look])]
            overflow = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
            if overflow > 0:
                self.wrong.append(f"{name}, {look}: {overflow} pixels too wide")
            folder = os.environ.get("STRONGROOM_SCREENSHOTS")
            if folder:
                file = Path(folder) / look / f"{name}.png"
                self.page.screenshot(path=file, full_page=True)

    def _violations(self, options: dict[str, Any]) -> Iterator[str]:
        results: Any = self.page.evaluate("options => axe.run(options)", options)
        for violation in results["violations"]:
            yield f"{violation['id']}: {', '.join(str(node['target']) for node in violation['nodes'])}"

    def visit(self, path: str, name: str) -> None:
        """Go to a path of the portal, or to the whole address of a page of it."""
        self.page.goto(path if path.startswith("http") else self.portal.url(path))
        self.look(name)

    def crawl(self, role: str) -> None:
        """Follow the links from the start page on; one page of each kind is enough."""
        waiting, known = [self.portal.url("/")], set[str]()
        while waiting:
            url = waiting.pop(0)
            pattern = pattern_of(url.removeprefix(self.portal.base_url))
            if pattern is None or pattern in known:
                continue
            known.add(pattern)
            self.page.goto(url)
            self.look(f"{role}{re.sub(r'[^a-z]+', '-', pattern).rstrip('-')}")
            waiting += self.page.evaluate("Array.from(document.links, (link) => link.href)")


def test_patterns_are_told_apart() -> None:
    assert pattern_of(f"{PREFIX}/docs/errors/not_found?x=1#y") == "/docs/errors/{code}"
    assert pattern_of(f"{PREFIX}/docs/errors") == "/docs/errors"
    assert pattern_of("/openapi.json") is None


@pytest.fixture(scope="module")
def tours(browser: Browser, portal: "Portal") -> Iterator[Callable[[], Tour]]:
    contexts = []

    def start() -> Tour:
        context = browser.new_context(reduced_motion="reduce")
        contexts.append(context)
        return Tour(context.new_page(), portal)

    yield start
    for context in contexts:
        context.close()


def press(page: Page, name: str) -> None:
    page.get_by_role("main").get_by_role("button", name=name, exact=True).click()


def visit_second_factors(tour: Tour) -> None:
    """Both of them on, and what they add to the pages of security."""
    page, portal = tour.page, tour.portal
    portal.add_passkey(page)
    tour.look("recovery-codes")
    page.goto(portal.url("/account/totp"))
    key = page.locator("code#key").inner_text()
    page.get_by_label("Code", exact=True).fill(pyotp.TOTP(key.replace(" ", "")).now())
    page.get_by_label("Your password").fill(tour.portal.password)
    press(page, "Turn on")
    tour.visit("/account/security", "security-with-factors")
    tour.visit("/account/totp/off", "totp-off")
    tour.visit("/account/recovery-codes", "new-recovery-codes")
    page.goto(portal.url("/account/security"))
    page.get_by_role("link", name="Remove laptop").click()
    tour.look("passkey-remove")


def visit_change_of_address(tour: Tour) -> None:
    page, portal = tour.page, tour.portal
    address = f"eda-{secrets.token_hex(4)}@developer.example"
    page.goto(portal.url("/account"))
    page.get_by_label("New e-mail address").fill(address)
    page.get_by_label("Your password").fill(tour.portal.password)
    press(page, "Send the link")
    tour.look("change-of-address-sent")
    tour.visit(portal.link(address), "change-of-address")


def sign_in_halfway(tour: Tour, email: str) -> None:
    page = tour.page
    page.goto(tour.portal.url("/sign-in"))
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Password").fill(tour.portal.password)
    press(page, "Sign in")
    tour.look("second-factor")


def sign_up(tour: Tour, email: str) -> None:
    page, portal = tour.page, tour.portal
    page.goto(portal.url("/sign-up"))
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Password").fill("too short")
    press(page, "Sign up")
    tour.look("sign-up-refused")
    page.get_by_label("Password").fill(portal.password)
    press(page, "Sign up")
    tour.look("sign-up-sent")
    link = portal.link(email)
    tour.visit(link, "confirm")
    page.get_by_label("Password").fill(portal.password)
    press(page, "Confirm the account")
    tour.look("confirmed")
    tour.visit(link, "link-over")


def visit_organisation(tour: Tour) -> None:
    """An organisation with subscriptions in several states, keys that are shown once, and a call in the statistics."""
    page, portal = tour.page, tour.portal
    page.goto(portal.url("/organisations/new"))
    press(page, "Create")
    page.get_by_label("Name").fill(f"Ada & {secrets.token_hex(4)}")
    press(page, "Create")
    tour.look("organisation-new")
    home = page.url
    for product, name in (("Sandbox", "phone app"), ("Production", "web shop")):
        page.goto(portal.url("/products"))
        page.get_by_role("link", name=product).first.click()
        page.get_by_role("main").get_by_role("link", name="Subscribe").click()
        page.get_by_label("Name of the subscription").fill(name)
        if page.get_by_label("I agree to these terms").count():
            page.get_by_label("I agree to these terms").check()
        tour.look(f"subscribe-{product.lower()}")
        press(page, "Subscribe")
        tour.look(f"keys-{product.lower()}")
        if product == "Sandbox":
            key = page.locator("#primary-key").inner_text()
            press(page, "Activate the keys")
            tour.look("keys-activated")
            page.get_by_role("link", name="I've saved them").click()
            tour.look("subscription-active")
            for _ in range(3):
                httpx.get(f"{portal.base_url}/keystore/keypairs", headers={"Service-Subscription-Key": key})
    page.goto(f"{home}/api-keys")
    page.get_by_label("Name").fill("backend")
    press(page, "Create the key")
    tour.look("new-api-key")


def visit_invitation(tour: Tour, stranger: Tour) -> None:
    page, portal = tour.page, tour.portal
    page.goto(portal.url("/"))
    page.get_by_role("main").get_by_role("link", name="Ada &").first.click()
    page.get_by_role("link", name="People").click()
    address = f"bob-{secrets.token_hex(4)}@developer.example"
    page.get_by_label("E-mail address").fill(address)
    press(page, "Send the invitation")
    tour.look("people-invited")
    stranger.visit(portal.link(address), "invitation")


def visit_reset(tour: Tour, email: str) -> None:
    page, portal = tour.page, tour.portal
    page.goto(portal.url("/reset"))
    page.get_by_label("E-mail address").fill(email)
    press(page, "Send the link")
    tour.look("reset-sent")
    tour.visit(portal.link(email), "reset-link")


def test_no_page_keeps_anybody_out(tours: Callable[[], Tour], portal: "Portal", email: str, operator: str) -> None:
    stranger, developer, chief = tours(), tours(), tours()
    stranger.crawl("stranger")
    stranger.visit("/nothing-here", "refused")
    sign_up(developer, email)
    developer.crawl("newcomer")
    visit_organisation(developer)
    developer.crawl("developer")
    visit_invitation(developer, stranger)
    visit_second_factors(developer)
    visit_change_of_address(developer)
    visit_reset(stranger, email)
    sign_in_halfway(stranger, email)
    portal.sign_up(chief.page, operator)
    chief.visit("/operator", "operator-without-a-second-step")
    portal.add_passkey(chief.page)
    chief.visit("/operator", "operator")

    tours_made = (stranger, developer, chief)
    assert [wrong for tour in tours_made for wrong in tour.wrong] == []
    assert PATTERNS - {pattern for tour in tours_made for pattern in tour.seen} == set(NOT_TOURED)


def test_the_outbox_of_development_keeps_nobody_out(
    tours: Callable[[], Tour], portal_with_outbox: "Portal", email: str
) -> None:
    tour = tours()
    tour.portal, page = portal_with_outbox, tour.page
    tour.visit("/outbox", "outbox-empty")
    page.goto(tour.portal.url("/sign-up"))
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Password").fill(tour.portal.password)
    press(page, "Sign up")
    expect(page.get_by_role("heading", level=1)).to_have_text("Check your email")
    page.goto(tour.portal.url("/outbox"))
    expect(page.get_by_role("main")).to_contain_text(email)
    tour.look("outbox")
    assert tour.seen == {"/outbox"}
    assert tour.wrong == []


def test_the_tour_sees_what_is_wrong(tours: Callable[[], Tour], portal: "Portal") -> None:
    tour = tours()
    tour.page.goto(portal.url("/inspect"))
    tour.page.evaluate("document.querySelector('label').remove()")
    tour.page.evaluate("document.querySelector('h1').style.width = '2000px'")
    tour.look("planted")
    tour.page.evaluate("document.querySelector('p').style.color = 'canvas'")
    tour.look("planted-without-contrast")
    assert any("label" in wrong for wrong in tour.wrong)
    assert any("planted-without-contrast, dark: color-contrast" in wrong for wrong in tour.wrong)
    assert any("pixels too wide" in wrong for wrong in tour.wrong)
