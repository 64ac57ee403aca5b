"""Limits against an attacker: what they stop, and that they cannot be used to lock an owner out."""

from typing import TYPE_CHECKING

import httpx
import pytest

from strongroom.portal.limits import (
    ACTS,
    CHALLENGES_FROM,
    MAIL_FROM,
    MAIL_TO,
    MAIL_TO_FROM,
    SECOND_FACTOR,
    SECOND_FACTOR_DAY,
    SIGN_IN_AS,
    SIGN_IN_AS_FROM,
)
from strongroom.storage import Transaction

if TYPE_CHECKING:
    from tests.portal.conftest import Browser, Site

pytestmark = pytest.mark.anyio

EMAIL = "ada@example.com"
PASSWORD = "plain words for a portal"


def from_network(site: "Site", address: str) -> "Browser":
    browser = site.browser()
    transport = httpx.ASGITransport(site.application, client=(address, 4711))
    browser.http._transport = transport
    return browser


async def sign_in(site: "Site", address: str, password: str = PASSWORD) -> int:
    browser = from_network(site, address)
    await browser.get("/sign-in")
    return (await browser.send("/sign-in", email=EMAIL, password=password)).status_code


async def wears_out(site: "Site") -> None:
    """Wrong passwords for the account from everywhere, as many as a day allows."""
    sent = 0
    network = 0
    while sent < SIGN_IN_AS.times:
        network += 1
        browser = from_network(site, f"198.51.100.{network}")
        await browser.get("/sign-in")
        for _ in range(SIGN_IN_AS_FROM.times):
            answer = await browser.send("/sign-in", email=EMAIL, password="")
            sent += 1
            if answer.status_code == 429:
                return


async def test_guessing_all_day_does_not_lock_the_owner_out(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    await site.sign_up()
    assert await sign_in(site, "192.0.2.7") == 200

    async def wrong(field: str, stored: str | None) -> bool:
        return field == PASSWORD and stored is not None

    monkeypatch.setattr(site.portal.passwords, "verify", wrong)
    await wears_out(site)
    assert await sign_in(site, "198.51.100.99") == 429
    assert await sign_in(site, "192.0.2.7") == 200
    # Guessing is limited from the owner's networks too.
    for _ in range(SIGN_IN_AS_FROM.times):
        await sign_in(site, "192.0.2.7", "")
    assert await sign_in(site, "192.0.2.7", "") == 429


async def test_strangers_cannot_use_up_the_messages_of_an_owner(site: "Site") -> None:
    await site.sign_up()
    for network in range(8):
        browser = from_network(site, f"198.51.100.{network}")
        for _ in range(MAIL_TO_FROM.times + 1):
            await browser.get("/sign-up")
            await browser.send("/sign-up", email=EMAIL, password="words of an attacker")
    assert len(await site.mails()) <= MAIL_TO.times + 1
    owner = from_network(site, "192.0.2.7")
    await owner.get("/reset")
    await owner.send("/reset", email=EMAIL)
    assert (await site.link()).startswith("/reset/")


async def test_a_plus_sign_makes_no_other_mailbox(site: "Site") -> None:
    browser = site.browser()
    for number in range(MAIL_FROM.times):
        await browser.get("/reset")
        await browser.send("/reset", email=f"ada+{number}@example.com")
    sent = [mail for number in range(MAIL_FROM.times) for mail in await site.mails(f"ada+{number}@example.com")]
    assert len(sent) == MAIL_TO_FROM.times


async def test_one_account_does_not_fill_the_database(site: "Site") -> None:
    ada, bob = await site.sign_up(), await site.sign_up("bob@example.com")
    for browser in (ada, bob):
        await browser.get("/account")
        browser.http.follow_redirects = False
    statuses = [(await ada.post("/organisations/new", name="")).status_code for _ in range(ACTS.times + 1)]
    assert statuses == [422] * ACTS.times + [429]
    assert (await bob.post("/organisations/new", name="")).status_code == 422
    # What keeps the account safe stays open.
    assert (await ada.post("/account/sessions/end-others")).status_code == 303
    assert (await ada.post("/sign-out")).status_code == 303


async def test_challenges_come_to_an_end(site: "Site") -> None:
    browser = site.browser()
    await browser.get("/sign-in")
    statuses = [(await browser.post("/sign-in/passkey/options")).status_code for _ in range(CHALLENGES_FROM.times + 1)]
    assert statuses == [200] * CHALLENGES_FROM.times + [429]


async def test_slow_guessing_finds_no_code_and_the_owner_is_warned(site: "Site") -> None:
    await site.sign_up()

    async def half(tx: Transaction) -> None:
        await tx.run("UPDATE developer_sessions SET stage = 'password', expires_at = expires_at + 999999999")

    browser = await site.sign_in()
    await site.portal.store.write(half)
    await browser.get("/sign-in/second-factor")
    wrong = 0
    for _ in range(SECOND_FACTOR_DAY.times // SECOND_FACTOR.times + 3):
        for _ in range(SECOND_FACTOR.times + 1):
            wrong += (await browser.post("/sign-in/second-factor", code="000000")).status_code == 422
        site.clock.move(SECOND_FACTOR.window / 1000)
    assert wrong == SECOND_FACTOR_DAY.times
    warnings = [mail for mail in await site.mails() if mail["Subject"] == "A change to your Strongroom account"]
    assert len(warnings) == SECOND_FACTOR_DAY.times // SECOND_FACTOR.times


async def test_invitations_are_limited_by_mailbox_and_by_network(site: "Site") -> None:
    ada = await site.sign_up()
    await ada.get("/organisations/new")
    await ada.send("/organisations/new", name="Acme")
    base = ada.path
    await ada.get(f"{base}/people")
    ada.http.follow_redirects = False

    async def invite(email: str) -> int:
        return (await ada.post(f"{base}/people/invite", email=email, role="member")).status_code

    # The fault is shown at the field: the list on the page would show that there is no invitation.
    assert [await invite("bob@example.com") for _ in range(MAIL_TO_FROM.times + 1)] == [303] * MAIL_TO_FROM.times + [
        422
    ]
    assert len(await site.mails("bob@example.com")) == MAIL_TO_FROM.times
    left = MAIL_FROM.times - MAIL_TO_FROM.times - 1
    statuses = {await invite(f"colleague-{number}@example.com") for number in range(left * 2)}
    assert statuses == {303, 429}
