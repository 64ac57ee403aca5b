"""Loading: the rows of an archive into databases that are not open to the service yet, of either engine."""

from strongroom.backup import areas
from strongroom.backup.archive import Reader
from strongroom.backup.making import Progress
from strongroom.backup.manifest import ArchiveRefused, AreaEntry
from strongroom.storage.copying import Destination, Table


def check_history(entry: AreaEntry) -> None:
    """Refuse an area whose tables our migrations do not make: `ArchiveRefused`, `SchemaError`."""
    if entry.name not in areas.ORDER:
        raise ArchiveRefused("the archive holds an area that this version does not know")
    areas.check_history(entry.name, [(applied.number, applied.checksum) for applied in entry.migrations])


async def load(reader: Reader, entry: AreaEntry, destination: Destination, progress: Progress) -> None:
    """Make the tables, fill them and bring them up to date; the caller commits. `ArchiveRefused`, `Unavailable`."""
    known = areas.known(entry.name)
    await destination.begin(known, len(entry.migrations))
    # Names of tables and columns are only ever taken from the schema that our own migrations made.
    made = {table.name: set(table.columns) for table in await destination.tables()}
    if made != {table.name: set(table.columns) for table in entry.tables}:
        raise ArchiveRefused(f"the tables of {entry.name} in the archive are not those of its migrations")
    for table in entry.tables:
        rows = await destination.load(Table(table.name, table.columns), reader.batches(entry.name, table))
        progress(entry.name, table.name, rows)
    await destination.finish_schema(known)
