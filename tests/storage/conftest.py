"""Both storage engines, so that one text of tests is run on each of them."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from pathlib import Path

import pytest
from tools.postgres_server import PostgresServer

from strongroom.storage import Store
from strongroom.storage.open import Status, open_store, read_status

ITEMS = """
CREATE TABLE store_meta (name TEXT NOT NULL PRIMARY KEY, value BIGINT NOT NULL);

INSERT INTO store_meta (name, value) VALUES ('restore_epoch', 0);

CREATE TABLE items (
    id BIGINT NOT NULL PRIMARY KEY,
    name TEXT UNIQUE,
    content BYTEA,
    amount BIGINT CHECK (amount >= 0)
);
"""

_numbers = itertools.count(1)


@dataclass
class Database:
    """One database of one engine, empty at first; every store opened from it sees the same tables."""

    setting: str
    migrations: Traversable
    opened: list[Store] = field(default_factory=list)

    def store(self, migrations: Traversable | None = None, *, connections: int = 0) -> Store:
        """Not migrated yet where the engine connects over a network."""
        store = open_store(self.setting, "area", migrations or self.migrations, connections=connections)
        self.opened.append(store)
        return store

    async def open(self, migrations: Traversable | None = None) -> Store:
        store = self.store(migrations)
        await store.open()
        return store

    async def status(self) -> Status:
        return await read_status(self.setting, "area", self.migrations)


def on_postgres(server: PostgresServer, migrations: Traversable) -> Database:
    """A schema of its own, which costs less than a database of its own."""
    url = f"{server.url()}&options=-csearch_path%3Dtest_{next(_numbers)}"
    return Database(url, migrations)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    with PostgresServer(deadlock_timeout="50ms") as server:
        yield server


@pytest.fixture
def items(tmp_path: Path) -> Path:
    """A folder of migrations with one table."""
    folder = tmp_path / "migrations"
    folder.mkdir()
    (folder / "0001_items.sql").write_text(ITEMS)
    return folder


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
async def database(engine: str, request: pytest.FixtureRequest, tmp_path: Path, items: Path) -> AsyncIterator[Database]:
    if engine == "sqlite":
        made = Database(f"sqlite:{tmp_path / 'area.sqlite'}", items)
    else:
        made = on_postgres(request.getfixturevalue("postgres_server"), items)
    yield made
    await asyncio.gather(*(store.close() for store in made.opened))


@pytest.fixture
async def store(database: Database) -> Store:
    return await database.open()
