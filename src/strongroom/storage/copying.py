"""Whole databases in and out: a snapshot that is read while the service runs, and an empty database to fill.

Both speak of tables, columns and rows in the seam's three kinds of value, so that what one engine gives another takes.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Literal, Protocol, TypeAlias

from strongroom.storage import Row, Value, migrate
from strongroom.storage.migrate import Migration
from strongroom.storage.structure import Structure

Kind: TypeAlias = Literal["text", "integer", "bytes"]

HISTORY_TABLE = "schema_migrations"
BATCH = 500

MARKED = "SELECT name, checksum FROM schema_migrations WHERE number = :number"
MARK_LOADED = "UPDATE schema_migrations SET name = :name WHERE number = :number"
UNMARK = "DELETE FROM schema_migrations WHERE number = :number"
HISTORY = "SELECT number, name, checksum FROM schema_migrations ORDER BY number"


WHICH_AREAS = " (--areas or STRONGROOM_AREAS says which areas there are)"


class NotThere(Exception):
    """There is no database where the settings say. The message names the area."""


class Stage(Enum):
    """How far a database is on its way from empty to restored."""

    empty = "empty"
    loading = "loading"
    """Rows of an unfinished restore; the service refuses to open it."""
    loaded = "loaded"
    """This area and every other one is filled; only the marks are still to be taken away."""
    used = "used"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class State:
    stage: Stage
    archive: str | None = None
    """The digest of the archive that an unfinished restore was reading."""


class Snapshot(Protocol):
    """One area as it was at one moment. Holding it does not delay writers."""

    engine: str

    async def tables(self) -> list[Table]:
        """Every table but the history of migrations, by name, with those of its columns that are of our kinds."""
        ...

    async def structure(self) -> dict[str, Structure]:
        """What every table is made of, by name, the history of migrations included."""
        ...

    def rows(self, table: Table) -> AsyncIterator[list[Row]]:
        """All rows in batches; memory does not grow with the table."""
        ...

    async def all(self, sql: str, **values: Value) -> list[Row]:
        """A query on the snapshot."""
        ...

    def stream(self, sql: str) -> AsyncGenerator[list[Row], None]:
        """A query whose answer may be long: in batches, as `rows`."""
        ...

    async def damage(self) -> list[str]:
        """What the engine finds wrong with its own files; holds no values."""
        ...

    async def close(self) -> None: ...


async def history(snapshot: Snapshot) -> list[tuple[int, str, str]]:
    """Number, name and checksum of every migration the database has seen."""
    return [(number, name, checksum) for number, name, checksum in await snapshot.all(HISTORY)]


def loading_mark(archive: str, now: int) -> dict[str, str | int]:
    """The row of the history that says that a restore has not come to its end."""
    return Migration(migrate.RESTORING, Stage.loading.value, "").record(now) | {"checksum": archive}


class Destination(Protocol):
    """One area's database to be filled in one step: until `commit` nothing of it can be seen."""

    async def claim(self) -> bool:
        """Keep other restores away until `close`; False where another restore has it.

        One database of a restore is enough.
        """
        ...

    async def shut_out(self) -> bool:
        """Keep services away until `close`; False where one is at work.

        True on SQLite, where a service holds locks of the data folder instead.
        """
        ...

    async def state(self) -> State: ...

    async def begin(self, known: list[Migration], number: int) -> None:
        """Remove what an unfinished restore left and make the tables as they were after migration `number`."""
        ...

    async def tables(self) -> list[Table]: ...

    async def load(self, table: Table, batches: Iterable[list[Row]]) -> int:
        """Put rows into a table, in place of what the migrations had put there; how many."""
        ...

    async def finish_schema(self, known: list[Migration]) -> None:
        """Run the migrations that the archive had not seen."""
        ...

    async def run(self, sql: str, **values: Value) -> int: ...

    async def commit(self, archive: str, now: int) -> None:
        """On disk when this returns, and marked as part of an unfinished restore."""
        ...

    async def mark_loaded(self) -> None: ...

    async def unmark(self) -> None:
        """Open it to the service."""
        ...

    async def close(self) -> None:
        """Let go; what was not committed is gone."""
        ...
