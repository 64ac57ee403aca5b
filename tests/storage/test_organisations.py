"""Rules of organisations: how many one owns, and that each keeps an owner, on every engine."""

import asyncio
from collections.abc import AsyncIterator
from importlib.resources import files
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import pytest

from strongroom.portal.membership import organisations
from strongroom.portal.membership.organisations import LastOwner, TooManyOrganisations
from strongroom.portal.pages.account import delete_unless_needed
from strongroom.portal.refusals import Forbidden
from strongroom.storage import Store
from strongroom.storage.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from tools.postgres_server import PostgresServer

pytestmark = pytest.mark.anyio

ACME, ADA, BOB, CEM = b"c" * 16, b"a" * 16, b"b" * 16, b"m" * 16
NOW = 1_000_000


@pytest.fixture(params=["sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    folder = files("strongroom.portal") / "migrations"
    made: Store
    if request.param == "sqlite":
        made = SqliteStore(tmp_path / "portal.sqlite", folder)
    else:
        from strongroom.storage.postgres.store import PostgresStore

        schema = f"organisations_{token_hex(4)}"  # one for each test
        server: PostgresServer = request.getfixturevalue("postgres_server")
        made = PostgresStore(f"{server.url()}&options=-csearch_path%3D{schema}", "portal", folder)
    await made.open()
    try:
        yield made
    finally:
        await made.close()


async def test_of_two_owners_who_leave_together_one_stays(store: Store) -> None:
    for number in range(5):
        provider_id = bytes([number]) * 16

        async def found(tx: Any, provider_id: bytes = provider_id) -> None:
            await organisations.add(tx, provider_id, ADA, "owner", NOW)
            await organisations.add(tx, provider_id, BOB, "owner", NOW)

        def leave(who: bytes, provider_id: bytes = provider_id) -> Any:
            return store.write(lambda tx: organisations.remove(tx, provider_id, who, who, NOW))

        await store.write(found)
        answers = await asyncio.gather(leave(ADA), leave(BOB), return_exceptions=True)
        assert sorted(type(answer).__name__ for answer in answers) == ["LastOwner", "bool"]


async def test_of_two_owners_who_delete_their_accounts_together_one_stays(store: Store) -> None:
    for number in range(5):
        provider_id = bytes([number]) * 16

        async def found(tx: Any, provider_id: bytes = provider_id) -> None:
            await organisations.add(tx, provider_id, ADA, "owner", NOW)
            await organisations.add(tx, provider_id, BOB, "owner", NOW)

        def delete(who: bytes) -> Any:
            return store.write(lambda tx: delete_unless_needed(tx, who, NOW))

        await store.write(found)
        assert sorted(await asyncio.gather(delete(ADA), delete(BOB))) == [False, True]
        await store.write(lambda tx: tx.run("DELETE FROM memberships"))


async def test_of_two_owners_who_put_each_other_out_the_slower_one_is_none_any_more(store: Store) -> None:
    for number in range(5):
        provider_id = bytes([number]) * 16

        async def found(tx: Any, provider_id: bytes = provider_id) -> None:
            for who in (ADA, BOB, CEM):
                await organisations.add(tx, provider_id, who, "owner", NOW)

        def remove(who: bytes, by: bytes, provider_id: bytes = provider_id) -> Any:
            return store.write(lambda tx: organisations.remove(tx, provider_id, who, by, NOW))

        await store.write(found)
        answers = await asyncio.gather(remove(ADA, BOB), remove(BOB, ADA), return_exceptions=True)
        assert sorted(type(answer).__name__ for answer in answers) == ["Forbidden", "bool"]


async def test_roles_are_given_by_owners_alone(store: Store) -> None:
    await store.write(lambda tx: organisations.add(tx, ACME, ADA, "owner", NOW))
    await store.write(lambda tx: organisations.add(tx, ACME, BOB, "member", NOW))
    for act in (
        lambda tx: organisations.set_role(tx, ACME, BOB, "owner", BOB, NOW),
        lambda tx: organisations.hand_over(tx, ACME, BOB, ADA, NOW),
        lambda tx: organisations.remove(tx, ACME, ADA, BOB, NOW),
        lambda tx: organisations.remove(tx, ACME, BOB, CEM, NOW),
    ):
        with pytest.raises(Forbidden):
            await store.write(act)
    assert await store.write(lambda tx: organisations.remove(tx, ACME, BOB, BOB, NOW))


async def test_the_last_owner_becomes_no_member(store: Store) -> None:
    await store.write(lambda tx: organisations.add(tx, ACME, ADA, "owner", NOW))
    with pytest.raises(LastOwner):
        await store.write(lambda tx: organisations.set_role(tx, ACME, ADA, "member", ADA, NOW))
    assert not await store.write(lambda tx: organisations.hand_over(tx, ACME, ADA, ADA, NOW))
    assert not await store.write(lambda tx: organisations.hand_over(tx, ACME, ADA, BOB, NOW))
    found = await store.read(lambda tx: organisations.find(tx, ACME, ADA))
    assert found is not None
    assert found.role == "owner"


async def test_whoever_joins_twice_keeps_the_role(store: Store) -> None:
    assert await store.write(lambda tx: organisations.join(tx, ACME, BOB, "member", NOW))
    assert not await store.write(lambda tx: organisations.join(tx, ACME, BOB, "owner", NOW))
    found = await store.read(lambda tx: organisations.find(tx, ACME, BOB))
    assert found is not None
    assert found.role == "member"


async def test_a_developer_owns_twenty_at_most(store: Store) -> None:
    def found(provider_id: bytes) -> Any:
        return store.write(lambda tx: organisations.found(tx, provider_id, ADA, NOW))

    for number in range(organisations.MAX_OWNED):
        await found(b"o" * 15 + bytes([number]))
    with pytest.raises(TooManyOrganisations):
        await found(ACME)
    assert await store.read(lambda tx: organisations.find(tx, ACME, ADA)) is None
