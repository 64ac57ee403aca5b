"""Statements on a session of PostgreSQL: what is sent when, and what is left after something went wrong."""

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import psycopg
import pytest
from tools.postgres_server import PostgresServer

from strongroom.storage import Transaction
from strongroom.storage.postgres import session as sessions
from strongroom.storage.postgres.connection import PostgresConnection, Target
from strongroom.storage.postgres.session import PostgresSession
from strongroom.storage.postgres.store import PostgresStore

if TYPE_CHECKING:
    from tests.storage.conftest import Database

pytestmark = pytest.mark.anyio

WORKING = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(17)%' AND state = 'active'"
PREPARED = "SELECT count(*) FROM pg_prepared_statements WHERE statement = 'SELECT 41 + $1'"


@pytest.fixture
def engine() -> str:
    return "postgresql"


@pytest.fixture
async def session(postgres_server: PostgresServer) -> AsyncIterator[PostgresSession]:
    opened = await PostgresSession.open(Target(postgres_server.url(), "vault"))
    yield opened
    await opened.close()


async def ask(session: PostgresSession, sql: str, **values: int | str | bytes | None) -> tuple[object, ...]:
    answer = session.send(sql, values)
    await session.answered()
    return session.rows(answer)[0]


async def session_does(session: PostgresSession, sql: str) -> None:
    session.send(sql, {})
    await session.answered()


async def becomes(session: PostgresSession, sql: str, expected: int) -> bool:
    for _ in range(500):
        if await ask(session, sql) == (expected,):
            return True
        await asyncio.sleep(0.01)
    return False


async def test_values_come_back_as_they_were_sent(session: PostgresSession) -> None:
    sql = "SELECT :text::text, :number::bigint, :content::bytea, :nothing::text, :number > 1, sum(:number)"
    row = await ask(session, sql, text="ü\U0001f511", number=2**62, content=b"\0\xff", nothing=None)
    assert row == ("ü\U0001f511", 2**62, b"\0\xff", None, 1, 2**62)
    assert {type(value) for value in row} == {str, int, bytes, type(None)}


async def test_text_is_utf8_with_any_url_and_environment(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    for option in ("", "&client_encoding=LATIN1"):
        session = await PostgresSession.open(Target(postgres_server.url() + option, "vault"))
        assert await ask(session, "SELECT :text::text, length(:text)", text="ü\U0001f511") == ("ü\U0001f511", 2)
        await session.close()


async def test_statements_are_prepared_once_for_each_kind_of_value(session: PostgresSession) -> None:
    for number in range(5):
        assert await ask(session, "SELECT 41 + :number", number=number) == (41 + number,)
    assert await ask(session, PREPARED) == (1,)
    await ask(session, "SELECT 41 + :number", number=None)
    assert await ask(session, PREPARED) == (2,)


async def test_more_statements_than_are_kept_work_too(
    session: PostgresSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "PREPARED_STATEMENTS", 2)
    for _ in range(2):
        for number in range(5):
            assert await ask(session, f"SELECT {number} + :more", more=1) == (number + 1,)
    assert await ask(session, "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 's%'") == (2,)


async def test_of_several_statements_the_first_error_is_raised_and_the_session_is_usable(
    session: PostgresSession,
) -> None:
    session.send("SELECT 1", {})
    session.send("SELECT 1 / :zero", {"zero": 0})
    session.send("SELECT nonsense", {})
    with pytest.raises(psycopg.errors.DivisionByZero):
        await session.answered()
    assert session.idle
    # Neither the one that failed in the preparation nor those that were passed over count as prepared.
    with pytest.raises(psycopg.errors.UndefinedColumn):
        await ask(session, "SELECT nonsense")
    with pytest.raises(psycopg.errors.UndefinedColumn):
        await ask(session, "SELECT nonsense")
    with pytest.raises(psycopg.errors.DivisionByZero):
        await ask(session, "SELECT 1 / :zero", zero=0)


async def test_an_error_after_the_last_answer_is_raised_too(session: PostgresSession) -> None:
    await session_does(session, "SET default_transaction_read_only = off")
    await session_does(session, "CREATE TEMP TABLE twice (id BIGINT UNIQUE DEFERRABLE INITIALLY DEFERRED)")
    session.send("INSERT INTO twice VALUES (1), (1)", {})  # succeeds; the transaction around it does not
    with pytest.raises(psycopg.errors.UniqueViolation):
        await asyncio.wait_for(session.answered(), 5)
    assert session.idle
    assert await ask(session, "SELECT count(*) FROM twice") == (0,)


async def test_what_the_socket_does_not_take_at_once_follows(session: PostgresSession) -> None:
    large = "x" * 30_000_000
    sent = [session.send("SELECT :large || ''", {"large": large}) for _ in range(2)]
    await session.answered()
    assert [session.rows(answer) for answer in sent] == [[(large,)]] * 2


async def test_several_may_wait_for_answers_of_one_session(session: PostgresSession) -> None:
    numbers = await asyncio.gather(*(ask(session, "SELECT :number + 0", number=number) for number in range(9)))
    assert numbers == [(number,) for number in range(9)]


async def test_a_session_that_the_server_ended_is_known_as_closed_without_being_used(
    session: PostgresSession, postgres_server: PostgresServer
) -> None:
    (pid,) = await ask(session, "SELECT pg_backend_pid()")
    async with await psycopg.AsyncConnection.connect(postgres_server.url()) as other:
        await other.execute("SELECT pg_terminate_backend(%s)", (pid,))
    for _ in range(500):
        if session.closed:
            break
        await asyncio.sleep(0.01)
    assert session.closed
    with pytest.raises(psycopg.OperationalError):
        session.send("SELECT 1", {})


async def test_a_cancelled_statement_is_stopped_on_the_server(
    session: PostgresSession, postgres_server: PostgresServer
) -> None:
    other = await PostgresSession.open(Target(postgres_server.url(), "vault"))
    asking = asyncio.ensure_future(ask(other, "SELECT pg_sleep(17)"))
    assert await becomes(session, WORKING, 1)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert not other.idle
    await other.close()
    assert await becomes(session, WORKING, 0)


async def test_closing_does_not_wait_long_for_a_server_that_stops_nothing(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def endless(connection: PostgresConnection, **options: float) -> None:
        await asyncio.sleep(60 + options["timeout"])

    monkeypatch.setattr(PostgresConnection, "cancel_safe", endless)
    monkeypatch.setattr(sessions, "CANCEL_SECONDS", 0.1)
    session = await PostgresSession.open(Target(postgres_server.url(), "vault"))
    asking = asyncio.ensure_future(ask(session, "SELECT pg_sleep(1)"))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    async with asyncio.timeout(5):
        await session.close()
    assert session.closed


@pytest.mark.parametrize(("kind", "trips"), [("put", 1), ("hold", 2), ("run", 2)])
async def test_a_write_goes_to_the_server_no_more_often_than_its_answers_ask_for(
    database: "Database", monkeypatch: pytest.MonkeyPatch, kind: str, trips: int
) -> None:
    store = await database.open()
    assert isinstance(store, PostgresStore)
    await store.write(lambda tx: tx.execute("INSERT INTO items (id) VALUES (1)"))
    counted: list[int] = []
    answered = PostgresSession.answered

    async def counting(session: PostgresSession) -> None:
        counted.append(len(session._statements))
        await answered(session)

    async def work(tx: Transaction) -> None:
        if kind == "hold":
            await tx.lock_or_raise(KeyError(), "SELECT 1 FROM items WHERE id = 1")
        for number in (2, 3):
            await tx.execute("INSERT INTO items (id) VALUES (:id)", id=number)
        if kind == "run":
            await tx.run("UPDATE items SET amount = 1")

    monkeypatch.setattr(PostgresSession, "answered", counting)
    await store.write(work)
    assert len(counted) == trips
