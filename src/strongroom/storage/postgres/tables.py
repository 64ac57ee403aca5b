"""The tables of a PostgreSQL schema and what they are made of, as its catalogue has them."""

from strongroom.storage.copying import HISTORY_TABLE, Column, Kind, Table
from strongroom.storage.postgres.connection import PostgresConnection
from strongroom.storage.structure import Index, Structure, conjuncts, literals

TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = :schema ORDER BY tablename"
_COLUMNS = """
SELECT column_name, data_type FROM information_schema.columns
WHERE table_schema = :schema AND table_name = :name ORDER BY ordinal_position
"""
_KINDS: dict[str, Kind] = {"text": "text", "bigint": "integer", "bytea": "bytes"}

# Asked of the catalogue, which shows everything to everybody, by what constraints and indexes do and not by the texts
# that versions of the server may write in different ways.
_STRUCTURE = """
SELECT t.relname, t.relpersistence = 'p', a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull
FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE n.nspname = :schema AND t.relkind IN ('r', 'p')
"""
_CHECKS = """
SELECT t.relname, a.attname, pg_get_expr(c.conbin, c.conrelid)
FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid JOIN pg_namespace n ON n.oid = t.relnamespace
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = ALL (c.conkey)
WHERE n.nspname = :schema AND c.contype = 'c' AND c.convalidated
"""
# One that was left half-built, or that is looked at only when a transaction ends, does not do what ours do.
_INDEXES = """
SELECT t.relname, i.relname, x.indisunique, pg_get_expr(x.indpred, x.indrelid), a.attname
FROM pg_index x JOIN pg_class t ON t.oid = x.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace
JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_am m ON m.oid = i.relam
CROSS JOIN LATERAL unnest(x.indkey) WITH ORDINALITY AS k(number, place)
LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.number
WHERE n.nspname = :schema AND m.amname = 'btree' AND x.indisvalid AND x.indisready AND x.indimmediate
AND k.place <= x.indnkeyatts ORDER BY i.oid, k.place
"""


async def tables_of(connection: PostgresConnection, schema: str) -> list[Table]:
    """Every table but the history, with those of its columns that are of our kinds."""
    names = [name for (name,) in await connection.all(TABLES, schema=schema)]
    found = []
    for name in names:
        if name != HISTORY_TABLE:
            columns = await connection.all(_COLUMNS, schema=schema, name=name)
            ours = (Column(column, _KINDS[kind]) for column, kind in columns if kind in _KINDS)
            found.append(Table(name, tuple(ours)))
    return found


async def structure_of(connection: PostgresConnection, schema: str) -> dict[str, Structure]:
    """By name of the table, the history included."""
    columns: dict[str, set[tuple[str, str, bool]]] = {}
    firm: dict[str, bool] = {}
    for table, lasting, column, kind, always in await connection.all(_STRUCTURE, schema=schema):
        columns.setdefault(table, set()).add((column, _KINDS.get(kind) or kind, bool(always)))
        firm[table] = bool(lasting)
    choices: dict[str, set[tuple[str, frozenset[str]]]] = {}
    for table, column, condition in await connection.all(_CHECKS, schema=schema):
        choices.setdefault(table, set()).add((column, literals(condition)))
    indexes: dict[str, dict[str, Index]] = {}
    for table, name, unique, condition, column in await connection.all(_INDEXES, schema=schema):
        of_table = indexes.setdefault(table, {})
        before = of_table[name].columns if name in of_table else ()
        # An expression has no name, and none of ours is one.
        of_table[name] = Index((*before, column or ""), bool(unique), conjuncts(condition))
    return {
        table: Structure(frozenset(found), frozenset(choices.get(table, set())), indexes.get(table, {}), firm[table])
        for table, found in columns.items()
    }
