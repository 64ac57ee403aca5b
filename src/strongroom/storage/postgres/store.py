"""PostgreSQL: one pipelined transaction for each write, single statements for reads, connections from a small pool.

A unit of work runs on the caller's event loop. Statements it need not wait for travel together with the next one it
waits for. Nothing here relies on being the only process: rows, constraints and locks of the database decide.
"""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Awaitable, Callable
from functools import partial
from importlib.resources.abc import Traversable

import psycopg

from strongroom.storage import ConstraintViolated, Row, T, Transaction, Unavailable, Value, Work, migrate
from strongroom.storage.postgres import pool
from strongroom.storage.postgres.connection import PostgresConnection, Target
from strongroom.storage.postgres.migrations import applied, bring_up_to_date
from strongroom.storage.postgres.pool import Pool
from strongroom.storage.postgres.session import PostgresSession, StatementResult

# The isolation is named because a server may have another default: every guard is one statement, a constraint or a
# lock, which READ COMMITTED decides after waiting for the neighbour.
BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

_UNDONE = ("40001", "40P01")  # serialization failure, deadlock: the server has rolled back and says so
_TRIES_AFTER_UNDONE = 4
_TRIES_AFTER_LOSS = 2
# A connection that is of no use any more: the server is going down or was demoted, or a plan or statement it keeps
# belongs to an older schema.
_WORN_OUT = ("57P01", "57P02", "57P03", "25006", "0A000", "26000")
_DISK_FULL = "53100"
FULL_SECONDS = 10.0
"""How long the service is not ready after a write found no room."""
_CLASSES_OF_TROUBLE = ("08", "53", "55", "57", "58", "XX", "40", "25")

# What an operator needs to hear when a connection cannot be made.
_PHRASES = (
    "connection refused",
    "no such file or directory",
    "name or service not known",
    "could not translate host name",
    "password authentication failed",
    "no password supplied",
    "certificate verify failed",
    "does not support ssl",
    "timeout",
    "session is read-only",
    "does not exist",
    "permission denied",
    "too many clients",
    "too many connections",
    "starting up",
    "shutting down",
    "server closed the connection",
    "a restore into this database",
)


class Failure(Exception):
    """What the database or its driver said, without the values that its messages hold."""


class _Again(Exception):
    """Nothing was stored, and another try may go better, if there were fewer than `tries` so far."""

    def __init__(self, tries: int) -> None:
        super().__init__()
        self.tries = tries


class PostgresTransaction:
    """Statements of one unit of work; those without a result are sent with the next one that has one."""

    __slots__ = ("_holds", "_session")

    def __init__(self, session: PostgresSession) -> None:
        self._session = session
        self._holds: list[tuple[StatementResult, Exception]] = []

    async def one(self, sql: str, **values: Value) -> Row | None:
        rows = await self.all(sql, **values)
        return rows[0] if rows else None

    async def all(self, sql: str, **values: Value) -> list[Row]:
        answer = self._session.send(sql, values)
        await self.settle()
        return self._session.rows(answer)

    async def run(self, sql: str, **values: Value) -> int:
        answer = self._session.send(sql, values)
        await self.settle()
        return answer.count

    async def execute(self, sql: str, **values: Value) -> None:
        self._session.send(sql, values)

    async def lock_or_raise(self, otherwise: Exception, sql: str, **values: Value) -> None:
        # Shared: writes of the same session go on side by side, and a logout waits for them.
        self._holds.append((self._session.send(f"{sql} FOR SHARE", values), otherwise))

    @property
    def holds(self) -> bool:
        """Whether a `lock_or_raise` waits for its answer."""
        return bool(self._holds)

    async def settle(self) -> None:
        """Wait until everything has an answer. Raises for the first `lock_or_raise` that found nothing."""
        try:
            await self._session.answered()
        except psycopg.Error as error:
            # What came after a failed `lock_or_raise` may have failed because of it.
            self._check_holds(error)
            raise
        self._check_holds()

    def _check_holds(self, because: psycopg.Error | None = None) -> None:
        holds, self._holds = self._holds, []
        for answer, otherwise in holds:
            if answer.found_nothing:
                raise otherwise from because


class PostgresStore:
    """One area's schema in a PostgreSQL database, for one event loop."""

    def __init__(self, url: str, area: str, migrations: Traversable, connections: int = 0) -> None:
        """Checks the URL and connects to nothing yet; `SettingsError`. `connections`: at most so many, 0 is 8."""
        self._target = Target(url, area)
        self._migrations = migrations
        self._connections = connections or pool.SIZE
        self._pool: Pool[PostgresSession] | None = None
        self._opening = asyncio.Lock()
        self._closed = False
        self._full_until = 0.0

    async def open(self) -> None:
        await self._opened()

    async def read(self, work: Work[T]) -> T:
        return await self._repeated(self._read, work)

    async def read_many(self, work: Work[T]) -> T:
        return await self._repeated(self._read, work)

    async def write(self, work: Work[T]) -> T:
        return await self._repeated(self._write, work)

    async def check(self) -> None:
        # What is tried below changes a row where it stands. That goes well for long after the first new row did not.
        if time.monotonic() < self._full_until:
            raise Unavailable from Failure("the disk was full a moment ago")

        async def touch(tx: Transaction) -> None:
            await tx.execute("UPDATE store_meta SET value = value WHERE name = 'restore_epoch'")

        await self.write(touch)

    async def close(self) -> None:
        self._closed = True
        if self._pool is not None:
            await self._pool.close()

    async def _opened(self) -> Pool[PostgresSession]:
        async with self._opening:
            if self._closed:
                raise Unavailable
            if self._pool is None:
                opened = Pool(partial(PostgresSession.open, self._target), self._connections)
                try:
                    # Kept from the start: a restore knows a service without requests by its connections.
                    opened.add(PostgresSession(await self._prepared()))
                except (psycopg.Error, OSError) as error:
                    raise Unavailable from failure(error)
                self._pool = opened
            return self._pool

    async def _prepared(self) -> PostgresConnection:
        connection = await self._target.connect(working=True)
        try:
            await self._target.refuse_shared_sessions(connection)
            await bring_up_to_date(connection, self._target.schema, migrate.load(self._migrations))
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _repeated(self, attempt: Callable[[PostgresSession, Work[T]], Awaitable[T]], work: Work[T]) -> T:
        tries = 0
        while True:
            try:
                return await self._once(attempt, work)
            except _Again as again:
                tries += 1
                if tries >= again.tries:
                    raise Unavailable from again.__cause__
            # For the neighbour of a deadlock to get what it waits for, and not the same for all. A neighbour that is
            # slow to take it is met again: so three times as long each time, a third of a second altogether.
            await asyncio.sleep((5 + secrets.randbelow(20)) * 3 ** (tries - 1) / 1000)

    async def _once(self, attempt: Callable[[PostgresSession, Work[T]], Awaitable[T]], work: Work[T]) -> T:
        sessions = self._pool or await self._opened()
        try:
            session = await sessions.take()
        except (psycopg.Error, OSError, migrate.SchemaError) as error:
            raise Unavailable from failure(error)
        session.committing = False
        try:
            return await attempt(session, work)
        except psycopg.Error as error:
            verdict = _judge(error, session)
            if error.sqlstate == _DISK_FULL:
                self._full_until = time.monotonic() + FULL_SECONDS
            if session.closed or error.sqlstate in _WORN_OUT:
                await sessions.renew(session)
            raise verdict from failure(error)
        finally:
            if session.idle:
                await sessions.give(session)
            else:
                await sessions.discard(session)

    @staticmethod
    async def _read(session: PostgresSession, work: Work[T]) -> T:
        transaction = PostgresTransaction(session)
        result = await work(transaction)
        if not session.idle:
            await transaction.settle()
        return result

    @staticmethod
    async def _write(session: PostgresSession, work: Work[T]) -> T:
        # BEGIN and COMMIT may leave together: that the server has gone has to be noticed before, or the outcome of a
        # write that was never received would be unknown.
        session.look()
        try:
            transaction = PostgresTransaction(session)
            session.send(BEGIN, {})
            result = await work(transaction)
            if transaction.holds:
                await transaction.settle()
            session.warned, session.committing = False, True
            commit = session.send("COMMIT", {})
            await session.answered()
        except Exception:
            if not session.idle:
                with contextlib.suppress(psycopg.Error):
                    session.send("ROLLBACK", {})
                    await session.answered()
            raise
        # A server that gives up waiting for its standby only warns, and a transaction that had failed is rolled back
        # without an error: neither is a success.
        if session.warned or commit.command != b"COMMIT":
            raise Unavailable from Failure("commit was answered with a warning or a rollback")
        return result


async def read_applied(url: str, area: str) -> dict[int, str]:
    """The migrations a database has seen, without changing anything; `SettingsError`, `Unavailable`."""
    target = Target(url, area)
    try:
        connection = await target.connect()
        try:
            return await applied(connection, target.schema)
        finally:
            await connection.close()
    except (psycopg.Error, OSError) as error:
        raise Unavailable from failure(error)


def failure(error: BaseException) -> Failure:
    """The kind of an error, its SQLSTATE, and what of its text is known to hold nothing secret.

    The rest of the text stays out: the server repeats values, and the driver what is in the URL.
    """
    text = str(error).lower()
    known = next((phrase for phrase in _PHRASES if phrase in text), None)
    parts = (type(error).__name__, getattr(error, "sqlstate", None), known and f"({known})")
    return Failure(" ".join(part for part in parts if part))


def _judge(error: psycopg.Error, session: PostgresSession) -> Exception:
    """What an error of the driver means to the request it happened to."""
    state = error.sqlstate or ""
    if session.closed or state.startswith("57P"):
        # Once COMMIT is on its way the outcome is unknown: not a success, and not for us to repeat.
        return Unavailable() if session.committing else _Again(_TRIES_AFTER_LOSS)
    if state in _UNDONE:
        return _Again(_TRIES_AFTER_UNDONE)
    if state in _WORN_OUT:
        return _Again(_TRIES_AFTER_LOSS)
    if isinstance(error, psycopg.IntegrityError):
        return ConstraintViolated()
    if isinstance(error, psycopg.OperationalError) or state[:2] in _CLASSES_OF_TROUBLE:
        return Unavailable()
    return failure(error)
