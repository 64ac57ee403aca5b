"""The whole table of pages against real objects: another organisation's, forms that are not ours, and reading alone."""

from typing import TYPE_CHECKING

import httpx
import pytest
from tests.portal.furnished import Organisation, differences, furnish, operator, rows, token_of

from strongroom.portal.area import PREFIX
from strongroom.portal.pages import ALL
from strongroom.portal.web.page import Needs, Page
from strongroom.storage import Transaction

if TYPE_CHECKING:
    from tests.portal.conftest import Browser, Site

pytestmark = pytest.mark.anyio

ADA, BOB, EVE = "ada@example.com", "bob@example.com", "eve@example.com"
FIELDS = {
    "name": "changed by a stranger",
    "slot": "primary",
    "grace": "none",
    "role": "owner",
    "ends": "",
    "email": "mallory@example.com",
    "terms": "yes",
    "confirmed": "yes",
    "username": "ada",
}
SHOWS_ONCE = "{shown}"


def address(page: Page, acme: Organisation) -> str:
    """Parameters that belong to no organisation are named `x`."""
    return acme.address(page, link="x", code="x", operation="x", name="x")


async def post(browser: "Browser", path: str, token: str, **headers: str) -> httpx.Response:
    return await browser.http.post(PREFIX + path, data={"csrf_token": token, **FIELDS}, headers=headers)


async def test_a_forged_form_causes_no_action(whole_site: "Site") -> None:
    site = whole_site
    acme = await furnish(site, "Acme", ADA, BOB)
    eve, chief = await site.sign_up(EVE, name="Eve"), await operator(site)
    half = await site.sign_up("half@example.com")

    async def halve(tx: Transaction) -> None:
        newest = await tx.one("SELECT id FROM developer_sessions ORDER BY rowid DESC LIMIT 1")
        assert newest is not None
        await tx.run("UPDATE developer_sessions SET stage = 'password' WHERE id = :id", id=newest[0])

    await half.get("/account")
    await site.portal.store.write(halve)
    await acme.owner.get("/account")
    await eve.get("/account")
    await chief.get("/account")
    browsers = {Needs.operator: chief, Needs.half_signed_in: half}
    before = await rows(site)
    for page in ALL:
        if page.method != "POST":
            continue
        browser = browsers.get(page.needs, acme.owner)
        good = token_of(half) if browser is half else token_of(browser)
        path = address(page, acme)
        answers = [
            await post(browser, path, ""),
            await post(browser, path, token_of(eve)),
            await post(browser, path, good[:-1]),
            await post(browser, path, good, Origin="https://evil.example"),
            await post(browser, path, good, Origin="null"),
            await post(browser, path, good, **{"Sec-Fetch-Site": "cross-site"}),
            await post(browser, path, good, **{"Sec-Fetch-Site": "same-site"}),
            await browser.http.post(f"{PREFIX}{path}?csrf_token={good}", data=FIELDS),
            await browser.http.post(PREFIX + path, json={"csrf_token": good, **FIELDS}),
            await browser.http.post(PREFIX + path, files={"csrf_token": (None, good)}),
            await browser.http.post(
                PREFIX + path, content=f"csrf_token={good}", headers={"Content-Type": "text/plain"}
            ),
        ]
        assert {answer.status_code for answer in answers} == {403}, page.path
    assert differences(before, await rows(site)) == set()


async def test_reading_changes_nothing(site: "Site") -> None:
    acme = await furnish(site, "Acme", ADA, BOB)
    chief = await operator(site)
    before = await rows(site)
    for page in ALL:
        if page.method == "GET" and SHOWS_ONCE not in page.path:
            browser = chief if page.needs is Needs.operator else acme.owner
            answer = await browser.get(address(page, acme))
            assert answer.status_code in (200, 404), page.path
            assert "csrf_token=" not in str(answer.url)
    assert differences(before, await rows(site)) == set()


async def test_what_a_page_shows_is_kept_by_no_cache(site: "Site") -> None:
    acme = await furnish(site, "Acme", ADA, BOB)
    chief = await operator(site)
    for page in ALL:
        if page.method == "GET" and "/static/" not in page.path:
            browser = chief if page.needs is Needs.operator else acme.owner
            answer = await browser.get(address(page, acme))
            assert answer.headers["cache-control"] == "no-store", page.path
