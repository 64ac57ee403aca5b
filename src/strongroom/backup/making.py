"""Backup: every area of a deployment into one archive, while the service runs."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from strongroom.backup import areas
from strongroom.backup.archive import Writer
from strongroom.backup.manifest import FORMAT, AppliedMigration, AreaEntry, Manifest, TableEntry, fingerprints
from strongroom.runtime.clock import wire_time
from strongroom.runtime.secret import ServerSecret
from strongroom.runtime.settings import Settings
from strongroom.storage.copying import Snapshot, history
from strongroom.version import __version__

Progress: TypeAlias = Callable[[str, str, int], None]
"""Called with area, table and rows when a table is done."""


async def back_up(settings: Settings, secret: ServerSecret, target: Path, progress: Progress) -> Manifest:
    """Everything acknowledged before the call is in the archive, and no process is held up by it.

    Never the server secret. `FileExistsError` where the target exists, `NotThere`, `SchemaError`, `Unavailable`.
    """
    writer = Writer(target)
    try:
        opened = await areas.snapshots(settings)
        try:
            created_at = wire_time(time.time_ns() // 1_000_000)
            entries = [await _area(writer, area, snapshot, progress) for area, snapshot in opened.items()]
        finally:
            await areas.close(opened)
        manifest = Manifest(FORMAT, __version__, created_at, fingerprints(secret), tuple(entries))
        writer.finish(manifest, secret)
    finally:
        writer.discard()
    return manifest


async def _area(writer: Writer, area: str, snapshot: Snapshot, progress: Progress) -> AreaEntry:
    tables: list[TableEntry] = []
    for table in await areas.tables(area, snapshot):
        entry = await writer.add(area, table, snapshot.rows(table))
        tables.append(entry)
        progress(area, table.name, entry.rows)
    applied = tuple(AppliedMigration(*migration) for migration in await history(snapshot))
    return AreaEntry(area, snapshot.engine, applied, tuple(tables))
