"""A developer's account in a real browser: confirmed by a real mail, reset, and opened with a passkey."""

from typing import TYPE_CHECKING

from playwright.sync_api import BrowserContext, Page, expect

if TYPE_CHECKING:
    from tests.browser.conftest import Portal


def sign_in(page: Page, portal: "Portal", email: str, password: str) -> None:
    page.goto(portal.url("/sign-in"))
    page.get_by_label("E-mail address").fill(email)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()


def sign_out(page: Page) -> None:
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("banner").get_by_role("link", name="Sign in")).to_be_visible()


def test_an_account_is_confirmed_by_mail(page: Page, portal: "Portal", email: str) -> None:
    portal.sign_up(page, email)
    sign_out(page)
    sign_in(page, portal, email, portal.password)
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


def test_a_password_is_reset_by_mail(page: Page, portal: "Portal", email: str) -> None:
    portal.sign_up(page, email)
    sign_out(page)
    page.goto(portal.url("/reset"))
    page.get_by_label("E-mail address").fill(email)
    page.get_by_role("button", name="Send the link").click()
    page.goto(portal.link(email))
    page.get_by_label("New password").fill(f"{portal.password} again")
    page.get_by_role("button", name="Set the password").click()
    page.context.clear_cookies()
    sign_in(page, portal, email, portal.password)
    expect(page.get_by_role("alert")).to_be_visible()
    sign_in(page, portal, email, f"{portal.password} again")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


def test_a_passkey_signs_in(page: Page, portal: "Portal", email: str) -> None:
    portal.sign_up(page, email)
    portal.add_passkey(page)
    page.goto(portal.url("/account/security"))
    expect(page.get_by_role("main")).to_contain_text("laptop")
    sign_out(page)
    page.goto(portal.url("/sign-in"))
    page.get_by_role("button", name="Sign in with a passkey").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


def test_scripts_reach_neither_cookies_nor_other_sites(context: BrowserContext, portal: "Portal", email: str) -> None:
    page = context.new_page()  # one that may report the refusal below
    portal.sign_up(page, email)
    assert page.evaluate("document.cookie") == ""
    kept = {cookie["name"]: cookie for cookie in context.cookies()}
    assert kept
    assert all(cookie["httpOnly"] and cookie["sameSite"] == "Lax" for cookie in kept.values())
    refused = page.evaluate("fetch('https://elsewhere.example/').then(() => 'sent', () => 'refused')")
    assert refused == "refused"
