"""Signing up: a link in the mail confirms it, and no page reveals who has an account."""

import re
from collections.abc import Callable
from email.message import EmailMessage
from typing import TYPE_CHECKING

import pytest

from strongroom.portal.accounts import developers
from strongroom.portal.accounts.sign_ups import LIFETIME
from strongroom.portal.limits import MAIL_FROM, MAIL_TO_FROM

if TYPE_CHECKING:
    import httpx
    from tests.portal.conftest import Browser, Site

pytestmark = pytest.mark.anyio

EMAIL = "ada@example.com"
PASSWORD = "plain words for a portal"
OTHER = "other words of an attacker"


async def sign_up(browser: "Browser", email: str = EMAIL, password: str = PASSWORD) -> "httpx.Response":
    await browser.get("/sign-up")
    return await browser.send("/sign-up", email=email, name="Ada", password=password)


def without_token(page: str) -> str:
    return re.sub(r'name="csrf_token" value="[^"]+"', "", page)


async def test_a_developer_signs_up_confirms_and_is_signed_in(site: "Site") -> None:
    browser = site.browser()
    answer = await sign_up(browser)
    assert (answer.status_code, browser.path) == (200, "/sign-up/sent")
    mail = (await site.mails())[-1]
    assert mail.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in mail.iter_parts()] == ["text/plain", "text/html"]
    link = await site.link()
    assert EMAIL in (await browser.get(link)).text
    await browser.send(link, password=PASSWORD)
    assert browser.is_signed_in
    assert "Your account is confirmed" in browser.text
    assert "Your account is confirmed" not in (await browser.get("/")).text


async def test_a_known_address_gets_the_same_page_and_another_message(site: "Site") -> None:
    stranger = site.browser()
    unknown = await sign_up(stranger)
    (await site.sign_up("eve@example.com"))
    known = await sign_up(site.browser(), "eve@example.com", OTHER)
    assert without_token(known.text) == without_token(unknown.text)
    assert known.url == unknown.url
    subjects = [mail["Subject"] for mail in await site.mails("eve@example.com")]
    assert subjects[-1] == "You already have a Strongroom account"
    assert (await site.sign_in("eve@example.com", PASSWORD)).is_signed_in
    assert not (await site.sign_in("eve@example.com", OTHER)).is_signed_in


async def test_the_link_without_the_password_makes_no_account(site: "Site") -> None:
    await sign_up(site.browser())
    link = await site.link()
    owner = site.browser()
    await owner.get(link)
    answer = await owner.send(link, password=OTHER)
    assert answer.status_code == 422
    assert 'aria-invalid="true"' in answer.text
    assert await site.portal.store.read(lambda tx: developers.find(tx, EMAIL)) is None


async def test_guessing_the_password_of_a_link_comes_to_an_end(site: "Site") -> None:
    await sign_up(site.browser())
    link = await site.link()
    owner = site.browser()
    statuses = set()
    for _ in range(12):
        await owner.get(link)
        statuses.add((await owner.send(link, password=OTHER)).status_code)
    assert statuses == {422, 429}


async def test_a_link_is_good_once(site: "Site") -> None:
    await site.sign_up()
    link = await site.link()
    answer = await site.browser().get(link)
    assert answer.status_code == 404
    assert "This link has expired or was already used" in answer.text


async def test_a_link_ends_after_a_day(site: "Site") -> None:
    await sign_up(site.browser())
    link = await site.link()
    site.clock.move(LIFETIME / 1000 + 1)
    assert (await site.browser().get(link)).status_code == 404


async def test_of_two_sign_ups_the_first_confirmed_one_counts(
    site: "Site", link_in: Callable[[EmailMessage], str]
) -> None:
    await sign_up(site.browser(), password=PASSWORD)
    await sign_up(site.browser(), password=OTHER)
    first, second = map(link_in, await site.mails())
    browser = site.browser()
    await browser.get(second)
    await browser.send(second, password=OTHER)
    assert browser.is_signed_in
    assert (await site.browser().get(first)).status_code == 404


@pytest.mark.parametrize(
    ("email", "password", "field"),
    [
        ("nobody", PASSWORD, "email"),
        ("a b@example.com", PASSWORD, "email"),
        (EMAIL, "short", "password"),
        (EMAIL, "123456789012", "password"),
        (EMAIL, "passwordpassword1", "password"),
        (EMAIL, EMAIL, "password"),
    ],
)
async def test_invalid_values_are_reported_at_their_field(site: "Site", email: str, password: str, field: str) -> None:
    answer = await sign_up(site.browser(), email, password)
    assert answer.status_code == 422
    assert f'id="{field}-error"' in answer.text
    assert f'href="#{field}"' in answer.text
    assert password not in answer.text or password == EMAIL
    assert await site.mails() == []


async def test_a_mailbox_is_not_flooded_and_the_page_does_not_show_it(site: "Site") -> None:
    pages = [await sign_up(site.browser()) for _ in range(MAIL_TO_FROM.times + 2)]
    assert {without_token(page.text) for page in pages} == {without_token(pages[0].text)}
    assert len(await site.mails()) == MAIL_TO_FROM.times


async def test_mail_caused_by_one_network_is_limited(site: "Site") -> None:
    browser = site.browser()
    statuses = []
    for number in range(MAIL_FROM.times + 1):
        await browser.get("/reset")
        statuses.append((await browser.send("/reset", email=f"ada{number}@example.com")).status_code)
    assert statuses == [200] * MAIL_FROM.times + [429]
    assert browser.seen is not None
    assert int(browser.seen.headers["retry-after"]) > 0
