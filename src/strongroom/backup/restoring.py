"""Restore: an archive into empty databases, opened to the service only when all of it is there."""

import time
from pathlib import Path

from strongroom.backup import areas, integrity, loading
from strongroom.backup.archive import Reader
from strongroom.backup.making import Progress
from strongroom.backup.manifest import AreaEntry, Manifest
from strongroom.runtime.secret import ServerSecret
from strongroom.runtime.settings import Settings
from strongroom.storage.copying import Destination, Stage, State


class RestoreRefused(Exception):
    """This archive does not go into these databases. The message says what to do."""


async def restore(settings: Settings, secret: ServerSecret, source: Path, progress: Progress) -> Manifest:
    """Put an archive into empty databases and end every session and admission token it holds.

    Everything is checked before anything is written. Interrupted anywhere, the databases are refused by the service
    and the same call begins again, or finishes. `RestoreRefused`, `ArchiveRefused`, `InUse`, `SchemaError`,
    `Unavailable`.
    """
    reader = Reader(source)
    try:
        _check_secret(reader, secret)
        _check_areas(reader.manifest, settings)
        reader.check_rows()
        opened = areas.destinations(settings)
        try:
            await _fill(reader, settings, opened, progress)
        finally:
            for destination in opened.values():
                await destination.close()
    finally:
        reader.close()
    return reader.manifest


async def _fill(reader: Reader, settings: Settings, opened: dict[str, Destination], progress: Progress) -> None:
    access = opened["access"]
    states = {area: await destination.state() for area, destination in opened.items()}
    finished = _all_loaded(states, reader.identity)
    if not finished:
        _check_empty(states)
    if not await access.claim():
        raise RestoreRefused("another restore into these databases is going on: wait for its end")
    locks = areas.lock(settings)
    try:
        await _shut_services_out(opened)
        if not finished:
            entries = {entry.name: entry for entry in reader.manifest.areas}
            for area, destination in opened.items():
                await _load(reader, entries[area], destination, progress)
            await access.mark_loaded()
        # From here on the access database, which every process opens, remembers that all of it is there: a restore
        # that is run again after a crash only takes the marks away.
        for area, destination in reversed(opened.items()):
            if (await destination.state()).stage in (Stage.loading, Stage.loaded):
                await destination.unmark()
            progress(area, "", 0)
    finally:
        locks.release()


async def _shut_services_out(opened: dict[str, Destination]) -> None:
    # One whose schemas were dropped would go on with what it remembers of them, sessions included.
    for area, destination in opened.items():
        if not await destination.shut_out():
            raise RestoreRefused(
                f"a service, or a command beside it, is at work on the {area} database: stop it, then restore again"
            )


async def _load(reader: Reader, entry: AreaEntry, destination: Destination, progress: Progress) -> None:
    await loading.load(reader, entry, destination, progress)
    now = time.time_ns() // 1_000_000
    await integrity.end_permissions(entry.name, destination, now)
    await destination.commit(reader.identity, now)


def _check_secret(reader: Reader, secret: ServerSecret) -> None:
    if not reader.is_of(secret):
        raise RestoreRefused(
            "the archive was made with another server secret: without it no passphrase and no session could be checked"
        )
    reader.check_mac(secret)


def _check_areas(manifest: Manifest, settings: Settings) -> None:
    held, wanted = {entry.name for entry in manifest.areas}, set(areas.names(settings))
    if held != wanted:
        raise RestoreRefused(f"the archive holds {_listed(held)}, these settings are for {_listed(wanted)}")
    for entry in manifest.areas:
        loading.check_history(entry)


def _all_loaded(states: dict[str, State], archive: str) -> bool:
    if states["access"] != State(Stage.loaded, archive):
        return False
    # One that has gone since, or another one in its place, has to be filled like the rest.
    return all(state.stage is Stage.used or state.archive == archive for state in states.values())


def _check_empty(states: dict[str, State]) -> None:
    for area, state in states.items():
        if state.stage is Stage.used:
            raise RestoreRefused(f"the {area} database is not empty: a restore goes into empty databases only")


def _listed(names: set[str]) -> str:
    return " and ".join(sorted(names))
