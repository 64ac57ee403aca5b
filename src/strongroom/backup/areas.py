"""Which databases the settings name, and in which order they are looked at."""

from importlib.resources import files

from strongroom.runtime.secret import ServerSecret, parse, read
from strongroom.runtime.settings import Settings
from strongroom.storage import Unavailable, migrate, structure
from strongroom.storage.copying import Destination, Snapshot, Table, history
from strongroom.storage.data_locks import DataLocks
from strongroom.storage.migrate import SchemaError
from strongroom.storage.open import open_destination, open_snapshot
from strongroom.storage.sqlite.tables import schema_made

# An area that refers to another comes before it: a vault user was admitted by a token that the key store had taken
# before, and both belong to a provider that was there before them. So of two snapshots the later one holds everything
# that the earlier one speaks of. `access` holds the tables of the portal as well.
ORDER = ("vault", "keystore", "access")


def names(settings: Settings) -> list[str]:
    """The areas with a database here, those who refer first."""
    return [area for area in ORDER if area in settings.databases]


def known(area: str) -> list[migrate.Migration]:
    """The migrations of this version of the software."""
    return migrate.load(files(f"strongroom.{area}") / "migrations")


def check_history(area: str, applied: list[tuple[int, str]]) -> None:
    """Refuse numbers and checksums of migrations that are not our first ones in order: `SchemaError`."""
    migrate.pending(known(area), dict(applied))
    if [number for number, _ in applied] != list(range(1, len(applied) + 1)):
        raise SchemaError(f"the history of {area} has gaps")


async def tables(area: str, snapshot: Snapshot) -> list[Table]:
    """Those that its migrations made: a restore would not know tables that others added.

    `SchemaError` where one is missing, or one of its columns.
    """
    wanted, _ = schema_made(known(area)[: len(await history(snapshot))])
    there = {table.name: set(table.columns) for table in await snapshot.tables()}
    missing = [table.name for table in wanted if not set(table.columns) <= there.get(table.name, set())]
    if missing:
        raise SchemaError(f"tables of {area}, or columns of them, are missing: {', '.join(missing)}")
    return wanted


async def differences(area: str, snapshot: Snapshot) -> list[str]:
    """What of the schema that the migrations made is gone or was changed."""
    return structure.differences(schema_made(known(area))[1], await snapshot.structure())


async def snapshots(settings: Settings) -> dict[str, Snapshot]:
    """One for each area, taken one right after the other. `NotThere`, `SchemaError`, `Unavailable`."""
    opened: dict[str, Snapshot] = {}
    try:
        for area in names(settings):
            opened[area] = await open_snapshot(settings.database(area), area)
        for area, snapshot in opened.items():
            check_history(area, [(number, checksum) for number, _, checksum in await history(snapshot)])
    except BaseException:
        await close(opened)
        raise
    return opened


async def close(opened: dict[str, Snapshot]) -> None:
    for snapshot in opened.values():
        await snapshot.close()


def destinations(settings: Settings) -> dict[str, Destination]:
    """One for each area, `access` first: no process serves anything while that is not open to it."""
    return {area: open_destination(settings.database(area), area) for area in reversed(names(settings))}


def lock(settings: Settings) -> DataLocks:
    """What a service takes for its SQLite files: one that runs on files deleted since is found too.

    `InUse`, `Unavailable`.
    """
    try:
        return DataLocks(settings.data, settings.sqlite_areas)
    except OSError as error:
        raise Unavailable from error


def read_secret(settings: Settings) -> ServerSecret | None:
    """The server secret from the setting or the data folder, never a new one; `Exposed`, `ValueError`."""
    file = settings.data / "secret"
    if settings.secret is None and not file.is_file():
        return None
    current = parse(settings.secret) if settings.secret else read(file)
    return ServerSecret(current, parse(settings.previous_secret) if settings.previous_secret else None)
