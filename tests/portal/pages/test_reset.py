"""Resetting a password: by mail, once, within two hours; all sessions end."""

import re
from typing import TYPE_CHECKING

import pytest

from strongroom.portal.accounts.links import LIFETIME

if TYPE_CHECKING:
    from tests.portal.conftest import Browser, Site

pytestmark = pytest.mark.anyio

EMAIL = "ada@example.com"
NEW = "quite another password"


async def ask(site: "Site", email: str = EMAIL) -> "Browser":
    browser = site.browser()
    await browser.get("/reset")
    await browser.send("/reset", email=email)
    return browser


async def test_a_new_password_ends_every_session_and_the_old_password(site: "Site") -> None:
    signed_in = await site.sign_up()
    await ask(site)
    link = await site.link()
    browser = site.browser()
    await browser.get(link)
    await browser.send(link, password=NEW)
    assert "Your password was changed" in browser.text
    assert not browser.is_signed_in
    assert (await signed_in.get("/account")).url.path == "/portal/sign-in"
    assert not (await site.sign_in()).is_signed_in
    assert (await site.sign_in(password=NEW)).is_signed_in
    assert (await site.mails())[-1]["Subject"] == "A change to your Strongroom account"


async def test_the_page_does_not_reveal_who_has_an_account(site: "Site") -> None:
    await site.sign_up()
    known, unknown = await ask(site), await ask(site, "eve@example.com")
    pages = [re.sub(r'value="[^"]+"', "", browser.text) for browser in (known, unknown)]
    assert pages[0] == pages[1]
    assert known.path == unknown.path == "/reset/sent"
    assert (await site.mails("eve@example.com"))[-1]["Subject"] == "No Strongroom account with this address"


async def test_a_link_is_good_once_and_for_two_hours(site: "Site") -> None:
    await site.sign_up()
    await ask(site)
    link = await site.link()
    site.clock.move(LIFETIME / 1000 + 1)
    assert (await site.browser().get(link)).status_code == 404
    await ask(site)
    link = await site.link()
    first, second = site.browser(), site.browser()
    await first.get(link)
    await second.get(link)
    await first.send(link, password=NEW)
    assert first.path == "/sign-in"
    assert (await second.send(link, password="yet another password")).status_code == 404


async def test_a_newer_link_ends_the_older(site: "Site") -> None:
    await site.sign_up()
    await ask(site)
    older = await site.link()
    await ask(site)
    assert await site.link() != older
    assert (await site.browser().get(older)).status_code == 404


async def test_the_new_password_has_to_be_good_and_the_link_stays(site: "Site") -> None:
    await site.sign_up()
    await ask(site)
    link = await site.link()
    browser = site.browser()
    await browser.get(link)
    answer = await browser.send(link, password="short")
    assert answer.status_code == 422
    assert 'id="password-error"' in answer.text
    await browser.send(link, password=NEW)
    assert (await site.sign_in(password=NEW)).is_signed_in


async def test_a_link_to_reset_opens_nothing_else(site: "Site") -> None:
    browser = await site.sign_up()
    await ask(site)
    token = (await site.link()).removeprefix("/reset/")
    assert (await browser.get(f"/confirm/{token}")).status_code == 404
    assert (await browser.get(f"/account/email/{token}")).status_code == 404
