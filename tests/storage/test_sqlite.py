"""The traps of one writer that commits for many, each shown to be closed."""

import asyncio
import contextvars
import sqlite3
import threading
import time
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from strongroom.storage import Transaction, Unavailable
from strongroom.storage.sqlite import file as sqlite_file
from strongroom.storage.sqlite.commit_queue import MAX_GROUP
from strongroom.storage.sqlite.store import SqliteStore

pytestmark = pytest.mark.anyio

INSERT = "INSERT INTO items (id, name, content, amount) VALUES (:id, :name, :content, NULL)"
MANY = 64

current: contextvars.ContextVar[str] = contextvars.ContextVar("current", default="none")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "area.sqlite"


@pytest.fixture
async def store(path: Path, items: Path) -> Any:
    opened = SqliteStore(path, items)
    yield opened
    await opened.close()


async def put(tx: Transaction, number: int, content: bytes = b"") -> None:
    await tx.execute(INSERT, id=number, name=str(number), content=content)


async def ids(store: SqliteStore) -> list[int]:
    return [row[0] for row in await store.read(lambda tx: tx.all("SELECT id FROM items ORDER BY id"))]


class Gate:
    """A unit of work that keeps the writer busy, so that what comes meanwhile makes one group."""

    def __init__(self, store: SqliteStore) -> None:
        self._reached, self._opened = threading.Event(), threading.Event()
        self._task = asyncio.ensure_future(store.write(self._wait))

    async def _wait(self, tx: Transaction) -> None:
        self._reached.set()
        assert self._opened.wait(10)

    async def closed(self) -> None:
        assert await asyncio.to_thread(self._reached.wait, 10)

    async def open(self) -> None:
        await asyncio.sleep(0)
        self._opened.set()
        await self._task


async def together(store: SqliteStore, *works: Callable[[Transaction], Coroutine[Any, Any, Any]]) -> list[Any]:
    """The outcomes of units that are committed in one group."""
    gate = Gate(store)
    await gate.closed()
    tasks = [asyncio.ensure_future(store.write(work)) for work in works]
    await gate.open()
    return await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_full_disk_fails_the_whole_group_and_nothing_runs_outside_a_transaction(store: SqliteStore) -> None:
    writer = store._writer
    (pages,) = writer.execute("PRAGMA page_count").fetchone()
    writer.execute(f"PRAGMA max_page_count = {pages + 2}")
    rolled_back: list[bool] = []

    async def too_large(tx: Transaction) -> None:
        try:
            await put(tx, 2, bytes(1_000_000))
        finally:
            rolled_back.append(not writer.in_transaction)

    works = [lambda tx: put(tx, 1), too_large, lambda tx: put(tx, 3), lambda tx: put(tx, 4)]
    outcomes = await together(store, *works)
    assert rolled_back == [True]  # the trap: SQLite has left the transaction while the group was in it
    assert [type(outcome) for outcome in outcomes] == [Unavailable] * 4
    assert await ids(store) == []
    assert not writer.in_transaction

    writer.execute("PRAGMA max_page_count = 1000000")
    assert await together(store, *works) == [None] * 4
    assert await ids(store) == [1, 2, 3, 4]


async def test_no_answer_leaves_before_the_commit(store: SqliteStore) -> None:
    committing, released = threading.Event(), threading.Event()
    commits: list[str] = []

    def trace(sql: str) -> None:
        if sql == "COMMIT":
            commits.append(sql)
        if len(commits) == 2:  # the first one is the gate's
            committing.set()
            released.wait(10)

    class Refusal(Exception):
        pass

    async def refused(tx: Transaction) -> None:
        raise Refusal

    gate = Gate(store)
    await gate.closed()
    tasks = [asyncio.ensure_future(store.write(work)) for work in (lambda tx: put(tx, 1), refused)]
    store._writer.set_trace_callback(trace)
    await gate.open()
    assert await asyncio.to_thread(committing.wait, 10)
    await asyncio.sleep(0.02)
    assert [task.done() for task in tasks] == [False, False]
    assert await ids(store) == []
    released.set()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert outcomes[0] is None
    assert isinstance(outcomes[1], Refusal)


async def test_a_unit_that_suspends_fails_and_no_other_unit_is_affected(store: SqliteStore) -> None:
    left: list[str] = []

    async def suspends(tx: Transaction) -> None:
        await put(tx, 2)
        try:
            await asyncio.sleep(0)
        finally:
            left.append("cleaned up")

    outcomes = await together(store, lambda tx: put(tx, 1), suspends, lambda tx: put(tx, 3))
    assert isinstance(outcomes[1], RuntimeError)
    assert "something other than its transaction" in str(outcomes[1])
    assert (outcomes[0], outcomes[2]) == (None, None)
    assert await ids(store) == [1, 3]
    assert set(left) == {"cleaned up"}  # once for each time it was run


async def test_a_unit_runs_in_the_context_of_its_request(store: SqliteStore) -> None:
    async def look(tx: Transaction) -> str:
        seen = current.get()
        current.set("changed by the unit")
        return seen

    async def request(name: str) -> tuple[str, str]:
        current.set(name)
        return await store.write(look), current.get()

    names = [str(number) for number in range(8)]
    assert await asyncio.gather(*(request(name) for name in names)) == [(name, name) for name in names]
    assert current.get() == "none"


async def test_concurrent_writes_share_commits(store: SqliteStore) -> None:
    commits: list[str] = []
    store._writer.set_trace_callback(lambda sql: commits.append(sql) if sql == "COMMIT" else None)
    await asyncio.gather(*(store.write(partial(put, number=n)) for n in range(MANY)))
    store._writer.set_trace_callback(None)
    assert await ids(store) == list(range(MANY))
    assert 1 <= len(commits) <= MANY // 8


async def test_a_group_has_a_limit(store: SqliteStore) -> None:
    commits: list[str] = []
    gate = Gate(store)
    await gate.closed()
    store._writer.set_trace_callback(lambda sql: commits.append(sql) if sql == "COMMIT" else None)
    tasks = [asyncio.ensure_future(store.write(partial(put, number=n))) for n in range(MAX_GROUP + 1)]
    await gate.open()
    await asyncio.gather(*tasks)
    store._writer.set_trace_callback(None)
    assert len(commits) == 3  # the gate's own, a full group, and the one that was left


async def test_a_commit_that_fails_fails_the_whole_group(store: SqliteStore) -> None:
    def no_commit(action: int, first: str | None, *_: str | None) -> int:
        refused = action == sqlite3.SQLITE_TRANSACTION and first == "COMMIT"
        return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK

    async def refused(tx: Transaction) -> None:
        raise KeyError

    store._writer.set_authorizer(no_commit)
    outcomes = await asyncio.gather(
        *(store.write(work) for work in (lambda tx: put(tx, 1), refused)), return_exceptions=True
    )
    store._writer.set_authorizer(None)
    assert [type(outcome) for outcome in outcomes] == [Unavailable, Unavailable]
    assert await ids(store) == []
    await store.write(lambda tx: put(tx, 1))
    assert await ids(store) == [1]


async def test_a_caller_who_has_gone_before_the_writer_comes_leaves_nothing(store: SqliteStore) -> None:
    gate = Gate(store)
    await gate.closed()
    tasks = [asyncio.ensure_future(store.write(partial(put, number=n))) for n in range(4)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    await asyncio.sleep(0)
    await gate.open()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert await ids(store) == [0, 2, 3]


async def test_another_writer_of_the_file_is_waited_for_and_then_given_up(store: SqliteStore, path: Path) -> None:
    store._writer.execute("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Unavailable):
        await store.write(lambda tx: put(tx, 1))
    other.execute("ROLLBACK")
    other.close()
    await store.write(lambda tx: put(tx, 1))
    assert await ids(store) == [1]


async def test_waiting_for_another_writer_of_the_file_does_not_block_reads(store: SqliteStore, path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    write = asyncio.ensure_future(store.write(lambda tx: put(tx, 1)))
    started = time.perf_counter()
    for _ in range(10):
        await asyncio.sleep(0.01)
        assert await ids(store) == []
    assert time.perf_counter() - started < 2  # the wait for the lock may take five
    assert not write.done()
    other.execute("ROLLBACK")
    other.close()
    await write
    assert await ids(store) == [1]


async def test_uncommitted_changes_are_not_visible(store: SqliteStore) -> None:
    committing, released = threading.Event(), threading.Event()

    def trace(sql: str) -> None:
        if sql == "COMMIT":
            committing.set()
            released.wait(10)

    store._writer.set_trace_callback(trace)
    write = asyncio.ensure_future(store.write(lambda tx: put(tx, 1)))
    assert await asyncio.to_thread(committing.wait, 10)
    assert await ids(store) == []
    assert await store.read_many(lambda tx: tx.all("SELECT id FROM items")) == []
    released.set()
    await write
    assert await ids(store) == [1]
    store._writer.set_trace_callback(None)


async def test_closing_finishes_what_was_accepted(path: Path, items: Path) -> None:
    store = SqliteStore(path, items)
    tasks = [asyncio.ensure_future(store.write(partial(put, number=n))) for n in range(2 * MAX_GROUP + 1)]
    await asyncio.sleep(0)
    await store.close()
    assert await asyncio.gather(*tasks) == [None] * len(tasks)
    with pytest.raises(Unavailable):
        await store.write(partial(put, number=-1))
    again = SqliteStore(path, items)
    assert len(await ids(again)) == len(tasks)
    await again.close()


def test_a_loop_that_was_closed_in_the_middle_holds_up_no_other(path: Path, items: Path) -> None:
    store = SqliteStore(path, items)
    committing, released = threading.Event(), threading.Event()

    def trace(sql: str) -> None:
        if sql == "COMMIT":
            committing.set()
            released.wait(10)

    async def leave() -> None:
        store._writer.set_trace_callback(trace)
        asyncio.ensure_future(store.write(lambda tx: put(tx, 1)))  # noqa: RUF006  # left alone on purpose
        assert await asyncio.to_thread(committing.wait, 10)

    async def follow() -> None:
        threading.Timer(0.05, released.set).start()
        await store.write(lambda tx: put(tx, 2))
        assert await ids(store) == [1, 2]
        await store.close()

    asyncio.run(leave())
    asyncio.run(follow())


async def test_reads_of_one_tick_see_the_same_commits_and_later_ones_the_newest(
    store: SqliteStore, path: Path, items: Path
) -> None:
    guest = SqliteStore(path, items, guest=True)

    def commit_elsewhere(number: int) -> None:
        guest._writer.execute(INSERT, {"id": number, "name": str(number), "content": b""})

    commit_elsewhere(1)
    assert await ids(store) == [1]
    commit_elsewhere(2)
    assert await ids(store) == [1, 2]  # a first read may stay alone: the second one looks for the rest of the turn
    commit_elsewhere(3)  # in the same turn: not seen before the next
    assert await ids(store) == [1, 2]
    await asyncio.sleep(0)
    assert await ids(store) == [1, 2, 3]
    await store.write(lambda tx: put(tx, 4))
    assert await ids(store) == [1, 2, 3, 4]
    await guest.close()


async def test_a_read_of_the_commit_counter_holds_no_lock_against_writers(store: SqliteStore) -> None:
    """Else the log could not start again under load: it would grow for as long as there are readers."""
    looked: list[bool] = []

    async def write(number: int) -> None:
        async def work(tx: Transaction) -> None:
            await put(tx, number)
            time.sleep(0.001)  # noqa: ASYNC251  # the writer has a thread of its own, and here lets others go on
            looked.append(store._reader.in_transaction)

        await store.write(work)

    async def read() -> None:
        for _ in range(200):
            await ids(store)
            await ids(store)  # the second one of a turn would look
            await asyncio.sleep(0)

    async def write_some(first: int) -> None:
        for number in range(first, first + 20):
            await ids(store)
            await write(number)

    await asyncio.gather(*(read() for _ in range(8)), *(write_some(20 * writer) for writer in range(8)))
    assert looked == [False] * 160


async def test_a_failed_read_leaves_the_next_ones_in_order(store: SqliteStore) -> None:
    assert await ids(store) == []
    with pytest.raises(Unavailable):
        await store.read(lambda tx: tx.one("SELECT nothing FROM nowhere"))
    assert store._reader.in_transaction
    store._reader.execute("ROLLBACK")  # as SQLite does after some failures by itself
    assert await ids(store) == []
    await asyncio.sleep(0)
    await store.write(lambda tx: put(tx, 1))
    assert await ids(store) == [1]


async def test_only_the_writer_of_the_service_checkpoints(store: SqliteStore, path: Path, items: Path) -> None:
    def pages(connection: sqlite3.Connection | None) -> int:
        assert connection is not None
        (value,) = connection.execute("PRAGMA wal_autocheckpoint").fetchone()
        return int(value)

    await store.read_many(lambda tx: tx.one("SELECT 1"))
    guest = SqliteStore(path, items, guest=True)
    await guest.read_many(lambda tx: tx.one("SELECT 1"))
    connections = [store._reader, store._scanner, guest._writer, guest._reader]
    assert [pages(connection) for connection in connections] == [0, 0, 0, 0]
    assert pages(store._writer) > 0
    await guest.close()


async def test_a_commit_is_flushed_and_logged_ahead(store: SqliteStore) -> None:
    assert store._writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert store._writer.execute("PRAGMA synchronous").fetchone() == (2,)


async def test_the_files_are_their_owners_alone(store: SqliteStore, path: Path) -> None:
    await store.write(lambda tx: put(tx, 1))
    modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.glob("area.sqlite*")}
    assert len(modes) == 3  # with the log and its index
    assert set(modes.values()) == {0o600}


def test_a_file_that_is_no_database_is_unavailable(path: Path, items: Path) -> None:
    path.write_bytes(b"not a database, and longer than the header of one" * 100)
    with pytest.raises(Unavailable):
        SqliteStore(path, items)


def test_tables_are_strict_and_types_are_sqlites() -> None:
    made = sqlite_file.dialect("CREATE TABLE a (b BYTEA, c BIGINT, d TEXT)")
    assert made == "CREATE TABLE a (b BLOB, c INTEGER, d TEXT) STRICT"
    assert sqlite_file.dialect("CREATE INDEX a_b ON a (b)") == "CREATE INDEX a_b ON a (b)"


@pytest.mark.parametrize(("changes_first", "runs"), [(False, 1), (True, 2)])
async def test_only_a_unit_that_changed_something_makes_its_group_run_again(
    store: SqliteStore, changes_first: bool, runs: int
) -> None:
    ran: list[int] = []

    async def fails(tx: Transaction) -> None:
        if changes_first:
            await put(tx, 2)
        raise LookupError

    async def counted(tx: Transaction, number: int) -> None:
        ran.append(number)
        await put(tx, number)

    outcomes = await together(store, partial(counted, number=1), fails, partial(counted, number=3))
    assert (outcomes[0], type(outcomes[1]), outcomes[2]) == (None, LookupError, None)
    assert ran.count(1) == runs
    assert await ids(store) == [1, 3]
