"""PostgreSQL schemas in and out: one repeatable-read snapshot by COPY, and one transaction that fills a schema."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Self

import psycopg
from psycopg import sql as composed
from psycopg.pq import TransactionStatus

from strongroom.storage import Row, Unavailable, Value, copying, migrate
from strongroom.storage.copying import Kind, NotThere, Stage, State, Table
from strongroom.storage.migrate import Migration
from strongroom.storage.postgres.connection import PostgresConnection, Target, without_hurry
from strongroom.storage.postgres.migrations import bring_up_to_date, shut_out, take_lock, try_session_lock
from strongroom.storage.postgres.store import failure
from strongroom.storage.postgres.tables import TABLES, structure_of, tables_of
from strongroom.storage.structure import Structure

_BEGIN_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_BEGIN_LOADING = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
_TYPES: dict[Kind, str] = {"text": "text", "integer": "int8", "bytes": "bytea"}


class PostgresSnapshot:
    """One transaction that sees the schema as it was at its first statement; no other transaction waits for it."""

    engine = "postgresql"

    def __init__(self, connection: PostgresConnection, schema: str) -> None:
        self._connection = connection
        self._schema = schema

    @classmethod
    async def open(cls, url: str, area: str) -> Self:
        target = Target(url, area)
        with _translated():
            connection = await target.connect()
            snapshot = cls(connection, target.schema)
            try:
                await connection.execute(_BEGIN_SNAPSHOT)
                await without_hurry(connection)
                names = await snapshot.all(TABLES, schema=target.schema)
            except BaseException:
                await connection.close()
                raise
        if (copying.HISTORY_TABLE,) not in names:
            await connection.close()
            raise NotThere(f"there is no {area} database at the URL of {area}_database{copying.WHICH_AREAS}")
        return snapshot

    async def tables(self) -> list[Table]:
        with _translated():
            return await tables_of(self._connection, self._schema)

    async def structure(self) -> dict[str, Structure]:
        with _translated():
            return await structure_of(self._connection, self._schema)

    async def rows(self, table: Table) -> AsyncIterator[list[Row]]:
        statement = composed.SQL("COPY {} ({}) TO STDOUT (FORMAT BINARY)").format(*_identifiers(table))
        with _translated():
            async with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
                copy.set_types([_TYPES[column.kind] for column in table.columns])
                batch: list[Row] = []
                async for row in copy.rows():
                    batch.append(row)
                    if len(batch) == copying.BATCH:
                        yield batch
                        batch = []
                if batch:
                    yield batch

    async def all(self, sql: str, **values: Value) -> list[Row]:
        with _translated():
            return await self._connection.all(sql, **values)

    async def stream(self, sql: str) -> AsyncGenerator[list[Row], None]:
        with _translated():
            async with psycopg.AsyncRawServerCursor(self._connection, "stream") as cursor:
                await cursor.execute(sql, binary=True)
                while batch := await cursor.fetchmany(copying.BATCH):
                    yield batch

    async def damage(self) -> list[str]:
        return []  # there is no check of the files for a client to ask for

    async def close(self) -> None:
        await self._connection.close()


class PostgresDestination:
    """A schema that is made and filled in one transaction."""

    def __init__(self, url: str, area: str) -> None:
        self._target = Target(url, area)
        self._connection: PostgresConnection | None = None

    async def claim(self) -> bool:
        with _translated():
            return await try_session_lock(await self._connected(), self._target.schema)

    async def shut_out(self) -> bool:
        with _translated():
            return await shut_out(await self._connected(), self._target.schema)

    async def state(self) -> State:
        with _translated():
            connection = await self._connected()
            names = await connection.all(TABLES, schema=self._target.schema)
            if not names:
                return State(Stage.empty)
            if (copying.HISTORY_TABLE,) in names:
                marked = await connection.one(copying.MARKED, number=migrate.RESTORING)
                if marked is not None:
                    return State(Stage(marked[0]), marked[1])
            return State(Stage.used)

    async def begin(self, known: list[Migration], number: int) -> None:
        with _translated():
            connection = await self._connected()
            await connection.execute(_BEGIN_LOADING)
            await without_hurry(connection)
            await take_lock(connection, self._target.schema)
            stage = (await self.state()).stage
            if stage is Stage.used:
                raise Unavailable  # filled since it was looked at
            if stage is not Stage.empty:
                # Not the schema, which an administrator may have made for a role that may make none.
                for (name,) in await connection.all(TABLES, schema=self._target.schema):
                    await connection.execute(composed.SQL("DROP TABLE {}").format(composed.Identifier(name)))
            await bring_up_to_date(connection, self._target.schema, known[:number])

    async def tables(self) -> list[Table]:
        with _translated():
            return await tables_of(self._open, self._target.schema)

    async def load(self, table: Table, batches: Iterable[list[Row]]) -> int:
        name, columns = _identifiers(table)
        count = 0
        with _translated():
            await self._open.execute(composed.SQL("DELETE FROM {}").format(name))
            statement = composed.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)").format(name, columns)
            async with self._open.cursor() as cursor, cursor.copy(statement) as copy:
                copy.set_types([_TYPES[column.kind] for column in table.columns])
                for batch in batches:
                    for row in batch:
                        await copy.write_row(row)
                    count += len(batch)
        return count

    async def finish_schema(self, known: list[Migration]) -> None:
        with _translated():
            await bring_up_to_date(self._open, self._target.schema, known)

    async def run(self, sql: str, **values: Value) -> int:
        with _translated():
            return (await self._open.run(sql, **values)).rowcount

    async def commit(self, archive: str, now: int) -> None:
        mark = copying.loading_mark(archive, now)
        with _translated():
            await self._open.run(migrate.RECORD, **mark)
            # Without statistics the planner guesses, until autovacuum comes round or for ever where that is off.
            for table in await self.tables():
                await self._open.execute(composed.SQL("ANALYZE {}").format(composed.Identifier(table.name)))
            await self._open.execute("COMMIT")

    async def mark_loaded(self) -> None:
        await self._change(copying.MARK_LOADED, name=Stage.loaded.value, number=migrate.RESTORING)

    async def unmark(self) -> None:
        await self._change(copying.UNMARK, number=migrate.RESTORING)

    async def close(self) -> None:
        if self._connection is not None:
            with suppress(psycopg.Error):
                if self._connection.info.transaction_status is TransactionStatus.IDLE:
                    # The server ends a connection in its own time: a service that starts now is not to wait for that.
                    await self._connection.execute("SELECT pg_advisory_unlock_all()")
            await self._connection.close()
            self._connection = None

    @property
    def _open(self) -> PostgresConnection:
        assert self._connection is not None, "begin comes first"
        return self._connection

    async def _connected(self) -> PostgresConnection:
        if self._connection is None:
            self._connection = await self._target.connect()
        return self._connection

    async def _change(self, sql: str, **values: Value) -> None:
        with _translated():
            connection = await self._connected()
            await connection.execute(_BEGIN_LOADING)
            await connection.run(sql, **values)
            await connection.execute("COMMIT")


def _identifiers(table: Table) -> tuple[composed.Identifier, composed.Composed]:
    columns = composed.SQL(", ").join(composed.Identifier(column.name) for column in table.columns)
    return composed.Identifier(table.name), columns


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (psycopg.Error, OSError) as error:
        raise Unavailable from failure(error)
