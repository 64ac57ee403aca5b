"""Races that SQLite's single writer excludes: two visits at the same moment, on PostgreSQL."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import pyotp
import pytest
from tools.postgres_server import PostgresServer

from strongroom.portal.web import signing_in
from strongroom.storage import Transaction

if TYPE_CHECKING:
    from tests.portal.conftest import Browser, Running, Site

pytestmark = pytest.mark.anyio
EMAIL = "ada@example.com"
PASSWORD = "plain words for a portal"
NEW_PASSWORD = "other words for a portal"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as running:
        yield running


@pytest.fixture
async def site(running: "Running", server: PostgresServer) -> "AsyncIterator[Site]":
    database = f"{server.url()}&options=-csearch_path%3Dportal_{token_hex(4)}"
    async with running(access_database=database) as made:
        yield made


class Held:
    """A sign-in waits, within its transaction, between its look at the second factor and its new session."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self.go = asyncio.Event(), asyncio.Event()
        look = signing_in.has_second_factor

        async def held(tx: Transaction, developer_id: bytes) -> bool:
            found = await look(tx, developer_id)
            if not self.reached.is_set():
                self.reached.set()
                await self.go.wait()
            return found

        monkeypatch.setattr(signing_in, "has_second_factor", held)


async def both(held: Held, first: Any, second: Any) -> None:
    """Begin the first, let the second one run while it is held, then let it go on."""
    beginning = asyncio.create_task(first)
    await held.reached.wait()
    following = asyncio.create_task(second)
    await asyncio.wait([following], timeout=0.5)
    held.go.set()
    await asyncio.gather(beginning, following)


async def totp_form(browser: "Browser", site: "Site") -> str:
    await browser.get("/account/totp")
    found = re.search(r'<code id="key"[^>]*>([A-Z2-7 ]+)</code>', browser.text)
    assert found
    return pyotp.TOTP(found[1].replace(" ", "")).at(site.clock.now() // 1000)


async def test_a_sign_in_beside_the_first_second_factor_is_not_overlooked(
    site: "Site", monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, thief = await site.sign_up(), site.browser()
    code = await totp_form(ada, site)
    await thief.get("/sign-in")
    await both(
        Held(monkeypatch),
        thief.send("/sign-in", email=EMAIL, password=PASSWORD),
        ada.send("/account/totp", code=code, password=PASSWORD),
    )
    await ada.get("/account")
    assert ada.is_signed_in
    await thief.get("/account")
    assert not thief.is_signed_in


async def test_a_sign_in_during_a_change_of_password_is_ended(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    ada, thief = await site.sign_up(), site.browser()
    await ada.get("/account/security")
    await thief.get("/sign-in")
    await both(
        Held(monkeypatch),
        thief.send("/sign-in", email=EMAIL, password=PASSWORD),
        ada.send("/account/password", password=PASSWORD, new_password=NEW_PASSWORD),
    )
    await thief.get("/account")
    assert not thief.is_signed_in


async def test_a_closed_organisation_keeps_no_member_that_joined_meanwhile(site: "Site") -> None:
    ada = await site.sign_up()
    for number in range(3):
        email = f"bob-{number}@example.com"
        bob = await site.sign_up(email)
        await ada.get("/organisations/new")
        await ada.send("/organisations/new", name=f"Acme {number}")
        base = ada.path
        await ada.get(f"{base}/people")
        await ada.send(f"{base}/people/invite", email=email, role="member")
        link = await site.link(email, "/invitations/")
        await bob.get(link)
        inviting = await site.sign_in()
        await inviting.get(f"{base}/people")
        await ada.get(f"{base}/settings")
        answers = await asyncio.gather(
            ada.send(f"{base}/settings/close", confirmation=f"Acme {number}", password=PASSWORD),
            bob.send(link),
            inviting.send(f"{base}/people/invite", email="eve@example.com", role="member"),
        )
        assert not [answer.status_code for answer in answers if answer.status_code >= 500]
        assert "The organisation was closed" in ada.text
        for table in ("memberships", "invitations"):
            assert await site.portal.store.read(lambda tx, name=table: tx.all(f"SELECT 1 FROM {name}")) == []  # type: ignore[misc]  # bound early
