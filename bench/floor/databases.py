"""The raw drivers, with no more around them than the work needs."""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import psycopg

from strongroom.storage.postgres.statements import numbered
from strongroom.storage.sqlite.file import connect

AREAS = ("access", "keystore", "vault")
POOL_SIZE = 8

Values: TypeAlias = dict[str, Any]
Statements: TypeAlias = Sequence[tuple[str, Values]]


class Missing(Exception):
    """The row that a write depends on is not there."""


class Database(Protocol):
    async def open(self) -> None: ...

    async def one(self, area: str, sql: str, values: Values) -> Any: ...

    async def all(self, area: str, sql: str, values: Values) -> list[Any]: ...

    async def write(self, area: str, held: tuple[str, Values], statements: Statements) -> None:
        """One durable transaction: `held` has to find a row."""
        ...


class Sqlite:
    """Reads inline; one writer thread. It shares a commit between all writes that wait, or makes one for each."""

    def __init__(self, folder: Path, *, shared_commits: bool = True) -> None:
        paths = {area: folder / f"{area}.sqlite" for area in AREAS}
        self._readers = {area: connect(path, checkpoints=False, read_only=True) for area, path in paths.items()}
        self._writers = {area: connect(path, checkpoints=True) for area, path in paths.items()}
        self._queues: dict[str, queue.SimpleQueue[Any]] = {area: queue.SimpleQueue() for area in AREAS}
        self._most = 256 if shared_commits else 1

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        for area in AREAS:
            threading.Thread(target=self._work, args=(area, loop), daemon=True).start()

    async def one(self, area: str, sql: str, values: Values) -> Any:
        return self._readers[area].execute(sql, values).fetchone()

    async def all(self, area: str, sql: str, values: Values) -> list[Any]:
        return self._readers[area].execute(sql, values).fetchall()

    async def write(self, area: str, held: tuple[str, Values], statements: Statements) -> None:
        future = asyncio.get_running_loop().create_future()
        self._queues[area].put((held, statements, future))
        if not await future:
            raise Missing

    def _work(self, area: str, loop: asyncio.AbstractEventLoop) -> None:
        writer, waiting = self._writers[area], self._queues[area]
        while True:
            group = [waiting.get()]
            while len(group) < self._most and not waiting.empty():
                group.append(waiting.get())
            writer.execute("BEGIN IMMEDIATE")
            done = [(future, _run(writer, held, statements)) for held, statements, future in group]
            writer.execute("COMMIT")
            loop.call_soon_threadsafe(_settle, done)


def _run(writer: sqlite3.Connection, held: tuple[str, Values], statements: Statements) -> bool:
    if writer.execute(*held).fetchone() is None:
        return False
    for sql, values in statements:
        writer.execute(sql, values)
    return True


def _settle(done: list[tuple[asyncio.Future[bool], bool]]) -> None:
    for future, result in done:
        if not future.done():
            future.set_result(result)


class Postgres:
    """A few connections for each area; a read is one statement, a write one pipeline."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._idle: dict[str, list[psycopg.AsyncConnection[Any]]] = {area: [] for area in AREAS}
        self._free: dict[str, asyncio.Semaphore] = {}

    async def open(self) -> None:
        for area in AREAS:
            self._free[area] = asyncio.Semaphore(POOL_SIZE)
            for _ in range(POOL_SIZE):
                connection = await psycopg.AsyncConnection.connect(
                    self._url, autocommit=True, prepare_threshold=0, cursor_factory=psycopg.AsyncRawCursor
                )
                connection.prepared_max = 1_000
                await connection.execute(f"SET search_path = {area}")
                self._idle[area].append(connection)

    async def one(self, area: str, sql: str, values: Values) -> Any:
        async with self._free[area]:
            connection = self._idle[area].pop()
            try:
                return await (await _execute(connection, sql, values)).fetchone()
            finally:
                self._idle[area].append(connection)

    async def all(self, area: str, sql: str, values: Values) -> list[Any]:
        async with self._free[area]:
            connection = self._idle[area].pop()
            try:
                return await (await _execute(connection, sql, values)).fetchall()
            finally:
                self._idle[area].append(connection)

    async def write(self, area: str, held: tuple[str, Values], statements: Statements) -> None:
        async with self._free[area]:
            connection = self._idle[area].pop()
            try:
                async with connection.pipeline():
                    await connection.execute("BEGIN", binary=True)
                    found = await _execute(connection, f"{held[0]} FOR SHARE", held[1])
                    for sql, values in statements:
                        await _execute(connection, sql, values)
                    await connection.execute("COMMIT", binary=True)
            finally:
                self._idle[area].append(connection)
        if not found.rowcount:
            raise Missing


async def _execute(connection: psycopg.AsyncConnection[Any], sql: str, values: Values) -> psycopg.AsyncCursor[Any]:
    text, names = numbered(sql)
    return await connection.execute(text, [values[name] for name in names], binary=True)
