"""Verify: is an archive whole, is a live database sound, without changing either."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from strongroom.backup import areas, integrity, loading
from strongroom.backup.archive import Reader
from strongroom.backup.making import Progress
from strongroom.backup.manifest import ArchiveRefused, AreaEntry, Manifest
from strongroom.runtime.secret import ServerSecret
from strongroom.runtime.settings import Settings
from strongroom.storage import Unavailable, migrate
from strongroom.storage.copying import Snapshot, history
from strongroom.storage.open import open_destination, open_snapshot


@dataclass(frozen=True, slots=True)
class Verified:
    """What was found out of an archive."""

    manifest: Manifest
    authentic: bool
    """Whether its MAC could be checked: otherwise a forged one cannot be distinguished from ours."""
    findings: list[str]


async def verify_archive(source: Path, secret: ServerSecret | None, progress: Progress) -> Verified:
    """Read every row, compare hashes and counts, and ask of the rows what is asked of live databases.

    They are loaded into files of their own for that, in the folder for temporary files, which are gone afterwards.
    `ArchiveRefused`, `SchemaError` for one of a newer version, `Unavailable` where there is no room.
    """
    reader = Reader(source)
    try:
        authentic = secret is not None and reader.is_of(secret)
        if secret is not None and authentic:
            reader.check_mac(secret)
        if "access" not in {entry.name for entry in reader.manifest.areas}:
            raise ArchiveRefused("the archive does not hold the area that every backup has, access")
        for entry in reader.manifest.areas:
            loading.check_history(entry)
        # First of all: what an archive was changed to is neither loaded nor reported as a finding.
        reader.check_rows()
        with TemporaryDirectory(prefix="strongroom-verify-") as folder:
            found = await _verify_rows(reader, secret if authentic else None, Path(folder), progress)
        return Verified(reader.manifest, authentic, found)
    except OSError as error:
        raise Unavailable from error
    finally:
        reader.close()


async def _verify_rows(reader: Reader, secret: ServerSecret | None, folder: Path, progress: Progress) -> list[str]:
    opened: dict[str, Snapshot] = {}
    broken: list[str] = []
    try:
        for entry in reader.manifest.areas:
            try:
                opened[entry.name] = await _loaded(reader, entry, folder, progress)
            except Unavailable as error:
                if not isinstance(error.__cause__, sqlite3.IntegrityError):
                    raise
                broken.append(f"{entry.name}: rows break a constraint of their table")
        found = broken
        for area, snapshot in opened.items():
            found += await _in_area(area, snapshot, secret)
        return found or await integrity.across(opened)
    finally:
        await areas.close(opened)


async def _loaded(reader: Reader, entry: AreaEntry, folder: Path, progress: Progress) -> Snapshot:
    database = f"sqlite:{folder / entry.name}"
    destination = open_destination(database, entry.name)
    try:
        await loading.load(reader, entry, destination, progress)
        await destination.commit(reader.identity, 0)
        await destination.unmark()
    finally:
        await destination.close()
    return await open_snapshot(database, entry.name)


async def verify_databases(settings: Settings, progress: Progress, secret: ServerSecret | None = None) -> list[str]:
    """What is wrong, one sentence each, without values; nothing where all is well. The service may run meanwhile.

    Without the server secret what was made with it is not made again.
    `NotThere`, `SchemaError`, `Unavailable`.
    """
    opened = await areas.snapshots(settings)
    try:
        found: list[str] = []
        for area, snapshot in opened.items():
            found += await _in_area(area, snapshot, secret)
            progress(area, "", 0)
        return found or await integrity.across(opened)
    finally:
        await areas.close(opened)


async def _in_area(area: str, snapshot: Snapshot, secret: ServerSecret | None) -> list[str]:
    return [f"{area}: {sentence}" for sentence in await _sentences(area, snapshot, secret)]


async def _sentences(area: str, snapshot: Snapshot, secret: ServerSecret | None) -> list[str]:
    if migrate.pending(areas.known(area), {number: checksum for number, _, checksum in await history(snapshot)}):
        return ["the schema is not up to date: start the service once, then verify again"]
    damage = await snapshot.damage() or await _unreadable(area, snapshot)
    if damage:
        return damage  # what damaged files say is not worth asking
    found = await areas.differences(area, snapshot)
    try:
        async for sentence in integrity.in_area(area, snapshot, secret):
            found.append(sentence)
    except Unavailable as error:
        found.append(f"it cannot be read: {error.__cause__}")
    return found


async def _unreadable(area: str, snapshot: Snapshot) -> list[str]:
    try:
        tables = await areas.tables(area, snapshot)
    except migrate.SchemaError as error:
        return [str(error)]
    found: list[str] = []
    for table in tables:
        try:
            async for _ in snapshot.rows(table):
                pass
        except Unavailable as error:
            found.append(f"{table.name} cannot be read: {error.__cause__}")
            if snapshot.engine == "postgresql":
                break  # a transaction that failed answers nothing more
    return found
