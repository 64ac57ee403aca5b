"""Every page and its states: no violation for axe, no sideways scrolling on a phone, and pictures on request."""

import asyncio
import re
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from typing import TYPE_CHECKING

import httpx
import pyotp
import pytest
from playwright.sync_api import Browser, expect
from tests.browser.touring import PATTERNS, TEMPLATES, Seen, Tour, pattern_of

from strongroom import Strongroom
from strongroom.access import usage
from strongroom.portal.area import PREFIX
from strongroom.runtime.clock import DAY, HOUR, SystemClock, wire_time
from strongroom.runtime.ids import from_text
from strongroom.runtime.principals import Subscription
from strongroom.services.usage import UsageCounter
from strongroom.storage.open import open_store

if TYPE_CHECKING:
    from tests.browser.conftest import Portal

PASSPHRASE = "correct horse battery staple"
OF_DOCUMENTATION = re.compile(r"docs/.*|try\.html|inspect\.html|welcome\.html")
OF_ORGANISATIONS = re.compile(r"(organisation|subscription|products)/.*|operator\.html|invitation\.html|sure\.html")
# Where mail goes over SMTP there is none: a test of its own looks at it.
OF_DEVELOPMENT = re.compile(r"outbox\.html")
DOCUMENTATION = re.compile(r"/docs.*|/try|/inspect|/?")
ORGANISATIONS = re.compile(r"/organisations.*|/products.*|/operator|/invitations/.*")
DEVELOPMENT = re.compile(r"/outbox")


def part(names: set[str], pattern: re.Pattern[str]) -> set[str]:
    return {name for name in names if pattern.fullmatch(name)}


def rest(names: set[str], *patterns: re.Pattern[str]) -> set[str]:
    return names.difference(*(part(names, pattern) for pattern in patterns))


Tours = Callable[[], Tour]


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def tours(browser: Browser, portal: "Portal", seen: Seen) -> Iterator[Tours]:
    contexts = []

    def start() -> Tour:
        context = browser.new_context(reduced_motion="reduce")
        context.set_default_timeout(10_000)
        contexts.append(context)
        return Tour(context.new_page(), portal, seen)

    yield start
    for context in contexts:
        context.close()


@pytest.fixture
def other() -> str:
    """The address of a colleague."""
    return f"bob-{secrets.token_hex(4)}@developer.example"


def test_patterns_are_distinguished() -> None:
    assert pattern_of(f"{PREFIX}/docs/errors/not_found?x=1#y") == "/docs/errors/{code}"
    assert pattern_of(f"{PREFIX}/docs/errors") == "/docs/errors"
    assert pattern_of("/openapi.json") is None


def test_the_documentation_is_accessible(tours: Tours, portal: "Portal", seen: Seen) -> None:
    tour = tours()
    tour.crawl("stranger")
    _try_it(tour, portal)
    tour.go("/inspect")
    tour.page.get_by_role("button", name="Key encryption key").click()
    expect(tour.page.locator("#result")).to_contain_text("key encryption key")
    tour.look("inspect-explained", "Envelope inspector")
    assert seen.wrong == []
    assert seen.templates >= part(TEMPLATES, OF_DOCUMENTATION)
    assert seen.patterns >= part(PATTERNS, DOCUMENTATION) - {""}  # the same page as /


def _try_it(tour: Tour, portal: "Portal") -> None:
    page, username = tour.page, f"Ada-{secrets.token_hex(4)}"
    with portal.client() as client:
        client.register(username, PASSPHRASE, iterations=600_000)
    tour.go("/try")
    tour.press("Unlock")
    tour.look("try-refused", "Try it")
    tour.fill(Subscription_key=portal.subscription_key, Username=username, Passphrase=PASSPHRASE)
    tour.press("Unlock")
    expect(page.locator("#progress")).to_contain_text("Unlocked in", timeout=60_000)
    tour.press("Seal")
    expect(page.locator("#opened")).to_contain_text("Nothing was sent")
    tour.look("try-sealed", "Try it")


def test_an_account_is_accessible(tours: Tours, portal: "Portal", email: str, seen: Seen) -> None:
    stranger, developer = tours(), tours()
    stranger.visit("/nothing-here", "refused-absent", "Nothing here")
    _sign_up(developer, portal, email)
    developer.crawl("newcomer", "/docs", "/try", "/inspect")
    _change_address(developer, portal)
    _reset(stranger, portal, email)
    _second_factors(developer, portal)
    _sign_in_halfway(stranger, portal, email)
    stranger.go("/reset")
    stranger.page.get_by_label("E-mail address").fill(email)
    stranger.page.context.clear_cookies()
    stranger.press("Send the link")
    stranger.look("refused-form", "Please try that again")
    ours = rest(TEMPLATES, OF_DOCUMENTATION, OF_ORGANISATIONS, OF_DEVELOPMENT)
    assert seen.wrong == []
    assert ours - seen.templates == set()
    assert rest(PATTERNS, DOCUMENTATION, ORGANISATIONS, DEVELOPMENT) - seen.patterns == set()


def _sign_up(tour: Tour, portal: "Portal", email: str) -> None:
    tour.go("/sign-up")
    tour.page.get_by_label("E-mail address").fill(email)
    tour.page.get_by_label("Password").fill("too short")
    tour.press("Sign up")
    expect(tour.page).to_have_title(re.compile("^Error: Sign up"))
    expect(tour.page.locator("#errors")).to_be_focused()
    tour.look("sign-up-refused", "Sign up")
    tour.page.get_by_label("Password").fill(portal.password)
    tour.press("Sign up")
    tour.look("sign-up-sent", "Check your e-mail")
    link = portal.link(email)
    tour.visit(link, "confirm", "Confirm your account")
    tour.page.get_by_label("Password").fill(portal.password)
    tour.press("Confirm the account")
    tour.look("confirmed", "Overview")
    tour.visit(link, "link-over", "This link has expired")


def _change_address(tour: Tour, portal: "Portal") -> None:
    address = f"eda-{secrets.token_hex(4)}@developer.example"
    tour.go("/account")
    tour.page.get_by_label("New e-mail address").fill(address)
    tour.page.get_by_label("Your password").fill(portal.password)
    tour.press("Send the link")
    tour.look("change-of-address-sent", "Your account")
    tour.visit(portal.link(address), "change-of-address", "Use this address")


def _second_factors(tour: Tour, portal: "Portal") -> None:
    """Both of them on, and what they add to the pages of security; ends at the removal of one."""
    page = tour.page
    portal.add_passkey(page)
    tour.look("first-recovery-codes", "Make recovery codes")
    page.get_by_label("Your password").fill(portal.password)
    tour.press("Make new codes")
    tour.look("recovery-codes", "Your recovery codes")
    tour.visit("/account/totp", "totp", "Set up authenticator codes")
    key = page.locator("code#key").inner_text()
    page.get_by_label("Code", exact=True).fill(pyotp.TOTP(key.replace(" ", "")).now())
    page.get_by_label("Your password").fill(portal.password)
    tour.press("Turn on")
    tour.visit("/account/security", "security-with-factors", "Your account")
    tour.visit("/account/totp/off", "totp-off", "Turn off authenticator codes")
    tour.go("/account/security")
    page.get_by_role("link", name="Remove laptop").click()
    remove = page.url
    tour.visit("/account/recovery-codes", "new-recovery-codes", "New recovery codes")
    tour.visit(remove, "passkey-remove", "Remove the passkey")


def _reset(tour: Tour, portal: "Portal", email: str) -> None:
    tour.visit("/reset", "reset", "Reset the password")
    tour.page.get_by_label("E-mail address").fill(email)
    tour.press("Send the link")
    tour.look("reset-sent", "Check your e-mail")
    tour.visit(portal.link(email), "reset-link", "Choose a new password")


def _sign_in_halfway(tour: Tour, portal: "Portal", email: str) -> None:
    tour.go("/sign-in")
    for password, name in (("not the password", "sign-in-refused"), (portal.password, "second-factor")):
        tour.page.get_by_label("E-mail address").fill(email)
        tour.page.get_by_label("Password").fill(password)
        tour.press("Sign in")
        tour.look(name, "Sign in" if name == "sign-in-refused" else "Two-step sign-in")


def test_an_organisation_is_accessible(
    tours: Tours, portal: "Portal", email: str, other: str, operator: str, seen: Seen
) -> None:
    owner, member, chief = tours(), tours(), tours()
    portal.sign_up(owner.page, email)
    home = _found(owner)
    subscription, key = _subscribe(owner, "Sandbox", "phone app")
    _subscribe(owner, "Production", "web shop")
    provider_key = _api_keys(owner, home)
    _users(owner, portal, home, key, provider_key)
    _keys(owner, portal, subscription, key)
    _people(owner, member, portal, home, other)
    _operate(chief, owner, portal, operator, subscription)
    owner.crawl("developer", "/docs", "/try", "/inspect", "/account", "/sign")
    _end(owner, home, subscription)
    assert seen.wrong == []
    assert part(TEMPLATES, OF_ORGANISATIONS) - seen.templates == set()
    assert part(PATTERNS, ORGANISATIONS) - seen.patterns == set()


def _found(tour: Tour) -> str:
    """A new organisation; the address of its page."""
    tour.visit("/organisations/new", "organisation-new", "Create an organisation")
    tour.page.get_by_label("Name").fill("sandbox")
    tour.press("Create")
    tour.look("organisation-refused", "Create an organisation")
    tour.page.get_by_label("Name").fill(f"Ada & {secrets.token_hex(4)}")
    tour.press("Create")
    tour.look("organisation-founded", "Ada &")
    return tour.page.url


def _subscribe(tour: Tour, product: str, name: str) -> tuple[str, str]:
    """The address of the subscription, and its primary key."""
    page, kind = tour.page, product.lower()
    tour.go("/products")
    page.get_by_role("link", name=product).first.click()
    page.get_by_role("main").get_by_role("link", name="Subscribe").click()
    page.get_by_label("Name of the subscription").fill(name)
    if page.get_by_label("I agree to these terms").count():
        page.get_by_label("I agree to these terms").check()
    tour.look(f"subscribe-{kind}", f"Subscribe to {product}")
    tour.press("Subscribe")
    tour.look(f"keys-{kind}", f"The keys of {name}")
    key = page.locator("#primary-key").inner_text()
    if kind == "sandbox":
        tour.press("Activate the keys")
        tour.look("keys-activated", f"The keys of {name}")
    page.get_by_role("link", name="I've saved them").click()
    tour.look(f"subscription-{kind}", name)
    return page.url, key


def _api_keys(tour: Tour, home: str) -> str:
    for name in ("backend", "old backend"):
        tour.go(f"{home}/api-keys")
        tour.page.get_by_label("Name").fill(name)
        tour.press("Create the key")
        tour.look("new-api-key", "Your new provider API key")
    made = tour.page.locator("#api-key").inner_text()
    tour.go(f"{home}/api-keys")
    tour.page.get_by_label("When backend ends").select_option("none")
    tour.press("Revoke backend")
    tour.look("revoke-api-key", "Revoke backend?")
    tour.press("Revoke the key")
    tour.look("api-keys-revoked", "Ada &")
    return made


def _users(tour: Tour, portal: "Portal", home: str, key: str, provider_key: str) -> None:
    with Strongroom(portal.base_url, subscription_key=key, provider_api_key=provider_key) as client:
        client.register("ada", PASSPHRASE, iterations=600_000)
    tour.go(f"{home}/users")
    tour.page.get_by_role("button", name="Suspend").first.click()
    tour.look("suspend-user", "Suspend the user?")
    tour.press("Suspend")
    expect(tour.page.get_by_role("main")).to_contain_text("was suspended")
    tour.page.get_by_label("Find a user by name").fill("ada")
    tour.press("Find")
    tour.look("users-found", "Ada &")


def _keys(tour: Tour, portal: "Portal", subscription: str, key: str) -> None:
    """A key in its grace, one with an end, a refused date, and charts with many bars."""
    page = tour.page
    tour.go(subscription)
    page.get_by_text("Regenerate the primary key").click()
    tour.press("Make the new primary key")
    tour.look("key-regenerated", "The new key of phone app")
    tour.go(subscription)
    for date, name in (("2001-01-31", "key-end-refused"), (_in_ninety_days(), "key-with-an-end")):
        if name == "key-end-refused":
            page.get_by_text("Give it an end: secondary key").click()
        page.locator("#ends-secondary").fill(date)
        tour.press("Save the end date of the secondary key")
        tour.look(name, "phone app")
    httpx.get(f"{portal.base_url}/keystore/keypairs", headers={"Service-Subscription-Key": key})
    with ThreadPoolExecutor(1) as thread:  # this one runs the event loop of the browser
        thread.submit(asyncio.run, _count_calls(portal, subscription)).result()
    for over in ("day", "quarter"):
        tour.visit(f"{subscription}/usage?range={over}", f"usage-{over}", "Usage of phone app")


def _in_ninety_days() -> str:
    return wire_time(SystemClock().now() + 90 * DAY)[:10]


async def _count_calls(portal: "Portal", subscription: str) -> None:
    """As the service would have counted them over a day."""
    *_, provider, _, row = subscription.split("/")
    provider_id, subscription_id = from_text(provider), from_text(row)
    assert provider_id is not None
    assert subscription_id is not None
    store = open_store(
        f"sqlite:{portal.data / 'access.sqlite'}", "access", files("strongroom.access") / "migrations", guest=True
    )
    for hours in range(24):
        counter = UsageCounter()
        for number in range(40 + hours * (24 - hours)):
            who = Subscription(provider_id, subscription_id, False, "secondary" if number % 3 else "primary")
            counter.count(who, None if number % 7 else "not_found", 0.0004 * (number % 30))
        counts, at = counter.take(), SystemClock().now() - hours * HOUR
        await store.write(lambda tx, counts=counts, at=at: usage.store(tx, counts, at))  # type: ignore[misc]  # bound early
    await store.close()


def _people(owner: Tour, member: Tour, portal: "Portal", home: str, other: str) -> None:
    """A colleague comes, and sees what is up to owners."""
    owner.go(f"{home}/people")
    owner.page.get_by_label("E-mail address").fill(other)
    owner.press("Send the invitation")
    owner.look("people-invited", "Ada &")
    link = portal.link(other)
    member.visit(link, "invitation-without-account", "Join Ada &")
    portal.sign_up(member.page, other)
    member.look("invitation-waits", "Hello, Ada")
    member.visit(link, "invitation", "Join Ada &")
    member.press("Join")
    member.look("organisation-as-member", "Ada &")
    member.visit(f"{home}/people", "people-as-member", "Ada &")
    member.visit(f"{home}/settings", "refused-role", "Not for your role")
    owner.visit(f"{home}/people", "people", "Ada &")
    owner.page.get_by_role("button", name="Hand over").click()
    owner.look("hand-over", "Hand over")


def _operate(chief: Tour, owner: Tour, portal: "Portal", operator: str, subscription: str) -> None:
    portal.sign_up(chief.page, operator)
    chief.visit("/operator", "operator-without-a-second-step", "A second step is missing")
    portal.add_passkey(chief.page)
    chief.visit("/operator", "operator", "Operator")
    chief.page.get_by_role("button", name="Reject web shop").last.click()
    chief.look("reject", "Reject web shop?")
    chief.page.get_by_label("Reason").fill("No such shop.")
    chief.press("Reject")
    chief.page.get_by_role("button", name="Suspend phone app").first.click()
    chief.press("Suspend")
    chief.look("operator-suspended", "Operator")
    owner.visit(subscription, "subscription-suspended", "phone app")


def _end(tour: Tour, home: str, subscription: str) -> None:
    """Cancelled, and an organisation that is not closed because its name was mistyped."""
    tour.visit(f"{subscription}/cancel", "cancel", "Cancel phone app?")
    tour.press("Cancel the subscription")
    tour.look("subscription-cancelled", "phone app")
    tour.go(f"{home}/settings")
    tour.page.get_by_label("Type the name of the organisation").fill("another")
    tour.page.get_by_label("Your password").fill(tour.portal.password)
    tour.press("Close the organisation for good")
    tour.look("close-refused", "Ada &")


def test_the_outbox_of_development_is_accessible(
    tours: Tours, portal_with_outbox: "Portal", email: str, seen: Seen
) -> None:
    tour = tours()
    tour.portal, page = portal_with_outbox, tour.page
    tour.visit("/outbox", "outbox-empty", "Outbox")
    tour.go("/sign-up")
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Password").fill(tour.portal.password)
    tour.press("Sign up")
    expect(page.get_by_role("heading", level=1)).to_have_text("Check your e-mail")
    for _ in range(50):
        tour.go("/outbox")
        if email in page.content():
            break
        page.wait_for_timeout(100)
    assert email in page.content()
    tour.look("outbox", "Outbox")
    assert seen.patterns == part(PATTERNS, DEVELOPMENT)
    assert seen.templates == part(TEMPLATES, OF_DEVELOPMENT)
    assert seen.wrong == []


def test_the_tour_sees_what_is_wrong(tours: Tours, seen: Seen) -> None:
    tour = tours()
    tour.go("/inspect")
    tour.page.evaluate("document.querySelector('label').remove()")
    tour.page.evaluate("document.querySelector('h1').style.width = '2000px'")
    tour.look_only()
    tour.page.evaluate("document.querySelector('p').style.color = 'canvas'")
    tour.look_only()
    assert any("label" in wrong for wrong in seen.wrong)
    assert any("dark: color-contrast" in wrong for wrong in seen.wrong)
    assert any("pixels too wide" in wrong for wrong in seen.wrong)
    with pytest.raises(AssertionError):
        tour.look("inspect", "Another page")
