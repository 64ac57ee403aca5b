"""SQLite: reads inline on the caller's thread, one writer thread that commits many units of work at once.

Every answer of a group waits for the group's COMMIT, refusals included: a refusal may rest on a neighbour's row that is
not on disk yet. WAL with `synchronous=FULL`: a commit returns after the log has been flushed.
"""

import asyncio
import contextlib
import contextvars
import queue
import sqlite3
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from strongroom.runtime.loop_tick import LoopTick
from strongroom.storage import ConstraintViolated, Row, T, Transaction, Unavailable, Value, Work, migrate
from strongroom.storage.sqlite.commit_queue import CommitQueue, Group, Unit
from strongroom.storage.sqlite.file import bring_up_to_date, connect

# The value has to change: SQLite writes nothing for an update that leaves a row as it was.
_CHECK = """
INSERT INTO store_meta (name, value) VALUES ('write_check', 0)
ON CONFLICT (name) DO UPDATE SET value = 1 - store_meta.value
"""


class SqliteTransaction:
    """Statements on one connection. Awaiting them never suspends."""

    __slots__ = ("_connection",)

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    async def one(self, sql: str, **values: Value) -> Row | None:
        row: Row | None = self._connection.execute(sql, values).fetchone()
        return row

    async def all(self, sql: str, **values: Value) -> list[Row]:
        return self._connection.execute(sql, values).fetchall()

    async def run(self, sql: str, **values: Value) -> int:
        return self._connection.execute(sql, values).rowcount

    async def execute(self, sql: str, **values: Value) -> None:
        self._connection.execute(sql, values)

    async def lock_or_raise(self, otherwise: Exception, sql: str, **values: Value) -> None:
        # There is one writer: nothing else changes until this transaction ends.
        if self._connection.execute(sql, values).fetchone() is None:
            raise otherwise


class SqliteStore:
    """One database file. Opened once per process; only its writer thread changes and checkpoints the file."""

    def __init__(self, path: Path, migrations: Traversable, *, guest: bool = False) -> None:
        """Open or make the file and bring its schema up to date. A guest beside a server never checkpoints.

        `migrate.SchemaError` where file and software do not belong together, `Unavailable` where it cannot be opened.
        """
        self._path = path
        try:
            self._writer = connect(path, checkpoints=not guest)
            bring_up_to_date(self._writer, migrate.load(migrations))
            self._reader = connect(path, read_only=True, checkpoints=False)
        except sqlite3.Error as error:
            raise Unavailable from error
        self._read_transaction = SqliteTransaction(self._reader)
        self._scanner: sqlite3.Connection | None = None
        self._scans = ThreadPoolExecutor(1, thread_name_prefix=f"{path.stem}-scan")
        self._groups: queue.SimpleQueue[Group | None] = queue.SimpleQueue()
        self._commit_queue: CommitQueue | None = None
        self._loop_tick = LoopTick(self._look_away)
        self._looks = False
        self._closed = False
        self._thread = threading.Thread(target=self._write_groups, name=f"{path.stem}-writer", daemon=True)
        self._thread.start()

    async def open(self) -> None:
        """Done when the store was made."""

    async def read(self, work: Work[T]) -> T:
        try:
            # From the second on the reads of a turn see the same commits: finding out which there are is a third of a
            # read, and a first one often stays alone. Not while units are written: one look would follow the other, and
            # the log only starts again when no reader looks.
            if not self._loop_tick.is_on:
                self._loop_tick.begin()
            elif not self._looks and (self._commit_queue is None or self._commit_queue.is_empty):
                self._looks = True
                self._reader.execute("BEGIN")
            return await work(self._read_transaction)
        except sqlite3.OperationalError as error:
            raise Unavailable from error

    async def read_many(self, work: Work[T]) -> T:
        # A long scan inline would hold up every other request of the process.
        return await asyncio.get_running_loop().run_in_executor(self._scans, self._scan, work)

    async def write(self, work: Work[T]) -> T:
        if self._closed:
            raise Unavailable
        loop, queue = asyncio.get_running_loop(), self._commit_queue
        if queue is None or queue.loop is not loop:
            queue = self._commit_queue = CommitQueue(loop, self._groups)
        unit = Unit(work, contextvars.copy_context(), loop.create_future())
        queue.join(unit)
        result: T = await unit.future
        return result

    async def check(self) -> None:
        async def touch(tx: Transaction) -> None:
            await tx.run(_CHECK)

        await self.write(touch)

    async def close(self) -> None:
        """Finish what was accepted, fold the log into the file and let go of it."""
        if self._closed:
            return
        self._closed = True
        if self._commit_queue is not None:
            self._commit_queue.hand_over_all()
        self._groups.put(None)
        await asyncio.get_running_loop().run_in_executor(None, self._thread.join)
        self._scans.shutdown()
        if self._scanner is not None:
            self._scanner.close()
        self._reader.close()

    def _look_away(self) -> None:
        if self._looks:
            self._looks = False
            with contextlib.suppress(sqlite3.Error):  # after a failed read SQLite may have ended it already
                self._reader.execute("COMMIT")

    def _scan(self, work: Work[T]) -> T:
        try:
            if self._scanner is None:
                self._scanner = connect(self._path, read_only=True, checkpoints=False)
            return _drive(work(SqliteTransaction(self._scanner)))
        except sqlite3.OperationalError as error:
            raise Unavailable from error

    def _write_groups(self) -> None:
        transaction = SqliteTransaction(self._writer)
        while (following := self._groups.get()) is not None:
            queue, group = following
            self._commit(transaction, group)
            with contextlib.suppress(RuntimeError):  # the loop was closed, and the requests with it
                queue.loop.call_soon_threadsafe(queue.settle, group)
        self._writer.close()

    def _commit(self, transaction: SqliteTransaction, group: list[Unit[Any]]) -> None:
        connection = self._writer
        try:
            connection.execute("BEGIN IMMEDIATE")
            wanted = [unit for unit in group if not unit.future.cancelled()]
            if not all(self._runs_plainly(transaction, unit) for unit in wanted):
                connection.execute("ROLLBACK")
                connection.execute("BEGIN IMMEDIATE")
                for unit in wanted:
                    self._run(transaction, unit)
            connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001  # of any kind: every request of the group gets an answer
            # A failed COMMIT, or a failure such as a full disk that made SQLite roll everything back: nothing of the
            # group is stored, not even what had succeeded before, and what had not run yet must not run outside a
            # transaction.
            with contextlib.suppress(sqlite3.Error):
                connection.rollback()
            for unit in group:
                unavailable = Unavailable()
                unavailable.__cause__ = error
                unit.result, unit.error = None, unavailable

    def _runs_plainly(self, transaction: SqliteTransaction, unit: Unit[Any]) -> bool:
        """Run without a savepoint, which most units need not; False where one would be needed to undo it.

        Then the group is run again with savepoints: units may be, and few fail after they have changed something.
        """
        connection = self._writer
        before = connection.total_changes
        try:
            unit.result = unit.context.run(_drive, unit.work(transaction))
        except BaseException as error:  # noqa: BLE001  # handed to the request it belongs to
            _check_open(connection, error)
            unit.error = _translated(error)
            return connection.total_changes == before
        return True

    def _run(self, transaction: SqliteTransaction, unit: Unit[Any]) -> None:
        connection = self._writer
        unit.result = unit.error = None
        connection.execute("SAVEPOINT unit")
        try:
            unit.result = unit.context.run(_drive, unit.work(transaction))
        except BaseException as error:  # noqa: BLE001  # handed to the request it belongs to
            _check_open(connection, error)
            connection.execute("ROLLBACK TO unit")
            unit.error = _translated(error)
        connection.execute("RELEASE unit")


def _check_open(connection: sqlite3.Connection, error: BaseException) -> None:
    if not connection.in_transaction:
        raise sqlite3.OperationalError("the transaction was rolled back") from error


def _translated(error: BaseException) -> BaseException:
    """SQLite's errors in the words of the seam; everything else as it is."""
    match error:
        case sqlite3.IntegrityError():
            translated: Exception = ConstraintViolated()
        case sqlite3.OperationalError():
            translated = Unavailable()
        case _:
            return error
    translated.__cause__ = error
    return translated


def _drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a unit of work to its end; one that awaits anything but its transaction is a programming error."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    coroutine.close()
    raise RuntimeError("a unit of work awaited something other than its transaction")
