"""The tables of a SQLite database, what they are made of, and the statements that read and fill whole tables."""

import re
import sqlite3
from contextlib import closing

from strongroom.storage.copying import HISTORY_TABLE, Column, Kind, Table
from strongroom.storage.migrate import Migration
from strongroom.storage.sqlite.file import bring_up_to_date
from strongroom.storage.structure import Index, Structure, conjuncts, literals

_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name"
_COLUMNS = "SELECT name, type FROM pragma_table_info(:name) ORDER BY cid"
_KINDS: dict[str, Kind] = {"TEXT": "text", "INTEGER": "integer", "BLOB": "bytes"}

_SQL = "SELECT sql FROM sqlite_master WHERE name = :name"
_STRICT = "SELECT strict FROM pragma_table_list(:name) WHERE schema = 'main'"
_STRUCTURE = 'SELECT name, type, "notnull", pk FROM pragma_table_info(:name)'
_INDEXES = 'SELECT name, "unique", partial, origin FROM pragma_index_list(:name)'
_INDEXED = "SELECT coalesce(name, ''), coll FROM pragma_index_xinfo(:name) WHERE key ORDER BY seqno"
_CHOICES = re.compile(r"CHECK\s*\(\s*(\w+)\s+IN\s*(\([^)]*\))\s*\)", re.IGNORECASE)
_WHERE = re.compile(r"\bWHERE\b", re.IGNORECASE)


def schema_made(migrations: list[Migration]) -> tuple[list[Table], dict[str, Structure]]:
    """The tables that migrations make on either engine and what they are made of, found by running them in memory."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        bring_up_to_date(connection, migrations)
        return tables_of(connection), structure_of(connection)


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


def structure_of(connection: sqlite3.Connection) -> dict[str, Structure]:
    """By name of the table, the history included."""
    names = [name for (name,) in connection.execute(_TABLES)]
    return {name: _structure(connection, name) for name in names}


def _structure(connection: sqlite3.Connection, table: str) -> Structure:
    columns = connection.execute(_STRUCTURE, {"name": table}).fetchall()
    key = tuple(name for name, _, _, place in sorted(columns, key=lambda column: column[3]) if place)
    listed = connection.execute(_INDEXES, {"name": table}).fetchall()
    # A single integer is the key of the table itself, without an index.
    keyed = key and all(origin != "pk" for *_, origin in listed)
    indexes = {"": Index(key, True, frozenset())} if keyed else {}
    for name, unique, partial, _ in listed:
        indexed = connection.execute(_INDEXED, {"name": name}).fetchall()
        parts = tuple(column if order == "BINARY" else f"{column} {order}" for column, order in indexed)
        condition = _WHERE.split(_sql(connection, name), maxsplit=1)[-1] if partial else None
        indexes[name] = Index(parts, bool(unique), conjuncts(condition))
    return Structure(
        frozenset((name, _KINDS.get(kind, kind), bool(always)) for name, kind, always, _ in columns),
        frozenset((column, literals(texts)) for column, texts in _CHOICES.findall(_sql(connection, table))),
        indexes,
        connection.execute(_STRICT, {"name": table}).fetchone() == (1,),
    )


def _sql(connection: sqlite3.Connection, name: str) -> str:
    text: str = connection.execute(_SQL, {"name": name}).fetchone()[0]
    return text


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
