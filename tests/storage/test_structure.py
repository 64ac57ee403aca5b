"""A schema that was changed by hand is distinguished from the one that the migrations make, on either engine."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from importlib.resources import files
from typing import TypeAlias

import pytest
from tools.postgres_server import PostgresServer

from strongroom.storage import migrate
from strongroom.storage.copying import HISTORY_TABLE
from strongroom.storage.postgres.connection import Target
from strongroom.storage.postgres.migrations import bring_up_to_date
from strongroom.storage.postgres.tables import structure_of
from strongroom.storage.sqlite.file import bring_up_to_date as bring_file_up_to_date
from strongroom.storage.sqlite.tables import schema_made
from strongroom.storage.sqlite.tables import structure_of as structure_of_file
from strongroom.storage.structure import Structure, differences

pytestmark = pytest.mark.anyio

AREAS = ("access", "keystore", "vault")
Changed: TypeAlias = Callable[[str], Awaitable[dict[str, Structure]]]

ANEW = "ALTER TABLE {0} RENAME TO before; CREATE TABLE {0} ({1}) {2}"
MEMBERS = "provider_id BLOB NOT NULL, developer_id BLOB NOT NULL, role {}, created_at INTEGER NOT NULL"
MEMBERS_KEY = ", PRIMARY KEY (provider_id, developer_id)"
ROLES = "TEXT NOT NULL CHECK (role IN ('owner', 'member'))"
COLUMNS, CHECK = "the columns of {} are not as the migrations make them", "{} lacks a check of its values"
KEY, INDEX = "{} lacks a primary key or unique constraint", "{} lacks the index {}"
OF_DEVELOPER = INDEX.format("memberships", "memberships_of_developer")
DUE = "subscription_keys_by_age"

# A change of an area's schema by hand, and what is reported.
SAME_ON_BOTH = [
    ("keystore", "DROP INDEX sessions_by_end", [INDEX.format("sessions", "sessions_by_end")]),
    ("vault", "DROP TABLE keystore_users", ["the table keystore_users is not there"]),
    ("keystore", "ALTER TABLE keypairs DROP COLUMN metadata", [COLUMNS.format("keypairs")]),
    (
        "access",
        "ALTER TABLE providers RENAME COLUMN closed_at TO ended_at",
        [COLUMNS.format("providers")],
    ),
    (
        "vault",
        (
            "DROP INDEX classification_nodes_name;"
            " CREATE INDEX classification_nodes_name ON classification_nodes (scheme, name)"
        ),
        [INDEX.format("classification_nodes", "classification_nodes_name")],
    ),
    (
        "keystore",
        "DROP INDEX users_of_provider; CREATE INDEX users_of_provider ON users (id, provider_id)",
        [INDEX.format("users", "users_of_provider")],
    ),
    (
        "access",
        f"DROP INDEX {DUE}; CREATE INDEX {DUE} ON subscription_keys (created_at) WHERE replaced_at IS NULL",
        [INDEX.format("subscription_keys", DUE)],
    ),
    (
        "access",
        f"DROP INDEX {DUE}; CREATE INDEX {DUE} ON subscription_keys (created_at)",
        [INDEX.format("subscription_keys", DUE)],
    ),
    (
        "access",
        "DROP INDEX sign_ups_by_end; CREATE INDEX sign_ups_by_end ON sign_ups (abs(expires_at))",
        [INDEX.format("sign_ups", "sign_ups_by_end")],
    ),
    # No difference: other names, other ways to write it, and what was put beside.
    (
        "access",
        f"DROP INDEX {DUE}; CREATE INDEX other ON subscription_keys (created_at)"
        " where ((reminded_at is null)) AND (replaced_at is null)".replace("is null", "IS NULL"),
        [],
    ),
    ("keystore", "CREATE UNIQUE INDEX other ON users (username); CREATE TABLE others (id BIGINT)", []),
    ("keystore", "ALTER TABLE users ADD COLUMN note TEXT", []),
]
ON_SQLITE = [
    (
        "access",
        ANEW.format("memberships", MEMBERS.format(ROLES) + MEMBERS_KEY, ""),
        [COLUMNS.format("memberships"), OF_DEVELOPER],
    ),
    ("access", ANEW.format("memberships", MEMBERS.format(ROLES), "STRICT"), [KEY.format("memberships"), OF_DEVELOPER]),
    (
        "access",
        ANEW.format("memberships", MEMBERS.format("TEXT NOT NULL") + MEMBERS_KEY, "STRICT"),
        [CHECK.format("memberships"), OF_DEVELOPER],
    ),
    (
        "access",
        ANEW.format("memberships", MEMBERS.format("TEXT CHECK (role IN ('owner', 'member'))") + MEMBERS_KEY, "STRICT"),
        [COLUMNS.format("memberships"), OF_DEVELOPER],
    ),
    (
        "access",
        ANEW.format("developer_emails", "email TEXT NOT NULL COLLATE NOCASE PRIMARY KEY, developer_id BLOB", "STRICT"),
        [COLUMNS.format("developer_emails"), KEY.format("developer_emails")],
    ),
    (
        "access",
        ANEW.format(HISTORY_TABLE, "number INTEGER NOT NULL, name TEXT NOT NULL, checksum TEXT NOT NULL", "STRICT"),
        [COLUMNS.format(HISTORY_TABLE), KEY.format(HISTORY_TABLE)],
    ),
]
ON_POSTGRES = [
    ("keystore", "ALTER TABLE users ALTER COLUMN username DROP NOT NULL", [COLUMNS.format("users")]),
    ("keystore", "ALTER TABLE users ALTER COLUMN username TYPE varchar(64)", [COLUMNS.format("users")]),
    ("keystore", "ALTER TABLE users SET UNLOGGED", [COLUMNS.format("users")]),
    ("keystore", "ALTER TABLE users DROP CONSTRAINT users_pkey", [KEY.format("users")]),
    (
        "keystore",
        "ALTER TABLE keypairs DROP CONSTRAINT keypairs_user_id_digest_key",
        [KEY.format("keypairs")],
    ),
    (
        "keystore",
        "ALTER TABLE keypairs DROP CONSTRAINT keypairs_user_id_digest_key, ADD UNIQUE (user_id, digest) DEFERRABLE",
        [KEY.format("keypairs")],
    ),
    ("access", "ALTER TABLE memberships DROP CONSTRAINT memberships_role_check", [CHECK.format("memberships")]),
    (
        "access",
        (
            "ALTER TABLE memberships DROP CONSTRAINT memberships_role_check,"
            " ADD CHECK (role IN ('owner', 'member', 'guest'))"
        ),
        [CHECK.format("memberships")],
    ),
    (
        "keystore",
        "DROP INDEX sessions_by_end; CREATE INDEX sessions_by_end ON sessions USING hash (valid_till)",
        [INDEX.format("sessions", "sessions_by_end")],
    ),
    (
        "keystore",
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'sessions_by_end'::regclass",
        [INDEX.format("sessions", "sessions_by_end")],
    ),
    # No difference: a unique index does what the constraint did.
    (
        "keystore",
        (
            "ALTER TABLE keypairs DROP CONSTRAINT keypairs_user_id_digest_key;"
            " CREATE UNIQUE INDEX other ON keypairs (user_id, digest) INCLUDE (fingerprint)"
        ),
        [],
    ),
]
ON_EITHER = {"sqlite": SAME_ON_BOTH + ON_SQLITE, "postgresql": SAME_ON_BOTH + ON_POSTGRES}


def known(area: str) -> list[migrate.Migration]:
    return migrate.load(files(f"strongroom.{area}") / "migrations")


@asynccontextmanager
async def changing(engine: str, area: str, postgres: PostgresServer) -> AsyncIterator[Changed]:
    """What an up-to-date schema is made of after a statement, which is then taken back."""
    if engine == "sqlite":
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as file:
            bring_file_up_to_date(file, known(area))

            async def changed_file(statements: str) -> dict[str, Structure]:
                file.execute("BEGIN")
                for statement in statements.split(";"):
                    file.execute(statement)
                found = structure_of_file(file)
                file.execute("ROLLBACK")
                return found

            yield changed_file
        return
    schema = f"structure_of_{area}"
    connection = await Target(f"{postgres.url()}&options=-csearch_path%3D{schema}", area).connect()
    try:
        await bring_up_to_date(connection, schema, known(area))

        async def changed_schema(statements: str) -> dict[str, Structure]:
            await connection.execute("BEGIN READ WRITE")
            for statement in statements.split(";"):
                await connection.execute(statement.encode(), prepare=False)
            found = await structure_of(connection, schema)
            await connection.execute("ROLLBACK")
            return found

        yield changed_schema
    finally:
        await connection.close()


@pytest.mark.parametrize("area", AREAS)
async def test_both_engines_make_the_same_of_the_migrations(area: str, postgres_server: PostgresServer) -> None:
    made = schema_made(known(area))[1]
    text = "".join(migration.text for migration in known(area))
    assert sum(len(table.choices) for table in made.values()) == text.count("CHECK")
    async with changing("postgresql", area, postgres_server) as changed:
        found = await changed("SELECT 1")
    for name, table in made.items():
        assert found[name].columns == table.columns
        assert found[name].choices == table.choices
        assert set(found[name].indexes.values()) == set(table.indexes.values())
    assert set(found) == set(made)


@pytest.mark.parametrize("area", AREAS)
async def test_no_index_can_be_dropped_unnoticed(area: str, engine: str, postgres_server: PostgresServer) -> None:
    made = schema_made(known(area))[1]
    labels = [(table, label) for table, of in made.items() for label in of.indexes if label and "auto" not in label]
    assert labels
    async with changing(engine, area, postgres_server) as changed:
        for table, label in labels:
            assert differences(made, await changed(f"DROP INDEX {label}")) == [INDEX.format(table, label)]


@pytest.mark.parametrize("area", AREAS)
async def test_what_was_changed_is_named(area: str, engine: str, postgres_server: PostgresServer) -> None:
    made = schema_made(known(area))[1]
    cases = [case for case in ON_EITHER[engine] if case[0] == area]
    async with changing(engine, area, postgres_server) as changed:
        assert differences(made, await changed("SELECT 1")) == []
        for _, statement, expected in cases:
            assert sorted(differences(made, await changed(statement))) == sorted(expected), statement
