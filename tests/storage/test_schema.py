"""What makes the schema ready for an engine that spreads users over machines, and every statement fit for both."""

import re
from importlib import import_module
from importlib.resources import files
from pkgutil import walk_packages
from typing import TYPE_CHECKING

import pytest

from strongroom.storage import migrate
from strongroom.storage.postgres.connection import PostgresConnection, Target
from strongroom.storage.postgres.statements import numbered
from strongroom.storage.sqlite.store import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

    from tools.postgres_server import PostgresServer

pytestmark = pytest.mark.anyio

AREAS = ("access", "keystore", "vault")
PACKAGES = {"access": ("access", "portal")}
"""Whose statements run on a database, where it is more than the package of its name."""

# Rows of one user: found through the user, so that they may live where the user lives.
USERS_OWN = {
    "keystore": {
        "users": "id",
        "sessions": "user_id",
        "passphrase_derivation_artefacts": "user_id",
        "key_encryption_keys": "user_id",
        "data_encryption_keys": "user_id",
        "keypairs": "user_id",
        "external_identifiers": "user_id",
    },
    "vault": {"users": "id", "sessions": "user_id"},
}
# Everything else is found by what it is looked up by.
LOOK_UPS = {
    "access": {
        "store_meta": "name",
        "providers": "id",
        "provider_names": "name",
        "subscriptions": "provider_id",
        "subscription_keys": "key_hash",
        "provider_api_keys": "key_hash",
        "usage_spans": "provider_id",
        "usage_refusals": "provider_id",
        "audit_events": "subject_id",
        "developers": "id",
        "developer_emails": "email",
        "developer_links": "link_hash",
        "developer_sessions": "token_hash",
        "sign_ups": "link_hash",
        "invitations": "link_hash",
        "passkeys": "credential_id",
        "passkey_challenges": "challenge_hash",
        "recovery_codes": "developer_id",
        "memberships": "provider_id",
        "attempts": "bucket",
        "mails": "id",
        "notifications_sent": "subject_id",
        "shown_once": "id",
    },
    "keystore": {"store_meta": "name", "admission_tokens": "token_hash", "usernames": "provider_id"},
    "vault": {
        "store_meta": "name",
        "public_key_fingerprints": "fingerprint",
        "keystore_users": "keystore_user_id",
        "admission_tokens": "token_hash",
        "external_admission_tokens": "keystore_user_id",
        "classification_nodes": "node_id",
        "images": "image_id",
    },
}
# Services whose tables an area has among its own.
SERVICES = {
    "access": ("audit",),
    "keystore": ("admission_tokens", "sessions", "user_directory"),
    "vault": ("admission_tokens", "sessions", "user_directory"),
}
# Text with a meaning of its own: two fixed words, the same in every order of letters.
ORDERED_TEXT = {"slot"}


def schema(area: str) -> str:
    return "\n".join(migration.text for migration in migrate.load(files(f"strongroom.{area}") / "migrations"))


def statements(area: str) -> dict[str, str]:
    """Every constant that is SQL of an area's database, by its place."""
    found: dict[str, str] = {}
    for package in PACKAGES.get(area, (area,)):
        folder = import_module(f"strongroom.{package}").__path__
        modules = [info.name for info in walk_packages(folder, f"strongroom.{package}.")]
        for module in (*modules, *(f"strongroom.services.{name}" for name in SERVICES[area])):
            for name, value in vars(import_module(module)).items():
                if name.isupper() and isinstance(value, str) and re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE)\b", value):
                    place = module.removeprefix("strongroom.")
                    found[f"{area}.{place.removeprefix(f'{area}.')}.{name}"] = value.replace("{where}", "")
    return found


STATEMENTS = {area: statements(area) for area in AREAS}


@pytest.fixture(scope="module", params=AREAS)
def area(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


async def connected(server: "PostgresServer", area: str) -> PostgresConnection:
    from strongroom.storage.postgres.store import PostgresStore

    url = f"{server.url()}&options=-csearch_path%3Dschema_of_{area}"
    store = PostgresStore(url, area, files(f"strongroom.{area}") / "migrations")
    await store.open()
    await store.close()
    return await Target(url, area).connect()


async def test_primary_keys_lead_with_the_user_or_are_a_look_up(area: str, postgres_server: "PostgresServer") -> None:
    connection = await connected(postgres_server, area)
    cursor = await connection.execute(
        "SELECT t.relname::text, a.attname::text FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace "
        "LEFT JOIN pg_index i ON i.indrelid = t.oid AND i.indisprimary "
        "LEFT JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = i.indkey[0] "
        "WHERE t.relkind = 'r' AND n.nspname = current_schema() AND t.relname <> 'schema_migrations'"
    )
    leading: dict[str, str | None] = dict(await cursor.fetchall())
    await connection.close()
    assert leading == USERS_OWN.get(area, {}) | LOOK_UPS[area]


async def test_unique_rules_of_a_users_rows_lead_with_the_user(area: str, postgres_server: "PostgresServer") -> None:
    connection = await connected(postgres_server, area)
    cursor = await connection.execute(
        "SELECT t.relname::text, i.relname::text, a.attname::text "
        "FROM pg_index x JOIN pg_class t ON t.oid = x.indrelid "
        "JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_namespace n ON n.oid = t.relnamespace "
        "JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = x.indkey[0] "
        "WHERE n.nspname = current_schema() AND x.indisunique"
    )
    rows = await cursor.fetchall()
    await connection.close()
    own = USERS_OWN.get(area, {})
    assert [row for row in rows if row[0] in own and row[2] != own[row[0]]] == []


async def test_no_sequence_no_foreign_key_no_trigger(area: str, postgres_server: "PostgresServer") -> None:
    connection = await connected(postgres_server, area)
    cursor = await connection.execute(
        "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
        "WHERE n.nspname = current_schema() AND c.relkind = 'S' "
        "UNION ALL SELECT c.conname::text FROM pg_constraint c JOIN pg_namespace n ON n.oid = c.connamespace "
        "WHERE n.nspname = current_schema() AND c.contype = 'f' "
        "UNION ALL SELECT t.tgname::text FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid "
        "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = current_schema()"
    )
    assert await cursor.fetchall() == []
    await connection.close()


def test_only_types_that_both_engines_have(area: str) -> None:
    text = schema(area)
    columns = re.findall(r"^    ([a-z_]+) ([A-Z]+)", text, re.MULTILINE)
    assert len(columns) > 10
    assert {kind for _, kind in columns} <= {"TEXT", "BIGINT", "BYTEA"}
    assert not re.search(r"\b(AUTOINCREMENT|SERIAL|GENERATED|REFERENCES|DEFAULT|WITHOUT ROWID)\b", text)


async def test_every_statement_is_understood_by_both_engines(
    area: str, postgres_server: "PostgresServer", tmp_path: "Path"
) -> None:
    store = SqliteStore(tmp_path / "area.sqlite", files(f"strongroom.{area}") / "migrations")
    connection = await connected(postgres_server, area)
    assert len(STATEMENTS[area]) > 10
    for place, sql in STATEMENTS[area].items():
        text, names = numbered(sql)
        try:
            await connection.execute(f"PREPARE probe AS {text}")
            await connection.execute("DEALLOCATE probe")
            store._writer.execute(f"EXPLAIN {sql}", dict.fromkeys(names))
        except Exception as error:
            raise AssertionError(place) from error
    await connection.close()
    await store.close()


def test_no_order_depends_on_a_locale() -> None:
    text = "\n".join(schema(area) for area in AREAS)
    every = [sql for own in STATEMENTS.values() for sql in own.values()]
    kinds = dict(re.findall(r"(?:^    |ADD COLUMN )([a-z_]+) ([A-Z]+)", text, re.MULTILINE))
    ordered = {
        column.strip().split(".")[-1].split()[0]
        for sql in every
        for columns in re.findall(r"ORDER BY ([a-z_., ]+?)(?: LIMIT|\s*\)|\s*$|\n)", sql)
        for column in columns.split(",")
    }
    assert len(ordered) >= 5
    assert {name for name in ordered if kinds[name] == "TEXT"} <= ORDERED_TEXT
    assert not any(re.search(r"\bI?LIKE\b|[<>]=? ?:name", sql) for sql in every)
