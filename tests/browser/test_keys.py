"""From signing up to a call that the service accepts, and keys that are replaced without a gap."""

import secrets
import subprocess
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import httpx
import pyotp
import pytest
from playwright.sync_api import Browser, Page, expect

if TYPE_CHECKING:
    from tests.browser.conftest import Portal


def press(page: Page, name: str) -> None:
    page.get_by_role("main").get_by_role("button", name=name).click()


def subscribe(page: Page, portal: "Portal", product: str) -> tuple[str, str]:
    """An organisation with a subscription; the two keys, as the page shows them once."""
    page.goto(portal.url("/"))
    page.get_by_role("main").get_by_role("link", name="Create an organisation").click()
    page.get_by_label("Name").fill(f"Ada & {secrets.token_hex(4)}")
    press(page, "Create")
    page.get_by_role("main").get_by_role("link", name="Select a product").click()
    page.get_by_role("link", name=product).first.click()
    page.get_by_role("main").get_by_role("link", name="Subscribe").click()
    page.get_by_label("Name of the subscription").fill("phone app")
    if page.get_by_label("I agree to these terms").count():
        page.get_by_label("I agree to these terms").check()
    press(page, "Subscribe")
    expect(page.get_by_role("main")).to_contain_text("shown this once")
    return page.locator("#primary-key").inner_text(), page.locator("#secondary-key").inner_text()


class Calling(threading.Thread):
    """Calls with one key again and again, as an application does while its key is being replaced."""

    def __init__(self, portal: "Portal", key: str) -> None:
        super().__init__(daemon=True)
        self._portal, self._key = portal, key
        self._over = threading.Event()
        self._codes: list[str] = []

    def run(self) -> None:
        while not self._over.wait(0.01):
            self._codes.append(code(self._portal, self._key))

    def stopped(self) -> set[str]:
        """What the service answered until now, and once more."""
        self._over.set()
        self.join()
        assert self._codes
        return {*self._codes, code(self._portal, self._key)}


def code(portal: "Portal", key: str) -> str:
    """What the service says to this key: the code of the refusal, or that it wants a session."""
    answer = httpx.get(f"{portal.base_url}/keystore/keypairs", headers={"Service-Subscription-Key": key})
    found: str = answer.json()["code"]
    return found


def regenerate(page: Page, slot: str, grace: str) -> str:
    """The new key of this slot, from the page of the subscription."""
    page.locator("summary", has_text=f"Regenerate the {slot} key").click()
    page.locator(f"#grace-{slot}").select_option(grace)
    page.get_by_role("button", name=f"Make the new {slot} key").click()
    key = page.locator(f"#{slot}-key").inner_text()
    page.get_by_role("link", name="I've saved it").click()
    return key


@pytest.fixture
def developer(page: Page, portal: "Portal", email: str) -> Page:
    portal.sign_up(page, email)
    return page


def test_from_sign_up_to_a_call_that_is_accepted(developer: Page, portal: "Portal") -> None:
    primary, secondary = subscribe(developer, portal, "Sandbox")
    assert code(portal, primary) == code(portal, secondary) == "subscription_key_inactive"
    press(developer, "Activate the keys")
    expect(developer.get_by_role("main")).to_contain_text("is active")
    # Still on the page of the keys: their lines are pasted as they stand.
    exported = developer.locator("#curl").inner_text().splitlines()[0]
    assert exported == f"export STRONGROOM_SUBSCRIPTION_KEY={primary}"
    assert code(portal, primary) == code(portal, secondary) == "authorization_missing"
    page = developer
    page.get_by_role("link", name="Next: create a provider API key").click()
    assert primary not in page.content()
    page.get_by_label("Name").fill("backend")
    press(page, "Create the key")
    line = page.locator("#curl").inner_text()
    called = subprocess.run(
        ["sh", "-c", f"{exported}\n{line}"],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        check=True,
        text=True,
    )
    assert '"token_value":"sra_' in called.stdout
    page.reload()
    assert "srp_" not in page.locator("main").inner_text().replace("srp_...", "")


def test_a_key_is_regenerated_without_a_gap(developer: Page, portal: "Portal") -> None:
    primary, secondary = subscribe(developer, portal, "Sandbox")
    press(developer, "Activate the keys")
    developer.get_by_role("link", name="I've saved them").click()
    calling = Calling(portal, primary)
    calling.start()
    second = regenerate(developer, "primary", "hour")
    assert calling.stopped() == {"authorization_missing"}
    assert {code(portal, key) for key in (primary, second, secondary)} == {"authorization_missing"}
    third = regenerate(developer, "primary", "none")
    assert code(portal, second) == "subscription_key_invalid"
    assert {code(portal, key) for key in (third, secondary)} == {"authorization_missing"}
    developer.reload()
    shown = developer.locator("main").inner_text()
    assert f"srk_...{third[-4:]}" in shown
    assert third not in shown


@pytest.fixture
def other(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    yield context.new_page()
    context.close()


def test_the_operator_approves_and_suspends(developer: Page, other: Page, portal: "Portal", operator: str) -> None:
    key, _ = subscribe(developer, portal, "Production")
    expect(developer.get_by_role("main")).to_contain_text("has to approve")
    assert developer.get_by_role("button", name="Activate").count() == 0
    developer.get_by_role("link", name="I've saved them").click()
    portal.sign_up(other, operator)
    other.get_by_role("link", name="Operator").click()
    expect(other.get_by_role("heading", level=1)).to_have_text("A second step is missing")
    portal.add_passkey(other)
    other.get_by_role("link", name="Operator").click()
    press(other, "Approve phone app")
    developer.reload()
    press(developer, "Activate the keys")
    assert code(portal, key) == "authorization_missing"
    other.goto(portal.url("/operator"))
    other.get_by_role("button", name="Suspend phone app").first.click()
    other.get_by_label("Reason").fill("a key was found in a public place")
    press(other, "Suspend")
    assert code(portal, key) == "subscription_key_inactive"
    developer.reload()
    expect(developer.get_by_role("main")).to_contain_text("suspended")
    developer.goto(developer.url.partition("/subscriptions/")[0] + "/activity")
    expect(developer.get_by_role("main")).to_contain_text("a key was found in a public place")


def test_from_sign_up_to_new_keys_without_a_script(browser: Browser, portal: "Portal", email: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    portal.sign_up(page, email)
    primary, secondary = subscribe(page, portal, "Sandbox")
    press(page, "Activate the keys")
    assert code(portal, primary) == "authorization_missing"
    page.get_by_role("link", name="I've saved them").click()
    new = regenerate(page, "primary", "none")
    assert [code(portal, key) for key in (new, secondary)] == ["authorization_missing"] * 2
    assert code(portal, primary) == "subscription_key_invalid"
    page.get_by_role("link", name="Calls, refusals and latency").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Usage of phone app")
    page.goto(portal.url("/account/totp"))
    key = page.locator("code#key").inner_text()
    page.get_by_label("Code", exact=True).fill(pyotp.TOTP(key.replace(" ", "")).now())
    page.get_by_label("Your password").fill(portal.password)
    press(page, "Turn on")
    expect(page.get_by_role("heading", level=1)).to_contain_text("recovery codes")
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(portal.url("/sign-in"))
    context.close()
