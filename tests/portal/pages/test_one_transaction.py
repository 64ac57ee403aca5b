"""Each act of the portal is one transaction: wherever it breaks, all of it is stored or nothing."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import pytest
from tests.portal.furnished import OPERATOR, PASSWORD, UUID, operator
from tools.postgres_server import PostgresServer

from strongroom.backup.areas import known
from strongroom.runtime.clock import DAY
from strongroom.storage import Transaction, Unavailable, Value
from strongroom.storage.sqlite.tables import schema_made

if TYPE_CHECKING:
    from tests.portal.conftest import Browser, Running, Site

pytestmark = pytest.mark.anyio

BOB = "bob@example.com"
TABLES = [table.name for table in schema_made(known("access"))[0]]


@pytest.fixture(params=["sqlite", "postgresql"])
async def site(request: pytest.FixtureRequest, running: "Running") -> "AsyncIterator[Site]":
    if request.param == "sqlite":
        async with running() as made:
            yield made
    else:
        with PostgresServer() as server:
            database = f"{server.url()}&options=-csearch_path%3Dacts_{token_hex(4)}"
            async with running(access_database=database) as made:
                yield made


class Breaking:
    """A transaction that breaks before one of its changes; attempts are counted by themselves before an act."""

    def __init__(self, tx: Transaction, broken: int) -> None:
        self._tx, self._left = tx, broken
        self.one, self.all, self.lock_or_raise = tx.one, tx.all, tx.lock_or_raise

    def _count(self, sql: str) -> None:
        if "attempts" not in sql:
            self._left -= 1
            if not self._left:
                raise Unavailable from OSError("the disk is full")

    async def run(self, sql: str, **values: Value) -> int:
        self._count(sql)
        return await self._tx.run(sql, **values)

    async def execute(self, sql: str, **values: Value) -> None:
        self._count(sql)
        await self._tx.execute(sql, **values)


async def rows(site: "Site") -> dict[str, list[Any]]:
    async def look(tx: Transaction) -> dict[str, list[Any]]:
        return {name: sorted(await tx.all(f"SELECT * FROM {name}"), key=repr) for name in TABLES if name != "attempts"}

    return await site.portal.store.read_many(look)


async def changes(
    site: "Site", monkeypatch: pytest.MonkeyPatch, act: Callable[[], Awaitable[Any]]
) -> tuple[int, set[str]]:
    """Break the act before each of its statements, then let it be; how many there were, and the tables it changed."""
    before, write = await rows(site), site.portal.store.write
    for broken in range(1, 100):

        async def breaking(work: Any, broken: int = broken) -> Any:
            return await write(lambda tx: work(Breaking(tx, broken)))

        with monkeypatch.context() as patch:
            patch.setattr(site.portal.store, "write", breaking)
            status = (await act()).status_code
        after = await rows(site)
        found = {name for name in before if before[name] != after[name]}
        if status != 503:
            assert status == 303 or (status == 200 and broken > 1), status
            return broken - 1, found
        assert found == set(), (broken, found)
    raise AssertionError("it breaks for ever")


def form(browser: "Browser", page: str, path: str, **fields: str) -> Callable[[], Awaitable[Any]]:
    """Look at a page and send the form on it that goes to `path`."""

    async def act() -> Any:
        await browser.get(page)
        return await browser.send(path, **fields)

    return act


async def test_all_of_an_act_is_stored_or_nothing(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    ada, bob, chief = await site.sign_up(), await site.sign_up(BOB), await operator(site)
    for browser in (ada, bob, chief):
        browser.http.follow_redirects = False

    async def done(act: Callable[[], Awaitable[Any]], *tables: str) -> None:
        await site.mails()
        statements, found = await changes(site, monkeypatch, act)
        assert found == set(tables)
        assert statements >= len(tables)

    new = "/organisations/new"
    await done(form(ada, new, new, name="Acme"), "providers", "provider_names", "memberships", "audit_events")
    base = ada.seen.headers["location"].removeprefix("/portal") if ada.seen else ""

    subscribing = form(ada, f"{base}/subscribe/production", f"{base}/subscribe/production", name="app", terms="yes")
    await done(subscribing, "subscriptions", "subscription_keys", "shown_once", "mails", "audit_events")
    assert [mail["Subject"] for mail in await site.mails(OPERATOR)][-1] == "A Strongroom subscription waits for you"
    await ada.get(base)
    [subscription] = set(re.findall(f"{base}/subscriptions/({UUID})", ada.text))
    path = f"{base}/subscriptions/{subscription}"

    decide = f"/operator/subscriptions/{base.rpartition('/')[2]}/{subscription}/approve"
    await done(form(chief, "/operator", decide), "subscriptions", "mails", "audit_events")
    await done(form(ada, path, f"{path}/activate"), "subscriptions", "audit_events")

    regenerate = form(ada, path, f"{path}/keys", slot="primary", grace="day")
    await done(regenerate, "subscription_keys", "shown_once", "audit_events")
    making = form(ada, f"{base}/api-keys", f"{base}/api-keys", name="backend")
    await done(making, "provider_api_keys", "shown_once", "audit_events")

    people = f"{base}/people"
    inviting = form(ada, people, f"{people}/invite", email=BOB, role="member")
    await done(inviting, "invitations", "mails", "audit_events")
    link = await site.link(BOB, "/invitations/")
    await done(form(bob, link, link), "invitations", "memberships", "audit_events")
    await done(form(ada, people, f"{people}/invite", email="eve@example.com", role="member"), *(
        "invitations", "mails", "audit_events"
    ))  # fmt: skip

    site.clock.move(DAY // 1000 + 1)
    ada = await site.sign_in()
    ada.http.follow_redirects = False
    settings = f"{base}/settings"
    await done(
        form(ada, settings, f"{settings}/close", confirmation="Acme", password=PASSWORD),
        "providers",
        "subscriptions",
        "provider_api_keys",
        "memberships",
        "invitations",
        "mails",
        "audit_events",
    )
    assert (await site.mails(BOB))[-1]["Subject"] == "A Strongroom organisation was closed"
    assert (await ada.get(base)).status_code == 404


async def test_new_keys_are_not_lost_where_their_page_breaks(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    ada = await site.sign_up()
    await ada.get("/organisations/new")
    await ada.send("/organisations/new", name="Acme")
    page = f"{ada.path}/subscribe/sandbox"
    await ada.get(page)
    ada.http.follow_redirects = False
    answer = await ada.send(page, name="app", terms="yes")
    statements, found = await changes(site, monkeypatch, lambda: ada.get(answer.headers["location"]))
    assert (statements, found) == (2, {"shown_once"})
    assert ada.text.count("srk_") >= 2
