"""Failures of a database behind a network connection, and what the caller gets for each."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import pq
from tools.postgres_server import PostgresServer

from strongroom.runtime.settings import SettingsError
from strongroom.storage import Row, Transaction, Unavailable
from strongroom.storage.migrate import SchemaError
from strongroom.storage.open import open_snapshot
from strongroom.storage.postgres import connection as postgres_connection
from strongroom.storage.postgres import store as postgres
from strongroom.storage.postgres.connection import SYSTEM_CERTIFICATES, Target
from strongroom.storage.postgres.copying import PostgresDestination
from strongroom.storage.postgres.pool import Pool
from strongroom.storage.postgres.session import PostgresSession
from strongroom.storage.postgres.store import PostgresStore

if TYPE_CHECKING:
    from tests.storage.conftest import Database

pytestmark = pytest.mark.anyio

INSERT = "INSERT INTO items (id) VALUES (:id)"
COUNT = "SELECT count(*) FROM items"
BYTEA = 17
END_MYSELF = "SELECT pg_terminate_backend(pg_backend_pid())"


@pytest.fixture
def engine() -> str:
    return "postgresql"


@pytest.fixture
async def store(database: "Database") -> PostgresStore:
    opened = await database.open()
    assert isinstance(opened, PostgresStore)
    return opened


@pytest.fixture
def server(items: Path) -> Iterator[PostgresServer]:
    """One to stop and start."""
    with PostgresServer() as own:
        yield own


@pytest.fixture
async def restarted(server: PostgresServer, items: Path) -> AsyncIterator[PostgresStore]:
    """A store on the server that is stopped and started."""
    opened = PostgresStore(server.url(), "vault", items)
    await opened.open()
    yield opened
    await opened.close()


async def put(tx: Transaction, number: int) -> None:
    await tx.execute(INSERT, id=number)


async def count(store: PostgresStore) -> int:
    row = await store.read(lambda tx: tx.one(COUNT))
    assert row is not None
    return int(row[0])


def pool_of(store: PostgresStore) -> Pool[PostgresSession]:
    assert store._pool is not None
    return store._pool


async def change_schema(database: "Database", *statements: str) -> None:
    """As an operator would, beside the service."""
    async with await psycopg.AsyncConnection.connect(database.setting, autocommit=True) as connection:
        for statement in statements:
            await connection.execute(statement.encode())


class Runs:
    """A unit of work that counts how often it was run and goes wrong the first few times."""

    def __init__(self, wrong: str, times: int = 1) -> None:
        self.count, self._wrong, self._times = 0, wrong, times

    async def __call__(self, tx: Transaction) -> int:
        self.count += 1
        await put(tx, self.count)
        if self.count <= self._times:
            await tx.run(self._wrong)
        return self.count


def raising(state: str) -> str:
    return f"DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '{state}'; END $$"


@pytest.mark.parametrize("wrong", [END_MYSELF, raising("40001"), raising("40P01"), raising("57P01"), raising("25006")])
async def test_a_write_that_surely_stored_nothing_is_retried(store: PostgresStore, wrong: str) -> None:
    work = Runs(wrong)
    assert await store.write(work) == 2
    assert await count(store) == 1


@pytest.mark.parametrize("state", ["40001", "40P01"])
async def test_a_write_rolled_back_by_a_conflict_is_retried_a_few_times(store: PostgresStore, state: str) -> None:
    assert await store.write(Runs(raising(state), times=3)) == 4
    assert await count(store) == 1


@pytest.mark.parametrize(
    ("wrong", "tries"), [(END_MYSELF, 2), (raising("57P01"), 2), (raising("40001"), 4), (raising("40P01"), 4)]
)
async def test_and_then_no_more(store: PostgresStore, wrong: str, tries: int) -> None:
    work = Runs(wrong, times=9)
    with pytest.raises(Unavailable):
        await store.write(work)
    assert work.count == tries
    assert await count(store) == 0


@pytest.mark.parametrize("state", ["53100", "53300", "55P03", "57014", "58030", "XX000"])
async def test_trouble_of_the_server_is_unavailable(store: PostgresStore, state: str) -> None:
    work = Runs(raising(state))
    with pytest.raises(Unavailable):
        await store.write(work)
    assert work.count == 1
    assert await count(store) == 0


@pytest.mark.parametrize("state", ["42P01", "22P02", "P0001"])
async def test_a_mistake_of_ours_is_no_trouble_of_the_server_and_tells_no_values(
    store: PostgresStore, state: str
) -> None:
    with pytest.raises(postgres.Failure, match=state) as caught:
        await store.write(Runs(raising(state)))
    assert "no" not in str(caught.value).split()


async def test_a_deadlock_is_solved_by_another_try(store: PostgresStore) -> None:
    await store.write(lambda tx: put(tx, 1))
    await store.write(lambda tx: put(tx, 2))
    both = asyncio.Barrier(2)
    runs: list[int] = []

    async def lock(tx: Transaction, first: int, second: int) -> None:
        runs.append(first)
        await tx.run("UPDATE items SET amount = 1 WHERE id = :id", id=first)
        if len(runs) <= 2:
            await both.wait()
        await tx.run("UPDATE items SET amount = 1 WHERE id = :id", id=second)

    await asyncio.gather(store.write(lambda tx: lock(tx, 1, 2)), store.write(lambda tx: lock(tx, 2, 1)))
    # One more, or a few where the neighbour is slow to take what it waited for and both meet again.
    assert len(runs) >= 3


async def test_a_connection_lost_in_commit_is_no_success_and_not_repeated(
    store: PostgresStore, database: "Database"
) -> None:
    await change_schema(
        database,
        "CREATE FUNCTION stop_here() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$",
        "CREATE CONSTRAINT TRIGGER stop_at_commit AFTER INSERT ON items DEFERRABLE INITIALLY DEFERRED "
        "FOR EACH ROW WHEN (NEW.id = 1) EXECUTE FUNCTION stop_here()",
    )
    work = Runs("SELECT 1")
    with pytest.raises(Unavailable):
        await store.write(work)
    assert work.count == 1
    await store.write(lambda tx: put(tx, 2))


async def test_a_warning_at_commit_is_no_success(store: PostgresStore, database: "Database") -> None:
    # So the server tells that it has given up waiting for its standby.
    await change_schema(
        database,
        "CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'w'; RETURN NULL; END $$",
        "CREATE CONSTRAINT TRIGGER warn_at_commit AFTER INSERT ON items DEFERRABLE INITIALLY DEFERRED "
        "FOR EACH ROW WHEN (NEW.id = 1) EXECUTE FUNCTION warn()",
    )
    with pytest.raises(Unavailable):
        await store.write(lambda tx: put(tx, 1))
    await store.write(lambda tx: put(tx, 2))


async def test_statements_prepared_before_a_change_of_the_schema_work_after_it(
    store: PostgresStore, database: "Database"
) -> None:
    await store.write(lambda tx: put(tx, 1))
    await asyncio.gather(*(store.read(lambda tx: tx.all("SELECT * FROM items")) for _ in range(8)))
    await change_schema(database, "ALTER TABLE items ADD COLUMN more BIGINT")
    rows = await asyncio.gather(*(store.read(lambda tx: tx.all("SELECT * FROM items")) for _ in range(8)))
    assert rows == [[(1, None, None, None, None)]] * 8


async def test_a_pool_without_a_free_connection_gives_up_after_a_while(store: PostgresStore) -> None:
    await pool_of(store).close()
    store._pool = Pool(partial(PostgresSession.open, store._target), size=2, wait=0.1)
    release = asyncio.Event()

    async def occupy(tx: Transaction) -> Row | None:
        await tx.one("SELECT 1")
        await release.wait()
        return await tx.one("SELECT 2")

    busy = [asyncio.ensure_future(store.write(occupy)) for _ in range(2)]
    await asyncio.sleep(0.05)
    before = time.monotonic()
    outcomes = await asyncio.gather(*(count(store) for _ in range(20)), return_exceptions=True)
    assert time.monotonic() - before < 1
    assert {type(outcome) for outcome in outcomes} == {Unavailable}
    release.set()
    assert await asyncio.gather(*busy) == [(2,), (2,)]
    assert await asyncio.gather(*(count(store) for _ in range(20))) == [0] * 20


async def test_no_more_connections_are_opened_than_were_asked_for(database: "Database") -> None:
    store = database.store(connections=2)
    assert isinstance(store, PostgresStore)
    pids = await asyncio.gather(
        *(store.write(lambda tx: tx.one("SELECT pg_backend_pid(), pg_sleep(0.02)")) for _ in range(12))
    )
    assert len({row[0] for row in pids if row is not None}) == 2


async def test_an_unused_store_blocks_a_restore(store: PostgresStore, database: "Database") -> None:
    restore = PostgresDestination(database.setting, "area")
    assert not await restore.shut_out()
    await store.close()
    assert await restore.shut_out()
    other = database.store()
    with pytest.raises(SchemaError, match="a restore into this database is going on"):
        await other.open()
    elsewhere = PostgresDestination(database.setting + "_more", "area")
    assert await elsewhere.shut_out()
    await elsewhere.close()
    await restore.close()
    await other.open()


async def test_idle_session_timeout_does_not_end_the_session_that_holds_the_lock(database: "Database") -> None:
    database.setting += "%20-cidle_session_timeout%3D100"
    await database.open()
    restore = PostgresDestination(database.setting, "area")
    assert await restore.claim()
    await asyncio.sleep(0.3)
    assert not await restore.shut_out()
    await restore.close()


async def test_a_backup_takes_longer_than_the_server_gives_a_transaction(
    database: "Database", postgres_server: PostgresServer
) -> None:
    if postgres_server.version < 17:
        pytest.skip("servers before PostgreSQL 17 know no such limit")
    await database.open()
    snapshot = await open_snapshot(database.setting + "%20-ctransaction_timeout%3D100", "area")
    await asyncio.sleep(0.3)
    assert await snapshot.all(COUNT) == [(0,)]
    await snapshot.close()


async def test_the_store_opens_no_more_connections_than_allowed(items: Path, postgres_server: PostgresServer) -> None:
    async with await psycopg.AsyncConnection.connect(postgres_server.url(), autocommit=True) as connection:
        await connection.execute("CREATE ROLE frugal LOGIN CONNECTION LIMIT 1")
        await connection.execute("CREATE SCHEMA AUTHORIZATION frugal")
    url = postgres_server.url().replace("//strongroom@", "//frugal@")
    store = PostgresStore(url, "frugal", items, connections=1)
    await store.open()
    await store.write(lambda tx: put(tx, 1))
    another = PostgresStore(url, "frugal", items, connections=1)
    with pytest.raises(Unavailable) as caught:
        await another.open()
    assert "too many connections" in str(caught.value.__cause__)
    await store.close()


async def test_a_snapshot_does_not_block_a_restore(store: PostgresStore, database: "Database") -> None:
    await store.close()
    snapshot = await open_snapshot(database.setting, "area")
    restore = PostgresDestination(database.setting, "area")
    assert await restore.shut_out()
    await snapshot.close()
    await restore.close()


async def test_an_answer_that_does_not_come_is_given_up(store: PostgresStore) -> None:
    await pool_of(store).close()
    store._pool = Pool(partial(PostgresSession.open, store._target), use=0.1)
    before = time.monotonic()
    for attempt in (store.read, store.write):
        with pytest.raises(Unavailable):
            await attempt(lambda tx: tx.one("SELECT pg_sleep(20)"))
    assert time.monotonic() - before < 2
    await store.check()


async def test_a_cancelled_caller_leaves_a_usable_pool(store: PostgresStore) -> None:
    for work in (store.read, store.write):
        task = asyncio.ensure_future(work(lambda tx: tx.one("SELECT pg_sleep(20)")))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert pool_of(store).in_use == 0
    await store.write(lambda tx: put(tx, 1))


async def test_a_restart_of_the_server_is_not_noticed(restarted: PostgresStore, server: PostgresServer) -> None:
    await asyncio.gather(*(restarted.write(partial(put, number=n)) for n in range(16)))
    server.restart()
    await restarted.write(lambda tx: put(tx, 99))
    server.restart()
    assert await asyncio.gather(*(count(restarted) for _ in range(16))) == [17] * 16


async def test_without_a_server_the_answer_is_quick_and_recovery_is_automatic(
    restarted: PostgresStore, server: PostgresServer
) -> None:
    server.stop()
    before = time.monotonic()
    outcomes = await asyncio.gather(*(restarted.check() for _ in range(40)), return_exceptions=True)
    assert time.monotonic() - before < 2
    assert {type(outcome) for outcome in outcomes} == {Unavailable}
    server.start()
    await restarted.check()
    await asyncio.gather(*(restarted.check() for _ in range(40)))


async def test_a_store_cannot_open_without_a_server_and_can_once_there_is_one(
    server: PostgresServer, items: Path
) -> None:
    server.stop()
    store = PostgresStore(server.url(), "vault", items)
    with pytest.raises(Unavailable):
        await store.open()
    server.start()
    await store.open()
    await store.check()
    await store.close()


async def test_of_several_hosts_the_one_that_takes_writes_is_used_also_after_a_failover(
    server: PostgresServer, items: Path
) -> None:
    standby = PostgresServer(hot_standby="on")
    with standby.following(server):
        hosts = f"{standby.folder},{server.folder}"
        store = PostgresStore(f"postgresql://strongroom@/postgres?host={hosts}", "vault", items)
        await store.open()
        await store.write(lambda tx: put(tx, 1))
        server.stop()  # cleanly: what is left of the log is sent before
        with pytest.raises(Unavailable):
            await store.check()
        standby.promote()
        await store.write(lambda tx: put(tx, 2))
        assert await count(store) == 2
        await store.close()


async def test_a_session_that_is_held_cannot_end_before_the_write(store: PostgresStore) -> None:
    await store.write(lambda tx: put(tx, 1))
    held, release = asyncio.Event(), asyncio.Event()
    order: list[str] = []

    async def write(tx: Transaction) -> None:
        await tx.lock_or_raise(KeyError(), "SELECT 1 FROM items WHERE id = :id AND amount IS NULL", id=1)
        await tx.one("SELECT 1")
        held.set()
        await release.wait()
        await put(tx, 2)
        order.append("written")

    async def end() -> None:
        await store.write(lambda tx: tx.run("UPDATE items SET amount = 1 WHERE id = 1"))
        order.append("ended")

    writing = asyncio.ensure_future(store.write(write))
    await held.wait()
    ending = asyncio.ensure_future(end())
    await asyncio.sleep(0.05)
    assert order == []
    release.set()
    await asyncio.gather(writing, ending)
    assert order == ["written", "ended"]
    with pytest.raises(KeyError):
        await store.write(write)


async def test_commits_wait_for_the_disk_with_any_server_setting(items: Path, postgres_server: PostgresServer) -> None:
    for option, expected in (("off", "on"), ("remote_write", "on"), ("on", "on"), ("remote_apply", "remote_apply")):
        options = f"options=-csearch_path%3Ddurable%20-csynchronous_commit%3D{option}"
        store = PostgresStore(f"{postgres_server.url()}&{options}", "vault", items)
        assert await store.read(lambda tx: tx.one("SHOW synchronous_commit")) == (expected,)
        await store.close()


async def test_areas_keep_apart_in_one_database(server: PostgresServer, items: Path) -> None:
    stores = [PostgresStore(server.url(), area, items) for area in ("keystore", "vault")]
    await stores[0].write(lambda tx: put(tx, 1))
    assert [await count(store) for store in stores] == [1, 0]
    for store in stores:
        await store.close()


async def test_the_tables_are_found_in_our_schema_only(store: PostgresStore) -> None:
    row = await store.read(lambda tx: tx.one("SELECT array_to_string(current_schemas(false), ',')"))
    assert row is not None
    assert row[0].startswith("test_")
    assert "," not in row[0]


SECRET = "hunter2-hunter2"


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://user:{SECRET}@[host/db",
        f"postgresql://user:{SECRET}@host/db?no_such_parameter=1",
        f"postgresql://user:{SECRET}@host/db?options=-csearch_path%3Da%2Cb",
        f'postgresql://user:{SECRET}@host/db?options=-csearch_path%3D%22A"b%22',
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_being_repeated(url: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Target(url, "vault")
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


def test_nothing_shows_the_password(items: Path) -> None:
    store = PostgresStore(f"postgresql://user:{SECRET}@host/db?sslrootcert=/ca.pem", "vault", items)
    assert SECRET not in repr(store) + repr(store._target) + repr(vars(store))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql://db.example/strongroom", ("verify-full", "system")),
        ("postgresql://db.example/strongroom?sslmode=require", ("require", None)),
        ("postgresql://db.example/strongroom?sslrootcert=/ca.pem", ("verify-full", "/ca.pem")),
        ("postgresql://127.0.0.1,db.example/strongroom", ("verify-full", "system")),
        ("postgresql://127.0.0.1/strongroom", (None, None)),
        ("postgresql://localhost/strongroom", (None, None)),
        ("postgresql:///strongroom?host=/run/postgresql", (None, None)),
        ("postgresql:///strongroom", (None, None)),
    ],
)
def test_over_a_network_the_server_has_to_prove_who_it_is(
    url: str, expected: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psycopg.pq.version", lambda: SYSTEM_CERTIFICATES)
    parameters = Target(url, "vault")._parameters
    assert (parameters.get("sslmode"), parameters.get("sslrootcert")) == expected


@pytest.mark.parametrize(
    ("query", "refused"),
    [
        ("", True),
        ("?sslrootcert=system&sslmode=verify-full", True),
        ("?sslrootcert=/ca.pem", False),
        ("?sslmode=require", False),
    ],
)
def test_a_libpq_that_does_not_know_the_systems_certificates_asks_for_a_file(
    query: str, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("psycopg.pq.version", lambda: SYSTEM_CERTIFICATES - 1)
    Target("postgresql://127.0.0.1/strongroom", "vault")
    with pytest.raises(SettingsError, match="sslrootcert") if refused else nullcontext():
        Target(f"postgresql://db.example/strongroom{query}", "vault")


async def test_a_server_that_is_too_old_is_refused_in_one_sentence(
    database: "Database", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_connection, "OLDEST_VERSION", 990_000)
    with pytest.raises(SchemaError, match="PostgreSQL 14 or newer is needed"):
        await database.open()


@pytest.mark.parametrize(
    ("serving", "refused"),
    [
        ([7, 7, 8], False),
        ([7, 7, 7], True),  # the session that was used last
        ([7, 8], True),  # one after the other
    ],
)
async def test_a_pooler_that_keeps_no_session_for_a_connection_is_refused(
    database: "Database", monkeypatch: pytest.MonkeyPatch, serving: list[int], refused: bool
) -> None:
    pids = iter(serving)

    async def serving_now(connection: postgres_connection.PostgresConnection) -> int:
        return next(pids)

    monkeypatch.setattr(postgres_connection, "_serving", serving_now)
    with pytest.raises(SchemaError, match="pool_mode = session") if refused else nullcontext():
        await database.open()
    assert next(pids, None) is None


async def test_without_a_pooler_one_look_is_enough(database: "Database", monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    serving = postgres_connection._serving

    async def counting(connection: postgres_connection.PostgresConnection) -> int:
        looks.append(await serving(connection))
        return looks[-1]

    monkeypatch.setattr(postgres_connection, "_serving", counting)
    await database.open()
    assert len(looks) == 1


async def test_a_connection_that_answers_nothing_is_given_up(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = Target(postgres_server.url(), "vault")
    monkeypatch.setattr(postgres_connection, "CONNECT_SECONDS", 0.1)
    monkeypatch.setattr(postgres_connection, "_PREPARE_SESSION", "SELECT pg_sleep(20), $1::text, $2::text, $3::text")
    before = time.monotonic()
    with pytest.raises(psycopg.OperationalError):
        await target.connect()
    assert time.monotonic() - before < 5


async def test_a_database_that_is_not_in_utf_8_is_refused_in_one_sentence(
    postgres_server: PostgresServer, items: Path
) -> None:
    async with await psycopg.AsyncConnection.connect(postgres_server.url(), autocommit=True) as connection:
        await connection.execute("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    store = PostgresStore(postgres_server.url("latin"), "vault", items)
    with pytest.raises(SchemaError, match="has to be in UTF-8"):
        await store.open()


def test_without_the_compiled_driver_bytes_are_no_views_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psycopg.pq.__impl__", "python")
    loader = postgres_connection._adapters().get_loader(BYTEA, pq.Format.BINARY)
    assert loader is not None
    assert type(loader(BYTEA).load(memoryview(b"x"))) is bytes
