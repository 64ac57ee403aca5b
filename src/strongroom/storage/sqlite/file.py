"""A SQLite file: connections to it with the pragmas that durability rests on, and its schema."""

import contextlib
import os
import re
import sqlite3
import time
from pathlib import Path

from strongroom.storage import migrate

BUSY_TIMEOUT_SECONDS = 5.0


def connect(path: Path, *, checkpoints: bool, read_only: bool = False) -> sqlite3.Connection:
    """One connection; WAL, and a commit returns after the log has been flushed. A new file is its owner's alone."""
    if not read_only:
        with contextlib.suppress(OSError):  # SQLite tells what is wrong with the path
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = sqlite3.connect(
        path,
        timeout=BUSY_TIMEOUT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    try:
        connection.execute("PRAGMA temp_store = MEMORY")
        if not checkpoints:
            # Only one connection does: SQLite before 3.51.3 can damage a file when two of them reset the log.
            connection.execute("PRAGMA wal_autocheckpoint = 0")
        if read_only:
            connection.execute("PRAGMA query_only = ON")
        else:
            _enter_wal_mode(connection)
            connection.execute("PRAGMA synchronous = FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def _enter_wal_mode(connection: sqlite3.Connection) -> None:
    """Bring the file into WAL mode, waiting for others who do the same for `BUSY_TIMEOUT_SECONDS`.

    SQLite's own timeout does not hold here: of two that both read a new file and want to change its mode, one learns
    at once that the file is locked, since waiting might be for ever.
    """
    give_up_at = time.monotonic() + BUSY_TIMEOUT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > give_up_at:
                raise
        time.sleep(0.005)


def bring_up_to_date(connection: sqlite3.Connection, known: list[migrate.Migration]) -> None:
    """Run what is pending, each migration in a transaction of its own: after a crash the rest follows."""
    while migrate.pending(known, applied(connection)):
        connection.execute("BEGIN IMMEDIATE")  # the lock: a second process waits here and then finds nothing to do
        try:
            connection.execute(dialect(migrate.HISTORY))
            for migration in migrate.pending(known, applied(connection))[:1]:
                for statement in migration.statements:
                    connection.execute(dialect(statement))
                connection.execute(migrate.RECORD, migration.record(time.time_ns() // 1_000_000))
            connection.execute("COMMIT")
        except BaseException:
            connection.rollback()
            raise


def applied(connection: sqlite3.Connection) -> dict[int, str]:
    """The migrations this file has seen: number and checksum."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'schema_migrations'").fetchone() is None:
        return {}
    return dict(connection.execute(migrate.APPLIED).fetchall())


def dialect(statement: str) -> str:
    """PostgreSQL's types in SQLite's words; tables are STRICT, so that a wrong type is an error here as it is there."""
    statement = re.sub(r"\bBYTEA\b", "BLOB", re.sub(r"\bBIGINT\b", "INTEGER", statement))
    if re.match(r"CREATE TABLE", statement.lstrip()):
        statement = statement.rstrip() + " STRICT"
    return statement
