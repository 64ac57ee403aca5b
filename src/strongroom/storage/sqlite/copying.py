"""SQLite files in and out: a read transaction beside the service's writer, and a file that appears when it is whole."""

import contextlib
import fcntl
import hashlib
import os
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from strongroom.runtime.durable import sync
from strongroom.storage import Row, Unavailable, Value, copying, migrate
from strongroom.storage.copying import NotThere, Stage, State, Table
from strongroom.storage.migrate import Migration
from strongroom.storage.sqlite.file import bring_up_to_date, connect
from strongroom.storage.sqlite.tables import delete, insert, select, structure_of, tables_of
from strongroom.storage.structure import Structure

# PostgreSQL's, for queries that ask the same of both.
_FUNCTIONS = (
    ("sha256", 1, lambda content: hashlib.sha256(content).digest()),
    ("encode", 2, lambda content, _: content.hex()),
)
_MOST_FINDINGS = 20
_NOT_UTF_8 = "Could not decode to UTF-8"
_CACHE_KIB = 256 * 1024


class SqliteSnapshot:
    """A read transaction in the write-ahead log: the writer goes on, and the log grows until this is closed."""

    engine = "sqlite"

    def __init__(self, path: Path, area: str) -> None:
        # Opening would make the file: a mistyped folder should be refused, not filled.
        with _translated():
            if not path.is_file():
                raise NotThere(f"there is no {area} database at {path}{copying.WHICH_AREAS}")
            self._connection = connect(path, read_only=True, checkpoints=False)
            for name, arguments, function in _FUNCTIONS:
                self._connection.create_function(name, arguments, function, deterministic=True)
            self._connection.execute("BEGIN")
            self._connection.execute("SELECT 1 FROM sqlite_master").fetchone()  # from here on nothing moves

    async def tables(self) -> list[Table]:
        with _translated():
            return tables_of(self._connection)

    async def structure(self) -> dict[str, Structure]:
        with _translated():
            return structure_of(self._connection)

    def rows(self, table: Table) -> AsyncIterator[list[Row]]:
        return self.stream(select(table))

    async def all(self, sql: str, **values: Value) -> list[Row]:
        with _translated():
            return self._connection.execute(sql, values).fetchall()

    async def stream(self, sql: str) -> AsyncGenerator[list[Row], None]:
        with _translated():
            cursor = self._connection.execute(sql)
            while batch := cursor.fetchmany(copying.BATCH):
                yield batch

    async def damage(self) -> list[str]:
        try:
            found = self._connection.execute(f"PRAGMA integrity_check({_MOST_FINDINGS})").fetchall()
        except sqlite3.DatabaseError as error:
            return [str(error)]
        return [text for (text,) in found if text != "ok"]

    async def close(self) -> None:
        self._connection.close()


class SqliteDestination:
    """A new file, filled under another name beside its place and moved there when it is on disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._partial = path.with_name(f"{path.name}.restoring")
        self._connection: sqlite3.Connection | None = None
        self._filling = False
        self._claim: int | None = None

    async def claim(self) -> bool:
        with _translated():
            self._make_folder()
            # The folder itself: a file for it would be one more to clean up, and the wrong one to delete.
            self._claim = os.open(self._path.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(self._claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    async def shut_out(self) -> bool:
        return True

    async def state(self) -> State:
        with _translated():
            if not self._path.exists():
                # A log without its file is what is left of a database: an operator has to look at it first.
                return State(Stage.used if _beside(self._path, "-wal").exists() else Stage.empty)
        with _translated(), closing(connect(self._path, read_only=True, checkpoints=False)) as connection:
            if connection.execute(
                "SELECT 1 FROM sqlite_master WHERE name = :name", {"name": copying.HISTORY_TABLE}
            ).fetchone():
                marked = connection.execute(copying.MARKED, {"number": migrate.RESTORING}).fetchone()
                if marked is not None:
                    return State(Stage(marked[0]), marked[1])
            return State(Stage.used)

    async def begin(self, known: list[Migration], number: int) -> None:
        stage = (await self.state()).stage
        if stage is Stage.used:
            raise Unavailable  # filled since it was looked at
        with _translated():
            self._make_folder()
            if stage is not Stage.empty:
                _remove(self._path)
            _remove(self._partial)
            self._filling = True
            self._partial.touch(mode=0o600)
            self._connection = connection = connect(self._partial, checkpoints=True)
            # The file is not used before it is whole, so nothing in it has to survive a crash.
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("PRAGMA synchronous = OFF")
            # Keys come in no order: without room for the indexes every row would be a page read and written.
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            bring_up_to_date(connection, known[:number])
            connection.execute("BEGIN")

    async def tables(self) -> list[Table]:
        return tables_of(self._open)

    async def load(self, table: Table, batches: Iterable[list[Row]]) -> int:
        count = 0
        with _translated():
            self._open.execute(delete(table))
            statement = insert(table)
            for batch in batches:
                self._open.executemany(statement, batch)
                count += len(batch)
        return count

    async def finish_schema(self, known: list[Migration]) -> None:
        with _translated():
            self._open.execute("COMMIT")
            bring_up_to_date(self._open, known)
            self._open.execute("BEGIN")

    async def run(self, sql: str, **values: Value) -> int:
        with _translated():
            return self._open.execute(sql, values).rowcount

    async def commit(self, archive: str, now: int) -> None:
        mark = copying.loading_mark(archive, now)
        with _translated():
            self._open.execute(migrate.RECORD, mark)
            self._open.execute("COMMIT")
            self._open.execute("PRAGMA journal_mode = WAL")
            self._disconnect()
            sync(self._partial)
            # Unlike a rename this fails where a file has appeared in the meantime.
            os.link(self._partial, self._path)
            self._partial.unlink()
            self._filling = False
            sync(self._path.parent)

    async def mark_loaded(self) -> None:
        self._change(copying.MARK_LOADED, name=Stage.loaded.value, number=migrate.RESTORING)

    async def unmark(self) -> None:
        self._change(copying.UNMARK, number=migrate.RESTORING)

    async def close(self) -> None:
        self._disconnect()
        if self._filling:
            with contextlib.suppress(OSError):
                _remove(self._partial)
            self._filling = False
        if self._claim is not None:
            os.close(self._claim)
            self._claim = None

    @property
    def _open(self) -> sqlite3.Connection:
        assert self._connection is not None, "begin comes first"
        return self._connection

    def _make_folder(self) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _change(self, sql: str, **values: Value) -> None:
        with _translated(), closing(connect(self._path, checkpoints=True)) as connection:
            connection.execute(sql, values)


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _remove(path: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        _beside(path, ending).unlink(missing_ok=True)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        if str(error).startswith(_NOT_UTF_8):
            raise Unavailable from ValueError("a text is not UTF-8")  # SQLite's own message quotes it
        raise Unavailable from error
