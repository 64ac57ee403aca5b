"""A developer's account in a real browser: confirmed by a real mail, reset, and opened with a passkey."""

import re
import secrets
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

if TYPE_CHECKING:
    from tests.browser.conftest import Portal

PASSWORD = "plain words for a portal"


@pytest.fixture
def email() -> str:
    return f"ada-{secrets.token_hex(4)}@developer.example"


def link_in(portal: "Portal", email: str) -> str:
    """The link of the next message, which stands in both of its forms."""
    mail = portal.mailbox.next(email)
    text, html = mail.get_body(("plain",)), mail.get_body(("html",))
    assert text is not None
    assert html is not None
    found = re.search(rf"{re.escape(portal.url('/'))}\S+", text.get_content())
    assert found is not None
    assert found[0] in html.get_content()
    return found[0]


def sign_up(page: Page, portal: "Portal", email: str) -> None:
    page.goto(portal.url("/"))
    page.get_by_role("link", name="Sign up").first.click()
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Your name").fill("Ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign up").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("mail")
    page.goto(link_in(portal, email))
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Confirm the account").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


def sign_in(page: Page, portal: "Portal", email: str, password: str = PASSWORD) -> None:
    page.goto(portal.url("/sign-in"))
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()


def sign_out(page: Page) -> None:
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("banner").get_by_role("link", name="Sign in")).to_be_visible()


def test_an_account_is_confirmed_by_mail(page: Page, portal: "Portal", email: str) -> None:
    sign_up(page, portal, email)
    sign_out(page)
    sign_in(page, portal, email)
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


def test_signing_up_needs_no_script(browser: Browser, portal: "Portal", email: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    sign_up(page, portal, email)
    page.get_by_role("button", name="Sign out").click()
    assert portal.url("/") in page.url
    context.close()


def test_a_password_is_reset_by_mail(page: Page, portal: "Portal", email: str) -> None:
    sign_up(page, portal, email)
    sign_out(page)
    page.goto(portal.url("/reset"))
    page.get_by_label("E-mail address").fill(email)
    page.get_by_role("button", name="Send the link").click()
    page.goto(link_in(portal, email))
    page.get_by_label("New password").fill(f"{PASSWORD} again")
    page.get_by_role("button", name="Set the password").click()
    page.context.clear_cookies()
    sign_in(page, portal, email)
    expect(page.get_by_role("alert")).to_be_visible()
    sign_in(page, portal, email, f"{PASSWORD} again")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


def test_a_passkey_signs_in(page: Page, portal: "Portal", email: str) -> None:
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
    sign_up(page, portal, email)
    page.goto(portal.url("/account/passkeys"))
    page.get_by_label("Name of the passkey").fill("laptop")
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Add the passkey").click()
    expect(page).not_to_have_url(portal.url("/account/passkeys"))
    page.goto(portal.url("/account/security"))
    expect(page.get_by_role("main")).to_contain_text("laptop")
    sign_out(page)
    page.goto(portal.url("/sign-in"))
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


def test_scripts_reach_neither_cookies_nor_other_sites(context: BrowserContext, portal: "Portal", email: str) -> None:
    page = context.new_page()  # one that may report the refusal below
    sign_up(page, portal, email)
    assert page.evaluate("document.cookie") == ""
    kept = {cookie["name"]: cookie for cookie in context.cookies()}
    assert kept
    assert all(cookie["httpOnly"] and cookie["sameSite"] == "Lax" for cookie in kept.values())
    refused = page.evaluate("fetch('https://elsewhere.example/').then(() => 'sent', () => 'refused')")
    assert refused == "refused"
