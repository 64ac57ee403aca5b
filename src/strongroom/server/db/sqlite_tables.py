"""The tables of a SQLite database, and the statements that read and fill whole tables."""

import sqlite3
from contextlib import closing

from strongroom.server.db.copying import HISTORY_TABLE, Column, Kind, Table
from strongroom.server.db.migrate import Migration
from strongroom.server.db.sqlite_file import bring_up_to_date

_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
_COLUMNS = "SELECT name, type FROM pragma_table_info(:name) ORDER BY cid"
_KINDS: dict[str, Kind] = {"TEXT": "text", "INTEGER": "integer", "BLOB": "bytes"}


def tables_made(migrations: list[Migration]) -> list[Table]:
    """The tables that migrations make, found by running them in memory."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        bring_up_to_date(connection, migrations)
        return tables_of(connection)


def tables_of(connection: sqlite3.Connection) -> list[Table]:
    """Every table but the history, with those of its columns that are of our kinds."""
    names = [name for (name,) in connection.execute(_TABLES) if name != HISTORY_TABLE]
    return [
        Table(
            name,
            tuple(
                Column(column, _KINDS[kind])
                for column, kind in connection.execute(_COLUMNS, {"name": name})
                if kind in _KINDS
            ),
        )
        for name in names
    ]


# Names come from the database's own catalogue, which our migrations wrote.
def select(table: Table) -> str:
    return f"SELECT {_names(table)} FROM {table.name}"  # noqa: S608


def insert(table: Table) -> str:
    places = ", ".join("?" for _ in table.columns)
    return f"INSERT INTO {table.name} ({_names(table)}) VALUES ({places})"  # noqa: S608


def delete(table: Table) -> str:
    return f"DELETE FROM {table.name}"  # noqa: S608


def _names(table: Table) -> str:
    return ", ".join(column.name for column in table.columns)
