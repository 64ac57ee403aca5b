"""Migrations on both engines: once, in order, resumable, and never against software they do not belong to."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from strongroom.storage import Unavailable, migrate
from strongroom.storage.migrate import SchemaError

if TYPE_CHECKING:
    from tests.storage.conftest import Database

pytestmark = pytest.mark.anyio

HISTORY = "SELECT number, name FROM schema_migrations ORDER BY number"


def add(folder: Path, number: int, text: str) -> Path:
    path = folder / f"{number:04}_step.sql"
    path.write_text(text)
    return path


async def test_they_run_once_and_in_order(database: "Database", items: Path) -> None:
    add(items, 2, "CREATE TABLE more (id BIGINT NOT NULL PRIMARY KEY);\n\nINSERT INTO more (id) VALUES (1);\n")
    add(items, 3, "INSERT INTO more (id)\nSELECT id + 1 FROM more;")
    for _ in range(2):
        store = await database.open()
        assert await store.read(lambda tx: tx.all(HISTORY)) == [(1, "items"), (2, "step"), (3, "step")]
        assert await store.read(lambda tx: tx.all("SELECT id FROM more ORDER BY id")) == [(1,), (2,)]


async def test_the_status_tells_what_is_pending_and_changes_nothing(database: "Database", items: Path) -> None:
    assert (await database.status()).applied == []
    assert (await database.status()).pending == [1]
    await database.open()
    add(items, 2, "CREATE TABLE more (id BIGINT NOT NULL PRIMARY KEY);")
    status = await database.status()
    assert (status.applied, status.pending) == ([1], [2])
    assert status.engine == ("sqlite" if database.setting.startswith("sqlite:") else "postgresql")


async def test_a_newer_schema_is_refused(database: "Database", items: Path) -> None:
    newer = add(items, 2, "CREATE TABLE more (id BIGINT NOT NULL PRIMARY KEY);")
    await database.open()
    newer.unlink()
    with pytest.raises(SchemaError, match="newer version"):
        await database.open()
    with pytest.raises(SchemaError, match="newer version"):
        await database.status()


async def test_an_edited_history_is_refused(database: "Database", items: Path) -> None:
    await database.open()
    with (items / "0001_items.sql").open("a") as file:
        file.write("\nCREATE TABLE more (id BIGINT NOT NULL PRIMARY KEY);\n")
    with pytest.raises(SchemaError, match="migration 1 is not"):
        await database.open()


@pytest.mark.parametrize("numbers", [(3,), (1,), (2, 3, 5)])
async def test_files_with_a_gap_or_a_double_number_are_refused(
    database: "Database", items: Path, numbers: tuple[int, ...]
) -> None:
    for number in numbers:
        add(items, number, "SELECT 1;")
    with pytest.raises(SchemaError, match="numbered"):
        await database.open()


async def test_a_migration_that_breaks_off_leaves_nothing_of_itself_and_is_resumed(
    database: "Database", items: Path
) -> None:
    add(items, 2, "CREATE TABLE more (id BIGINT NOT NULL PRIMARY KEY);")
    broken = add(items, 3, "CREATE TABLE third (id BIGINT NOT NULL PRIMARY KEY);\n\nINSERT INTO missing VALUES (1);\n")
    with pytest.raises(Unavailable):
        await database.open()
    assert (await database.status()).applied == [1, 2]
    broken.write_text("CREATE TABLE third (id BIGINT NOT NULL PRIMARY KEY);\n")
    store = await database.open()
    assert await store.read(lambda tx: tx.all("SELECT id FROM third")) == []
    assert (await database.status()).pending == []


async def test_many_that_start_at_once_run_them_once(database: "Database", items: Path) -> None:
    add(items, 2, "CREATE TABLE more (id BIGINT NOT NULL PRIMARY KEY);\n\nINSERT INTO more (id) VALUES (1);\n")

    async def start() -> None:
        # In threads, because SQLite opens and waits where it is called.
        await (await asyncio.to_thread(database.store)).open()

    await asyncio.gather(*(start() for _ in range(6)))
    assert (await database.status()).applied == [1, 2]


async def test_an_unopened_store_opens_itself(database: "Database") -> None:
    await asyncio.gather(*(database.store().check() for _ in range(2)))
    store = database.store()
    assert await store.read(lambda tx: tx.one("SELECT count(*) FROM items")) == (0,)


def test_statements_end_with_a_semicolon_at_the_end_of_a_line() -> None:
    text = "CREATE TABLE a (b TEXT DEFAULT ';');\n\nINSERT INTO a VALUES ('x;y') ;\nINSERT INTO a VALUES ('z')\n"
    assert migrate.Migration(1, "a", text).statements == [
        "CREATE TABLE a (b TEXT DEFAULT ';')",
        "INSERT INTO a VALUES ('x;y')",
        "INSERT INTO a VALUES ('z')",
    ]
