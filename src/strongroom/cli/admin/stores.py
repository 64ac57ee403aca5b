"""Opens one area's database of a data folder as a guest beside the service."""

import asyncio
import os
import time
from collections.abc import Callable, Coroutine
from importlib.resources import files
from typing import Any, Literal, TypeAlias, TypeVar

import click

from strongroom.cli.output import Failed
from strongroom.runtime.settings import Settings, is_postgres, load
from strongroom.storage import Store
from strongroom.storage.open import open_store, sqlite_path

T = TypeVar("T")
Area: TypeAlias = Literal["access", "vault", "portal"]

data_option = click.option("--data", metavar="PATH", help="The data folder. [default: STRONGROOM_DATA, or data]")


def in_store(data: str | None, area: Area, work: Callable[[Store, int], Coroutine[Any, Any, T]]) -> T:
    """Run `work` with the area's database and the time now. `Failed` where there is no such database."""
    settings = load(os.environ, {"data": data})
    database = settings.database(area)
    # Opening would make it: a mistyped folder should be told, not filled.
    if not _is_there(database):
        hint = "start the service once, or create a provider" if area == "access" else "start the service once"
        raise Failed(f"there is no {area} database in the data folder {settings.data}: {hint}")

    async def run() -> T:
        store = open_store(database, area, files(f"strongroom.{area}") / "migrations", guest=True)
        try:
            return await work(store, time.time_ns() // 1_000_000)
        finally:
            await store.close()

    return asyncio.run(run())


def has_portal(settings: Settings) -> bool:
    """Whether a portal keeps its developers here."""
    return _is_there(settings.database("portal"))


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
