"""The archive: a ZIP file with one file of rows per table, a manifest of what has to be in them, and a MAC over that.

Rows are JSON arrays, one a line, values in the order of the manifest's columns, bytes in Base64: readable without us.
"""

import contextlib
import hashlib
import hmac
import os
import secrets
import zipfile
import zlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import GenericAlias
from typing import IO, Annotated, Any, NoReturn

import msgspec

from strongroom.backup.manifest import MANIFEST, ArchiveRefused, Manifest, TableEntry, fingerprints, parse
from strongroom.runtime.durable import sync
from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Row
from strongroom.storage.copying import BATCH, Kind, Table

MAC = "manifest.hmac"
MAX_MANIFEST_BYTES = 1024 * 1024
MAX_LINE_BYTES = 64 * 1024 * 1024
MAX_BATCH_BYTES = 4 * 1024 * 1024

_LEVEL = 1  # most of it is ciphertext in Base64, of which the first level saves what there is to save
_ALL_ABOUT = (2026, 1, 1, 0, 0, 0)  # equal rows make equal files, so members carry no time
# Other decompressors have errors of their own, and ask for as much memory as the file says.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What zipfile raises over a damaged file: places before its beginning, versions and methods that there are not.
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError)
_Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_TYPES: dict[Kind, Any] = {"text": str | None, "integer": _Integer | None, "bytes": bytes | None}


class Writer:
    """A new archive under a temporary name beside `path`; it gets its name when all of it is on disk."""

    def __init__(self, path: Path) -> None:
        """`FileExistsError` where something has that name: no archive is ever overwritten. `OSError`."""
        if path.exists():
            raise FileExistsError
        sync(path.parent)  # where that cannot be done at the end, it is better known now
        self._path = path
        # Not by the process's number: in containers it is the same each time, and a killed one leaves its file.
        self._partial = path.with_name(f".strongroom-{secrets.token_hex(8)}.partial")
        # Readable by its owner only from the first byte on.
        descriptor = os.open(self._partial, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        self._file = os.fdopen(descriptor, "w+b")
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL)

    async def add(self, area: str, table: Table, batches: AsyncIterator[list[Row]]) -> TableEntry:
        """Write a table's rows; memory does not grow with them."""
        digest, count, size, encoder = hashlib.sha256(), 0, 0, msgspec.json.Encoder()
        with self._zip.open(_member(member(area, table.name)), "w", force_zip64=True) as file:
            async for batch in batches:
                lines = encoder.encode_lines(batch)
                digest.update(lines)
                file.write(lines)
                count += len(batch)
                size += len(lines)
        return TableEntry(table.name, table.columns, count, digest.hexdigest(), size)

    def finish(self, manifest: Manifest, secret: ServerSecret) -> None:
        """Sign it, flush it and give it its name; `FileExistsError` if that was taken in the meantime."""
        content = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
        self._zip.writestr(_member(MANIFEST), content)
        self._zip.writestr(_member(MAC), secret.mac("backup", content).hex())
        self._zip.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._take_name()
        sync(self._path.parent)

    def _take_name(self) -> None:
        try:
            os.link(self._partial, self._path)
        except FileExistsError:
            raise
        except OSError:
            # File systems of sticks and shares know no second name for a file: hold the name first, then move there.
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            try:
                self._partial.replace(self._path)
            except OSError:
                self._path.unlink()  # else the next backup finds its target taken
                raise
        else:
            self._partial.unlink()

    def discard(self) -> None:
        """After a failure: nothing is left behind. After `finish` nothing happens."""
        if not self._file.closed:
            with contextlib.suppress(OSError, ValueError):
                self._zip.close()  # it would otherwise want to write when it is collected
            with contextlib.suppress(OSError):
                self._file.close()  # what is still to be written does not fit on a full disk
        self._partial.unlink(missing_ok=True)


class Reader:
    """An archive to read from. What it gives was checked against the manifest only when a table has come to its end."""

    def __init__(self, path: Path) -> None:
        """`ArchiveRefused`."""
        if not path.is_file():  # a pipe may never end
            raise ArchiveRefused("an archive is read from a file, not from a pipe or a device")
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise ArchiveRefused(f"the archive cannot be read: {error.strerror}") from None
        try:
            self._zip = self._opened()
            self._content = self._small(MANIFEST, MAX_MANIFEST_BYTES)
            self._mac = self._small(MAC, 64)
            self.manifest = parse(self._content)
            self._check_members()
        except BaseException:
            self._file.close()
            raise

    @property
    def identity(self) -> str:
        """What names this archive: the SHA-256 of its manifest, which holds those of its tables."""
        return hashlib.sha256(self._content).hexdigest()

    def is_of(self, secret: ServerSecret) -> bool:
        """Whether every server secret of the archive is among the active ones.

        Then `check_mac` means something, and everything the archive holds can be used.
        """
        return set(self.manifest.secret_fingerprints) <= set(fingerprints(secret))

    def check_mac(self, secret: ServerSecret) -> None:
        """Refuse a manifest that was written or changed without the server secret: `ArchiveRefused`."""
        for key in secret.keys("backup"):
            if hmac.compare_digest(hmac.digest(key, self._content, hashlib.sha256).hex().encode(), self._mac):
                return
        raise ArchiveRefused("the archive was changed after it was made: its manifest does not bear the right MAC")

    def batches(self, area: str, entry: TableEntry) -> Iterator[list[Row]]:
        """The rows of a table. `ArchiveRefused` as soon as they are not what was written, at the latest at the end.

        A batch ends with the line that takes it above `MAX_BATCH_BYTES`: a small file may unpack to very long lines.
        """
        decoder = msgspec.json.Decoder(GenericAlias(tuple, tuple(_TYPES[column.kind] for column in entry.columns)))
        name, digest, count = member(area, entry.name), hashlib.sha256(), 0
        try:
            with self._opened_member(name) as file:
                if entry.size is not None and self._zip.getinfo(name).file_size != entry.size:
                    _refuse(name)
                batch: list[Row] = []
                held = 0
                while line := file.readline(MAX_LINE_BYTES):
                    digest.update(line)
                    batch.append(decoder.decode(line))
                    held += len(line)
                    if len(batch) == BATCH or held > MAX_BATCH_BYTES:
                        count += len(batch)
                        yield batch
                        batch, held = [], 0
                count += len(batch)
                if digest.hexdigest() != entry.sha256 or count != entry.rows:
                    _refuse(name)
                yield batch
        except (msgspec.MsgspecError, *_UNREADABLE):
            _refuse(name)

    def check_rows(self) -> None:
        """Read every row and keep none: `ArchiveRefused` unless all of them are as they were written."""
        for area in self.manifest.areas:
            for table in area.tables:
                for _ in self.batches(area.name, table):
                    pass

    def close(self) -> None:
        self._zip.close()
        self._file.close()

    def _opened(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self._file)
        except _UNREADABLE:
            raise ArchiveRefused("this is no archive, or it was cut off") from None

    def _opened_member(self, name: str) -> IO[bytes]:
        if self._zip.getinfo(name).compress_type not in _METHODS:
            raise zipfile.BadZipFile
        return self._zip.open(name)

    def _small(self, name: str, limit: int) -> bytes:
        try:
            with self._opened_member(name) as file:
                content = file.read(limit + 1)
        except (KeyError, *_UNREADABLE):
            content = b""
        if not content or len(content) > limit:
            raise ArchiveRefused(f"the archive has no readable {name}")
        return content

    def _check_members(self) -> None:
        wanted = [MANIFEST, MAC]
        wanted += [member(area.name, table.name) for area in self.manifest.areas for table in area.tables]
        if len(set(wanted)) != len(wanted) or sorted(wanted) != sorted(self._zip.namelist()):
            raise ArchiveRefused("the archive does not hold the files that its manifest names")


def member(area: str, table: str) -> str:
    return f"{area}/{table}.jsonl"


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _ALL_ABOUT)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o600 << 16
    return info


def _refuse(name: str) -> NoReturn:
    raise ArchiveRefused(f"{name} is not as it was written") from None
