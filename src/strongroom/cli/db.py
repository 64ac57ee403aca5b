"""`strongroom db`: how far the databases of a service are, and bringing them up to date before it starts."""

import asyncio
import os
from dataclasses import asdict
from importlib.resources import files
from importlib.resources.abc import Traversable

import click

from strongroom.cli.output import data_option, json_option, note, print_json, print_table
from strongroom.runtime.settings import Settings, is_postgres, load
from strongroom.storage.open import Status, open_store, read_status, sqlite_path


@click.group()
def db() -> None:
    """The schema of the databases: status, migrate.

    The databases are those of the settings, as for `serve`. A service brings its databases up to date whenever it
    starts; with several machines it is done once, before the first of them gets the new version.
    """


@db.command()
@data_option
@json_option
def status(data: str | None, as_json: bool) -> None:
    """Show which migrations each database has seen and which are pending. Changes nothing."""
    _show(asyncio.run(_read(load(os.environ, {"data": data}))), as_json)


@db.command()
@data_option
@json_option
def migrate(data: str | None, as_json: bool) -> None:
    """Run what is pending on each database: forward only, each migration wholly or not at all.

    Interrupted, it is given again. Of several that run at once one works and the others wait. A SQLite file that is
    not there is left to the first start of the service.
    """
    settings = load(os.environ, {"data": data})
    before = asyncio.run(_read(settings))
    asyncio.run(_migrate(settings))
    after = asyncio.run(_read(settings))
    run = sum(len(after[name].applied) - len(before[name].applied) for name in after)
    _show(after, as_json)
    note(f"{run} migrations were run." if run else "Nothing was to be done.")


async def _read(settings: Settings) -> dict[str, Status]:
    return {name: await read_status(settings.database(name), name, _migrations(name)) for name in settings.databases}


async def _migrate(settings: Settings) -> None:
    for name in settings.databases:
        database = settings.database(name)
        # Opening would make the file: a mistyped folder should not be filled.
        if is_postgres(database) or sqlite_path(database).is_file():
            store = open_store(database, name, _migrations(name), guest=True)
            try:
                await store.open()
            finally:
                await store.close()


def _migrations(name: str) -> Traversable:
    return files(f"strongroom.{name}") / "migrations"


def _show(found: dict[str, Status], as_json: bool) -> None:
    if as_json:
        print_json({name: asdict(state) for name, state in found.items()})
        return
    print_table(
        ("database", "engine", "applied", "pending"),
        (
            (name, state.engine, str(state.applied[-1] if state.applied else 0), _numbers(state.pending))
            for name, state in found.items()
        ),
    )


def _numbers(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"
