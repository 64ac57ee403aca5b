"""Signing in and out, and what a browser holds afterwards."""

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from strongroom.http.client_address import TrustedProxies
from strongroom.portal import limits
from strongroom.portal.accounts import developers, sessions
from strongroom.portal.limits import SIGN_IN_AS_FROM, SIGN_IN_FROM
from strongroom.storage import Transaction

if TYPE_CHECKING:
    from tests.portal.conftest import Site

pytestmark = pytest.mark.anyio

EMAIL = "ada@example.com"
PASSWORD = "plain words for a portal"


async def test_password_and_address_open_a_session_and_signing_out_ends_it(site: "Site") -> None:
    await site.sign_up()
    browser = await site.sign_in()
    assert browser.is_signed_in
    token = browser.http.cookies["strongroom_session"]
    await browser.send("/sign-out")
    assert "You are signed out" in browser.text
    browser.http.cookies.set("strongroom_session", token, domain="localhost.local", path="/")
    assert (await browser.get("/account")).url.path == "/portal/sign-in"


async def test_the_address_is_taken_in_any_case_of_letters(site: "Site") -> None:
    await site.sign_up()
    assert (await site.sign_in(" ADA@Example.COM ")).is_signed_in


async def test_wrong_password_and_unknown_address_look_alike(site: "Site") -> None:
    await site.sign_up()
    wrong = await site.sign_in(password="not the password")
    unknown = await site.sign_in(email="eve@example.com")
    assert wrong.seen is not None
    assert unknown.seen is not None
    assert wrong.seen.status_code == unknown.seen.status_code == 422
    assert "The e-mail address or the password is not right." in wrong.text
    assert wrong.text.count("\n") == unknown.text.count("\n")
    assert not wrong.is_signed_in


async def test_an_unknown_address_costs_a_hash_too(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | None] = []

    async def verify(field: str, stored: str | None) -> bool:
        asked.append(stored)
        return False

    monkeypatch.setattr(site.portal.passwords, "verify", verify)
    await site.sign_in(email="eve@example.com")
    await site.sign_in(email="not an address")
    assert asked == [None, None]


async def test_guessing_comes_to_an_end_and_the_owner_gets_in_later(site: "Site") -> None:
    await site.sign_up()
    for _ in range(SIGN_IN_AS_FROM.times):
        await site.sign_in(password="not the password")
    browser = await site.sign_in()
    assert browser.seen is not None
    assert browser.seen.status_code == 429
    assert int(browser.seen.headers["retry-after"]) <= SIGN_IN_AS_FROM.window / 1000
    site.clock.move(SIGN_IN_AS_FROM.window / 1000)
    assert (await site.sign_in()).is_signed_in


@pytest.mark.parametrize("trusted", [(), ("127.0.0.1/32",)])
async def test_behind_a_trusted_proxy_each_address_counts_separately(
    site: "Site", trusted: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    object.__setattr__(site.portal, "proxies", TrustedProxies(trusted))
    monkeypatch.setattr(limits, "SIGN_IN_FROM", replace(SIGN_IN_FROM, times=2))

    async def try_from(address: str) -> int:
        browser = site.browser()
        await browser.get("/sign-in")
        headers = {"X-Forwarded-For": f"192.0.2.1, {address}"}
        return (await browser.send("/sign-in", headers, email="eve@example.com", password="wrong")).status_code

    assert [await try_from("203.0.113.7") for _ in range(3)] == [422, 422, 429]
    assert await try_from("203.0.113.8") == (422 if trusted else 429)


async def test_a_success_starts_the_count_anew(site: "Site") -> None:
    await site.sign_up()
    for _ in range(2):
        for _ in range(SIGN_IN_AS_FROM.times - 1):
            await site.sign_in(password="not the password")
        assert (await site.sign_in()).is_signed_in


async def test_a_session_ends_without_use_and_in_any_case(site: "Site") -> None:
    settings = site.portal.settings
    await site.sign_up()
    browser = await site.sign_in()
    site.clock.move(settings.portal_session_idle - 5)
    assert (await browser.get("/account")).url.path == "/portal/account"
    site.clock.move(settings.portal_session_idle - 5)
    assert (await browser.get("/account")).url.path == "/portal/account"
    site.clock.move(settings.portal_session_idle + 1)
    assert (await browser.get("/account")).url.path == "/portal/sign-in"
    browser = await site.sign_in()
    for _ in range(settings.portal_session_lifetime // settings.portal_session_idle):
        site.clock.move(settings.portal_session_idle - 5)
        await browser.get("/account")
    site.clock.move(settings.portal_session_idle - 5)
    assert (await browser.get("/account")).url.path == "/portal/sign-in"


async def test_signing_in_makes_a_new_token_and_ends_the_one_before(site: "Site") -> None:
    browser = await site.sign_up()
    before = browser.http.cookies["strongroom_session"]
    other = site.browser()
    await other.get("/sign-in")
    other.http.cookies.set("strongroom_session", before, domain="localhost.local", path="/")
    assert other.http.cookies["strongroom_session"] == before
    await other.get("/")
    answer = await other.post("/sign-in", email=EMAIL, password=PASSWORD)
    assert answer.status_code == 200
    now = site.clock.now()
    assert await site.portal.store.read(lambda tx: sessions.find(tx, before, now, 10**9)) is None


async def test_the_database_holds_no_token_and_no_password(site: "Site") -> None:
    browser = await site.sign_up()
    token = browser.http.cookies["strongroom_session"]
    await site.portal.store.check()
    held = b"".join(file.read_bytes() for file in site.outbox.parent.glob("access.sqlite*"))
    assert EMAIL.encode() in held
    assert token.encode() not in held
    assert token[4:].encode() not in held
    assert PASSWORD.encode() not in held


async def test_after_signing_in_the_page_that_was_asked_for_is_shown(site: "Site") -> None:
    await site.sign_up()
    browser = site.browser()
    await browser.get("/account/security")
    assert browser.path == "/sign-in"
    assert "Please sign in to continue" in browser.text
    await browser.send("/sign-in", email=EMAIL, password=PASSWORD)
    assert browser.path == "/account/security"


@pytest.mark.parametrize(
    "onward", ["//evil.example", "https://evil.example", "/\\evil.example", "/a?b", "x", "/\u0000"]
)
async def test_no_other_site_is_redirected_to(site: "Site", onward: str) -> None:
    await site.sign_up()
    browser = site.browser()
    await browser.get("/sign-in")
    answer = await browser.send("/sign-in", email=EMAIL, password=PASSWORD, next=onward)
    assert str(answer.url).startswith("http://localhost:8000/portal/")
    assert answer.history == [] or browser.path == "/"


async def test_a_reset_between_check_and_session_wins(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    await site.sign_up()
    developer = await site.portal.store.read(lambda tx: developers.find(tx, EMAIL))
    assert developer is not None
    verify = site.portal.passwords.verify

    async def slow(field: str, stored: str | None) -> bool:
        async def reset(tx: Transaction) -> None:
            await developers.set_password(tx, developer.id, "changed", site.clock.now())

        await site.portal.store.write(reset)
        return await verify(field, stored)

    monkeypatch.setattr(site.portal.passwords, "verify", slow)
    assert not (await site.sign_in()).is_signed_in


async def test_signing_out_where_the_session_ended_by_itself_is_signing_out(site: "Site") -> None:
    browser = await site.sign_up()
    await browser.get("/account")
    site.clock.move(site.portal.settings.portal_session_idle + 1)
    answer = await browser.send("/sign-out")
    assert (answer.status_code, browser.path) == (200, "/sign-in")
    assert "You are signed out" in browser.text


@pytest.mark.parametrize(
    ("form", "page"), [("/account/name", "/account"), ("/organisations/new", "/organisations/new")]
)
async def test_a_form_sent_after_the_session_ended_leads_back_to_its_page(site: "Site", form: str, page: str) -> None:
    browser = await site.sign_up()
    await browser.get(page)
    site.clock.move(site.portal.settings.portal_session_idle + 1)
    await browser.send(form, name="Acme")
    assert browser.path == "/sign-in"
    assert "your request was not carried out" in browser.text
    await browser.send("/sign-in", email=EMAIL, password=PASSWORD)
    assert browser.path == page
    assert 'value="Acme"' not in browser.text


async def test_a_signed_in_developer_is_redirected_to_the_page(site: "Site") -> None:
    browser = await site.sign_up()
    await browser.get("/sign-in?next=/products")
    assert browser.path == "/products"
    await browser.get("/sign-in?next=//evil.example")
    assert browser.path == "/"
