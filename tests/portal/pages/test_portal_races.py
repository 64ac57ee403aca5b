"""Single-use values, used many times at the same moment."""

import asyncio
import re
from typing import TYPE_CHECKING, Any

import pyotp
import pytest

if TYPE_CHECKING:
    from tests.portal.conftest import Site

pytestmark = pytest.mark.anyio

EMAIL = "ada@example.com"
PASSWORD = "plain words for a portal"
AT_ONCE = 6


async def test_a_link_to_reset_is_good_once_also_at_the_same_time(site: "Site") -> None:
    await site.sign_up()
    asking = site.browser()
    await asking.get("/reset")
    await asking.send("/reset", email=EMAIL)
    link = await site.link()
    passwords = [f"a new password, number {number}" for number in range(AT_ONCE)]
    browsers = [site.browser() for _ in passwords]
    for browser in browsers:
        await browser.get(link)
    await asyncio.gather(*(b.send(link, password=p) for b, p in zip(browsers, passwords, strict=True)))
    signed_in = [(await site.sign_in(password=password)).is_signed_in for password in passwords]
    assert signed_in.count(True) == 1


async def test_a_code_is_good_once_also_at_the_same_time(site: "Site") -> None:
    ada = await site.sign_up()
    await ada.get("/account/totp")
    found = re.search(r'<code id="key"[^>]*>([A-Z2-7 ]+)</code>', ada.text)
    assert found
    totp = pyotp.TOTP(found[1].replace(" ", ""))
    await ada.send("/account/totp", code=totp.at(site.clock.now() // 1000, counter_offset=-1), password=PASSWORD)
    recovery = re.findall(r"\b[a-hjkmnp-z02-9]{5}-[a-hjkmnp-z02-9]{5}\b", ada.text)[0]
    for code in (totp.at(site.clock.now() // 1000), recovery):
        browsers = [await site.sign_in() for _ in range(4)]
        await asyncio.gather(*(browser.send("/sign-in/second-factor", code=code) for browser in browsers))
        assert [browser.is_signed_in for browser in browsers].count(True) == 1
        site.clock.move(3600)


async def test_new_keys_are_shown_once_also_at_the_same_time(site: "Site") -> None:
    ada: Any = await site.sign_up()
    await ada.get("/organisations/new")
    await ada.send("/organisations/new", name="Acme")
    base = ada.path
    await ada.get(f"{base}/subscribe/sandbox")
    ada.http.follow_redirects = False
    answer = await ada.send(f"{base}/subscribe/sandbox", name="app", terms="yes")
    looks = await asyncio.gather(*(ada.http.get(answer.headers["location"]) for _ in range(AT_ONCE)))
    assert sorted(look.status_code for look in looks) == [200, *([303] * (AT_ONCE - 1))]
    assert sum("srk_" in look.text for look in looks) == 1


async def test_an_organisation_of_one_name_is_made_once_also_at_the_same_time(site: "Site") -> None:
    ada = await site.sign_up()
    await ada.get("/organisations/new")
    ada.http.follow_redirects = False
    answers = await asyncio.gather(*(ada.post("/organisations/new", name="Acme") for _ in range(AT_ONCE)))
    assert sorted(answer.status_code for answer in answers) == [303, *([422] * (AT_ONCE - 1))]
    await ada.get("/")
    assert ada.text.count(">Acme</a>") == 1


async def test_of_many_keys_asked_for_at_the_same_time_two_are_made(site: "Site") -> None:
    ada = await site.sign_up()
    await ada.get("/organisations/new")
    await ada.send("/organisations/new", name="Acme")
    path = f"{ada.path}/api-keys"
    await ada.get(path)
    ada.http.follow_redirects = False
    answers = await asyncio.gather(*(ada.post(path, name="backend") for _ in range(AT_ONCE)))
    assert sorted(answer.status_code for answer in answers) == [303, 303, *([422] * (AT_ONCE - 2))]
