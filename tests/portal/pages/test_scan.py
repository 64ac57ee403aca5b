"""The whole table of pages against real objects: another organisation's, forms that are not ours, and reading alone."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from strongroom.portal.area import PREFIX
from strongroom.portal.page import Needs, Page
from strongroom.portal.pages import ALL
from strongroom.server.db import Store, Transaction

if TYPE_CHECKING:
    from tests.portal.conftest import Browser, Site

pytestmark = pytest.mark.anyio

ADA, BOB, EVE, OPERATOR = "ada@example.com", "bob@example.com", "eve@example.com", "operator@example.com"
SECRET_NAME = "a name that only Acme knows"
FIELDS = {
    "name": "changed by a stranger",
    "slot": "primary",
    "grace": "none",
    "role": "owner",
    "ends": "",
    "email": "mallory@example.com",
    "terms": "yes",
    "username": "ada",
}
SHOWS_ONCE = "{shown}"


@dataclass
class Acme:
    """An organisation with one of everything."""

    owner: "Browser"
    ids: dict[str, str]

    def address(self, page: Page, **other: str) -> str:
        values = {**self.ids, "product": "sandbox", "act": "suspend", "area": "keystore", **other}
        return re.sub(r"\{([a-z_]+)\}", lambda found: values.get(found[1], "x"), page.path)


async def organisation(browser: "Browser", name: str) -> str:
    await browser.get("/organisations/new")
    await browser.send("/organisations/new", name=name)
    return browser.path.removeprefix("/organisations/")


def between(text: str, before: str, after: str) -> str:
    found = re.search(f"{re.escape(before)}([0-9a-f-]{{36}}){re.escape(after)}", text)
    assert found, (before, text)
    return found[1]


async def furnished(site: "Site") -> Acme:
    ada = await site.sign_up(ADA)
    bob = await site.sign_up(BOB, name="Bob")
    acme = await organisation(ada, "Acme")
    base = f"/organisations/{acme}"
    await ada.get(f"{base}/people")
    await ada.send(f"{base}/people/invite", email=BOB, role="member")
    link = await site.link(BOB)
    await bob.get(link)
    await bob.send(link)
    await ada.get(f"{base}/people")
    await ada.send(f"{base}/people/invite", email="carol@example.com", role="member")
    people = ada.text
    await ada.get(f"{base}/api-keys")
    await ada.send(f"{base}/api-keys", name=SECRET_NAME)
    await ada.get(f"{base}/api-keys")
    api_keys = ada.text
    await ada.get(f"{base}/subscribe/sandbox")
    await ada.send(f"{base}/subscribe/sandbox", name=SECRET_NAME, terms="yes")
    subscription = ada.path.split("/")[4]
    await ada.send(f"{base}/subscriptions/{subscription}/activate")
    # Keys that still wait to be shown.
    ada.http.follow_redirects = False
    await ada.get(f"{base}/subscriptions/{subscription}")
    answer = await ada.send(f"{base}/subscriptions/{subscription}/keys", slot="secondary", grace="none")
    ada.http.follow_redirects = True
    return Acme(
        ada,
        {
            "organisation": acme,
            "provider": acme,
            "subscription": subscription,
            "developer": between(people, f"{base}/people/", "/remove"),
            "invitation": between(people, f"{base}/invitations/", "/withdraw"),
            "key": between(api_keys, f"{base}/api-keys/", "/revoke"),
            "shown": answer.headers["location"].rpartition("/")[2],
        },
    )


async def rows(site: "Site") -> dict[str, Any]:
    """Everything in both databases, but how often something was tried."""

    async def dump(store: Store) -> dict[str, Any]:
        async def look(tx: Transaction) -> dict[str, Any]:
            tables = await tx.all("SELECT name FROM sqlite_master WHERE type = 'table'")
            return {
                name: sorted(map(repr, await tx.all(f"SELECT * FROM {name}")))
                for (name,) in tables
                if name not in ("attempts", "sqlite_sequence")
            }

        return await store.read_many(look)

    await site.mails()  # nothing waits to be sent any more
    return {"portal": await dump(site.portal.store), "access": await dump(site.portal.access)}


def of(dumped: dict[str, Any], text: str) -> list[str]:
    """The rows that name an id."""
    name = repr(bytes.fromhex(text.replace("-", "")))
    return [row for tables in dumped.values() for found in tables.values() for row in found if name in row]


async def post(browser: "Browser", path: str, token: str, **headers: str) -> httpx.Response:
    return await browser.http.post(PREFIX + path, data={"csrf_token": token, **FIELDS}, headers=headers)


def token_of(browser: "Browser") -> str:
    found = re.search(r'name="csrf_token" value="([^"]+)"', browser.text)
    assert found
    return found[1]


async def test_objects_of_another_organisation_are_not_reached_through_ones_own(site: "Site") -> None:
    acme = await furnished(site)
    eve = await site.sign_up(EVE, name="Eve")
    own = await organisation(eve, "Eves")
    await eve.get("/account")
    token = token_of(eve)
    eve.http.follow_redirects = False
    before = of(await rows(site), acme.ids["organisation"])
    tried = 0
    for page in ALL:
        named = set(re.findall(r"\{([a-z_]+)\}", page.path)) & acme.ids.keys() - {"organisation"}
        if "{organisation}" not in page.path or not named:
            continue
        path = acme.address(page, organisation=own)
        answer = await (eve.http.get(PREFIX + path) if page.method == "GET" else post(eve, path, token))
        assert answer.status_code in (303, 404), page.path
        assert SECRET_NAME not in answer.text, page.path
        tried += 1
    assert tried >= 15
    assert of(await rows(site), acme.ids["organisation"]) == before


async def test_no_action_is_taken_for_a_form_that_is_not_ours(site: "Site") -> None:
    acme = await furnished(site)
    eve, chief = await site.sign_up(EVE, name="Eve"), await site.sign_up(OPERATOR)
    half = await site.sign_up("half@example.com")

    async def halve(tx: Transaction) -> None:
        newest = await tx.one("SELECT id FROM sessions ORDER BY rowid DESC LIMIT 1")
        assert newest is not None
        await tx.run("UPDATE sessions SET stage = 'password' WHERE id = :id", id=newest[0])

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
        path = acme.address(page)
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
    assert await rows(site) == before


async def test_reading_changes_nothing(site: "Site") -> None:
    acme = await furnished(site)
    chief = await site.sign_up(OPERATOR)
    before = await rows(site)
    for page in ALL:
        if page.method == "GET" and SHOWS_ONCE not in page.path:
            browser = chief if page.needs is Needs.operator else acme.owner
            answer = await browser.get(acme.address(page))
            assert answer.status_code in (200, 404), page.path
            assert "csrf_token=" not in str(answer.url)
    assert await rows(site) == before


async def test_what_a_page_shows_is_kept_by_no_cache(site: "Site") -> None:
    acme = await furnished(site)
    chief = await site.sign_up(OPERATOR)
    for page in ALL:
        if page.method == "GET" and "/static/" not in page.path:
            browser = chief if page.needs is Needs.operator else acme.owner
            answer = await browser.get(acme.address(page))
            assert answer.headers["cache-control"] == "no-store", page.path
