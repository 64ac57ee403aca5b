"""Rules of organisations: how many one owns, and that each keeps an owner, on every engine."""

import asyncio
from collections.abc import AsyncIterator
from importlib.resources import files
from pathlib import Path
from secrets import token_bytes, token_hex
from typing import TYPE_CHECKING, Any

import pytest

from strongroom.access import providers
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
DEVELOPER = """
INSERT INTO developers (id, email, name, password_hash, created_at, password_changed_at, totp_last_step)
VALUES (:id, :email, '', 'hash', 1, 1, 0)
"""


@pytest.fixture(params=["sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    folder = files("strongroom.access") / "migrations"
    made: Store
    if request.param == "sqlite":
        made = SqliteStore(tmp_path / "access.sqlite", folder)
    else:
        from strongroom.storage.postgres.store import PostgresStore

        schema = f"organisations_{token_hex(4)}"  # one for each test
        server: PostgresServer = request.getfixturevalue("postgres_server")
        made = PostgresStore(f"{server.url()}&options=-csearch_path%3D{schema}", "access", folder)
    await made.open()
    for number, who in enumerate((ADA, BOB, CEM)):
        await made.write(lambda tx, who=who, number=number: tx.run(DEVELOPER, id=who, email=f"{number}@example.com"))  # type: ignore[misc]  # bound early
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

        async def found(tx: Any, number: int = number) -> None:
            provider_id = await providers.create(tx, f"Acme {number}", NOW)
            await organisations.add(tx, provider_id, ADA, "owner", NOW)
            await organisations.add(tx, provider_id, BOB, "owner", NOW)

        def delete(who: bytes) -> Any:
            return store.write(lambda tx: delete_unless_needed(tx, who, NOW))

        await store.write(found)
        assert sorted(await asyncio.gather(delete(ADA), delete(BOB))) == [False, True]
        await store.write(lambda tx: tx.run("DELETE FROM memberships"))


async def test_of_two_owners_who_remove_each_other_the_slower_one_has_lost_the_role(store: Store) -> None:
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


async def test_joining_twice_keeps_the_role(store: Store) -> None:
    assert await store.write(lambda tx: organisations.join(tx, ACME, BOB, "member", NOW))
    assert not await store.write(lambda tx: organisations.join(tx, ACME, BOB, "owner", NOW))
    found = await store.read(lambda tx: organisations.find(tx, ACME, BOB))
    assert found is not None
    assert found.role == "member"


async def test_a_developer_owns_twenty_at_most(store: Store) -> None:
    def found(name: str) -> Any:
        return store.write(lambda tx: organisations.create(tx, name, ADA, NOW))

    for number in range(organisations.MAX_OWNED - 1):
        await found(f"Acme {number}")
    answers = await asyncio.gather(*(found(f"Globex {number}") for number in range(4)), return_exceptions=True)
    assert sorted(type(answer).__name__ for answer in answers) == ["TooManyOrganisations"] * 3 + ["bytes"]
    assert len(await store.read(lambda tx: organisations.of_developer(tx, ADA))) == organisations.MAX_OWNED
    # Nothing is left of what was refused: its name is free.
    refused = next(number for number, answer in enumerate(answers) if isinstance(answer, TooManyOrganisations))
    assert await store.write(lambda tx: organisations.create(tx, f"Globex {refused}", BOB, NOW))


async def test_of_concurrent_callers_one_gets_the_name(store: Store) -> None:
    answers = await asyncio.gather(
        *(store.write(lambda tx, who=who: organisations.create(tx, "Acme", who, NOW)) for who in (ADA, BOB, CEM)),  # type: ignore[misc]  # bound early
        return_exceptions=True,
    )
    assert sorted(type(answer).__name__ for answer in answers) == ["NameTaken", "NameTaken", "bytes"]
    assert len(await store.read(lambda tx: tx.all("SELECT 1 FROM memberships"))) == 1


async def test_no_membership_remains_of_an_account_deleted_at_the_same_time(store: Store) -> None:
    await store.write(lambda tx: organisations.add(tx, ACME, CEM, "owner", NOW))
    for number, begin in enumerate(
        (
            lambda tx, who: organisations.create(tx, "Globex", who, NOW),
            lambda tx, who: organisations.join(tx, ACME, who, "member", NOW),
        )
    ):
        for _ in range(5):
            await store.write(lambda tx: tx.run("DELETE FROM memberships WHERE developer_id <> :who", who=CEM))
            await store.write(lambda tx: tx.run("DELETE FROM provider_names"))
            who = token_bytes(16)
            email = f"{who.hex()}@example.com"
            await store.write(lambda tx, who=who, email=email: tx.run(DEVELOPER, id=who, email=email))  # type: ignore[misc]  # bound early
            answers = await asyncio.gather(
                store.write(lambda tx, who=who, begin=begin: begin(tx, who)),  # type: ignore[misc]  # bound early
                store.write(lambda tx, who=who: delete_unless_needed(tx, who, NOW)),  # type: ignore[misc]  # bound early
                return_exceptions=True,
            )
            # Made first, an organisation keeps the account; a membership goes with it.
            assert type(answers[0]).__name__ in (("bytes", "Forbidden") if number == 0 else ("bool",)), answers
            left = await store.read(lambda tx, who=who: organisations.list_of(tx, who))  # type: ignore[misc]  # bound early
            assert bool(left) is (answers[1] is False)
