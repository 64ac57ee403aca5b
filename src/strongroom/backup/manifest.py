"""The manifest of an archive: what has to be in it, and of which server secrets."""

from typing import Annotated

import msgspec

from strongroom.runtime.secret import ServerSecret
from strongroom.storage.copying import Column

FORMAT = 2
MANIFEST = "manifest.json"

# Without the sizes of tables.
_FIRST_FORMAT = 1
_FINGERPRINT_BYTES = 16
# The decoder's own errors, what is no UTF-8, and what is nested too deep for it.
_NO_MANIFEST = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_CHANGED = f"{MANIFEST} is not as it was written"
# They are shown before anything is known of who wrote them.
_Time = Annotated[str, msgspec.Meta(pattern=r"^[0-9TZ:.-]{1,40}\Z")]
_Text = Annotated[str, msgspec.Meta(pattern=r"^[ -~]{1,200}\Z")]
_Count = Annotated[int, msgspec.Meta(ge=0)]


class ArchiveRefused(Exception):
    """The file is no archive of ours, or not as it was written. Says what is wrong and repeats nothing of it."""


class AppliedMigration(msgspec.Struct, frozen=True):
    number: _Count
    name: _Text
    checksum: _Text


class TableEntry(msgspec.Struct, frozen=True):
    name: _Text
    columns: tuple[Column, ...]
    rows: _Count
    sha256: _Text
    """Of the rows as they are written, in hexadecimal."""
    size: _Count | None = None
    """Of the same, in bytes: no more than that is unpacked. None in an archive of the first format."""


class AreaEntry(msgspec.Struct, frozen=True):
    name: _Text
    engine: _Text
    migrations: tuple[AppliedMigration, ...]
    tables: tuple[TableEntry, ...]


class Manifest(msgspec.Struct, frozen=True):
    format: int
    software: _Text
    created_at: _Time
    secret_fingerprints: tuple[_Text, ...]
    """Of the server secrets that were active, the current one first."""
    areas: tuple[AreaEntry, ...]

    @property
    def rows(self) -> int:
        return sum(table.rows for area in self.areas for table in area.tables)


def fingerprints(secret: ServerSecret) -> tuple[str, ...]:
    """What tells server secrets apart and gives nothing of them away: a key of its own, cut to 16 bytes."""
    return tuple(key[:_FINGERPRINT_BYTES].hex() for key in secret.keys("backup-fingerprint"))


def parse(content: bytes) -> Manifest:
    """`ArchiveRefused` for what cannot be read as a manifest, negative numbers, unprintable text and another format.

    Fields that are not known are passed over.
    """
    try:
        if msgspec.json.decode(content, type=dict).get("format") not in (_FIRST_FORMAT, FORMAT):
            raise ArchiveRefused("the archive is of a format that this version does not know")
        manifest = msgspec.json.decode(content, type=Manifest)
    except _NO_MANIFEST:
        raise ArchiveRefused(_CHANGED) from None
    if manifest.format == FORMAT and any(table.size is None for area in manifest.areas for table in area.tables):
        raise ArchiveRefused(_CHANGED)
    return manifest
