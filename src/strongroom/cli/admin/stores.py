"""Opens a database of a data folder as a guest beside the service."""

import asyncio
import os
import time
from collections.abc import Callable, Coroutine
from importlib.resources import files
from typing import Any, Literal, TypeAlias, TypeVar

from strongroom.cli.output import Failed
from strongroom.runtime.settings import is_postgres, load
from strongroom.storage import Store, Transaction
from strongroom.storage.open import open_store, sqlite_path

T = TypeVar("T")
Database: TypeAlias = Literal["access", "vault"]
Work: TypeAlias = Callable[[Transaction, int], Coroutine[Any, Any, T]]
"""What to do in one transaction at a time."""


def read_access(data: str | None, work: Work[T]) -> T:
    """What `work` finds in the access database. `Failed` where there is none."""
    return in_store(data, "access", lambda store, now: store.read_many(lambda tx: work(tx, now)))


def write_access(data: str | None, work: Work[T]) -> T:
    """Run `work` as one transaction of the access database. `Failed` where there is none."""
    return in_store(data, "access", lambda store, now: store.write(lambda tx: work(tx, now)))


def in_store(data: str | None, name: Database, work: Callable[[Store, int], Coroutine[Any, Any, T]]) -> T:
    """Run `work` with a database and the time now. `Failed` where there is no such database."""
    settings = load(os.environ, {"data": data})
    database = settings.database(name)
    # Opening would make it: a mistyped folder should be refused, not filled.
    if not _is_there(database):
        hint = "start the service once, or create a provider" if name == "access" else "start the service once"
        raise Failed(f"there is no {name} database in the data folder {settings.data}: {hint}")

    async def run() -> T:
        store = open_store(database, name, files(f"strongroom.{name}") / "migrations", guest=True)
        try:
            return await work(store, time.time_ns() // 1_000_000)
        finally:
            await store.close()

    return asyncio.run(run())


def _is_there(database: str) -> bool:
    return is_postgres(database) or sqlite_path(database).is_file()


def make_folder(data: str | None) -> None:
    """What the first start of the service does, so that a provider can be made before it."""
    settings = load(os.environ, {"data": data})
    if settings.access_database is None:
        try:
            settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise Failed(f"the data folder cannot be made: {error.strerror}") from None
        sqlite_path(settings.database("access")).touch(mode=0o600)
