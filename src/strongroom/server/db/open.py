"""From a database setting to the engine that serves it."""

from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path

from strongroom.server.db import Store, Unavailable, migrate
from strongroom.server.settings import SettingsError, is_postgres


@dataclass(frozen=True, slots=True)
class Status:
    """How far a database is: the numbers of the migrations it has seen, and those still to be run."""

    engine: str
    applied: list[int]
    pending: list[int]


def open_store(
    database: str | None, default: Path, migrations: Traversable, *, guest: bool = False, connections: int = 0
) -> Store:
    """`sqlite:<path>`, `postgresql://...`, or nothing for the default file, whose stem names the area.

    A guest, such as the command line, never checkpoints a SQLite file. `connections` is the most that are opened to
    PostgreSQL, 0 the usual number. `SettingsError`; where the engine opens at once
    also `migrate.SchemaError` and `Unavailable`.
    """
    # The engines are imported when they are used: each costs the start of a process that has no use for it.
    if is_postgres(database):
        assert database is not None
        need_driver()
        from strongroom.server.db.postgres import PostgresStore

        return PostgresStore(database, default.stem, migrations, connections)
    from strongroom.server.db.sqlite import SqliteStore

    return SqliteStore(sqlite_path(database, default), migrations, guest=guest)


async def read_status(database: str | None, default: Path, migrations: Traversable) -> Status:
    """Look without changing anything; `migrate.SchemaError`, `SettingsError`, `Unavailable`."""
    known = migrate.load(migrations)
    if is_postgres(database):
        assert database is not None
        need_driver()
        from strongroom.server.db.postgres import read_applied

        engine, applied = "postgresql", await read_applied(database, default.stem)
    else:
        engine, applied = "sqlite", _applied_to_file(sqlite_path(database, default))
    pending = migrate.pending(known, applied)
    return Status(engine, sorted(applied), [migration.number for migration in pending])


def sqlite_path(database: str | None, default: Path) -> Path:
    """The file a setting names, or the default; `SettingsError`."""
    if database is None:
        return default
    scheme, _, path = database.partition(":")
    if scheme != "sqlite" or not path:
        raise SettingsError("a database is given as sqlite:<path> or postgresql://...")
    return Path(path)


def _applied_to_file(path: Path) -> dict[int, str]:
    import sqlite3

    from strongroom.server.db import sqlite_file

    if not path.exists():
        return {}
    try:
        connection = sqlite_file.connect(path, read_only=True, checkpoints=False)
        try:
            return sqlite_file.applied(connection)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise Unavailable from error


def need_driver() -> None:
    """`SettingsError` where PostgreSQL's driver is not installed."""
    try:
        import psycopg  # noqa: F401  # only asked whether it is there
    except ImportError:
        raise SettingsError("for PostgreSQL install strongroom[server,postgres]") from None
