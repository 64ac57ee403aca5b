"""From a database setting to the engine that serves it."""

from contextlib import closing
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path

from strongroom.runtime.settings import SettingsError, is_postgres
from strongroom.storage import Store, Unavailable, migrate
from strongroom.storage.copying import Destination, Snapshot

OLDEST_LIBPQ = 140_000


@dataclass(frozen=True, slots=True)
class Status:
    """How far a database is: the numbers of the migrations it has seen, and those still to be run."""

    engine: str
    applied: list[int]
    pending: list[int]


def open_store(
    database: str, area: str, migrations: Traversable, *, guest: bool = False, connections: int = 0
) -> Store:
    """The database of an area: `sqlite:<path>` or `postgresql://...`, where the area names the schema.

    A guest, such as the command line, never checkpoints a SQLite file. `connections` is the most that are opened to
    PostgreSQL, 0 the usual number. `SettingsError`; where the engine opens at once also `migrate.SchemaError` and
    `Unavailable`.
    """
    # The engines are imported when they are used: each costs the start of a process that has no use for it.
    if is_postgres(database):
        need_driver()
        from strongroom.storage.postgres.store import PostgresStore

        return PostgresStore(database, area, migrations, connections)
    from strongroom.storage.sqlite.store import SqliteStore

    return SqliteStore(sqlite_path(database), migrations, guest=guest)


async def open_snapshot(database: str, area: str) -> Snapshot:
    """`NotThere`, `SettingsError`, `Unavailable`."""
    if is_postgres(database):
        need_driver()
        from strongroom.storage.postgres.copying import PostgresSnapshot

        return await PostgresSnapshot.open(database, area)
    from strongroom.storage.sqlite.copying import SqliteSnapshot

    return SqliteSnapshot(sqlite_path(database), area)


def open_destination(database: str, area: str) -> Destination:
    """Connects to nothing yet; `SettingsError`."""
    if is_postgres(database):
        need_driver()
        from strongroom.storage.postgres.copying import PostgresDestination

        return PostgresDestination(database, area)
    from strongroom.storage.sqlite.copying import SqliteDestination

    return SqliteDestination(sqlite_path(database))


async def read_status(database: str, area: str, migrations: Traversable) -> Status:
    """Look without changing anything; `migrate.SchemaError`, `SettingsError`, `Unavailable`."""
    known = migrate.load(migrations)
    if is_postgres(database):
        need_driver()
        from strongroom.storage.postgres.store import read_applied

        engine, applied = "postgresql", await read_applied(database, area)
    else:
        engine, applied = "sqlite", _applied_to_file(sqlite_path(database))
    pending = migrate.pending(known, applied)
    return Status(engine, sorted(applied), [migration.number for migration in pending])


def sqlite_path(database: str) -> Path:
    """The file a setting names; `SettingsError` for anything but `sqlite:<path>`."""
    scheme, _, path = database.partition(":")
    if scheme != "sqlite" or not path:
        raise SettingsError("a database is given as sqlite:<path> or postgresql://...")
    return Path(path)


def _applied_to_file(path: Path) -> dict[int, str]:
    import sqlite3

    from strongroom.storage.sqlite import file as sqlite_file

    if not path.exists():
        return {}
    try:
        with closing(sqlite_file.connect(path, read_only=True, checkpoints=False)) as connection:
            return sqlite_file.applied(connection)
    except sqlite3.Error as error:
        raise Unavailable from error


def need_driver() -> None:
    """`SettingsError` where PostgreSQL's driver is not installed, or where its client library cannot pipeline."""
    try:
        from psycopg import pq
    except ImportError:
        raise SettingsError("for PostgreSQL install strongroom[server,postgres]") from None
    if pq.version() < OLDEST_LIBPQ:
        raise SettingsError("PostgreSQL's client library, libpq, has to be of version 14 or newer")
