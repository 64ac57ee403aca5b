"""The archive: what is written is read again, and anything else is refused."""

import asyncio
import json
import os
import stat
import zipfile
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strongroom.backup.archive import MAC, Reader, Writer
from strongroom.backup.manifest import (
    FORMAT,
    MANIFEST,
    AppliedMigration,
    ArchiveRefused,
    AreaEntry,
    Manifest,
    TableEntry,
    fingerprints,
    parse,
)
from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Row
from strongroom.storage.copying import Column, Table

SECRET = ServerSecret(b"s" * 32)
CREATED_AT = "2026-01-31T12:00:00.000Z"
TABLE = Table("things", (Column("id", "bytes"), Column("name", "text"), Column("amount", "integer")))
ROWS: list[Row] = [(b"\x00\xff", 'é\n"\\', -(2**63)), (None, None, None), (b"", "", 2**63 - 1)]

values = st.tuples(
    st.none() | st.binary(max_size=80),
    st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
    st.none() | st.integers(-(2**63), 2**63 - 1),
)


async def batched(rows: list[Row], size: int = 2) -> AsyncIterator[list[Row]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def write(path: Path, rows: list[Row] = ROWS, secret: ServerSecret = SECRET, **changes: Any) -> Path:
    writer = Writer(path)
    try:
        entry = asyncio.run(writer.add("area", TABLE, batched(rows)))
        area = AreaEntry("area", "sqlite", (AppliedMigration(1, "area", "0" * 64),), (entry,))
        manifest = Manifest(FORMAT, "0", CREATED_AT, fingerprints(secret), (area,))
        writer.finish(msgspec.structs.replace(manifest, **changes), secret)
    finally:
        writer.discard()
    return path


def read(path: Path, secret: ServerSecret = SECRET) -> list[Row]:
    reader = Reader(path)
    try:
        reader.check_mac(secret)
        (area,) = reader.manifest.areas
        return [row for batch in reader.batches(area.name, area.tables[0]) for row in batch]
    finally:
        reader.close()


def rewrite(path: Path, **members: bytes | None) -> None:
    """Other content for some members; None leaves one out."""
    with zipfile.ZipFile(path) as archive:
        held: dict[str, bytes | None] = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (held | members).items():
            if content is not None:
                archive.writestr(name, content)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(values, max_size=12))
def test_rows_come_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> None:
    assert read(write(tmp_path_factory.mktemp("archive") / "a", rows)) == rows


def test_more_rows_than_a_batch_come_back(tmp_path: Path) -> None:
    rows: list[Row] = [(b"%d" % number, "x" * number, number) for number in range(1201)]
    assert read(write(tmp_path / "a", rows)) == rows


def test_equal_rows_make_equal_files(tmp_path: Path) -> None:
    assert write(tmp_path / "a").read_bytes() == write(tmp_path / "b").read_bytes()


def test_only_the_owner_can_read_it_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = write(tmp_path / "a")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        Writer(path)
    assert path.read_text() == "mine"


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    tmp_path.mkdir(exist_ok=True)
    writer = Writer(tmp_path / "a")
    (tmp_path / "a").write_text("mine")
    with pytest.raises(FileExistsError):
        writer.finish(Manifest(FORMAT, "0", CREATED_AT, (), ()), SECRET)
    writer.discard()
    assert [file.read_text() for file in tmp_path.iterdir()] == ["mine"]


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    async def failing() -> AsyncIterator[list[Row]]:
        yield ROWS
        raise OSError

    writer = Writer(tmp_path / "a")
    with pytest.raises(OSError, match=r"^$"):
        asyncio.run(writer.add("area", TABLE, failing()))
    writer.discard()
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_backup_left_is_not_in_the_way(tmp_path: Path) -> None:
    killed = Writer(tmp_path / "a")  # of the same process, as all are that have a container to themselves
    assert read(write(tmp_path / "a")) == ROWS
    killed.discard()


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    writer = Writer(tmp_path / "a")
    full = os.open("/dev/full", os.O_RDWR)
    os.dup2(full, writer._file.fileno())
    os.close(full)
    with pytest.raises(OSError, match="No space left"):
        writer.finish(Manifest(FORMAT, "0", CREATED_AT, (), ()), SECRET)
    writer.discard()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_flushed_is_told_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: Path) -> None:
        raise PermissionError

    monkeypatch.setattr("strongroom.backup.archive.sync", refused)
    with pytest.raises(PermissionError):
        Writer(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_second_names_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", link)
    path = write(tmp_path / "a")
    assert read(path) == ROWS
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]
    test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path / "b")


def test_where_the_archive_cannot_be_moved_to_its_name_the_name_is_free_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refused)
    monkeypatch.setattr(Path, "replace", refused)
    with pytest.raises(PermissionError):
        write(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_every_changed_byte_is_noticed_or_changes_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "a")
    whole, unnoticed = path.read_bytes(), 0
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            # Times, versions and the like in the headers of ZIP mean nothing to us.
            assert read(path) == ROWS
            unnoticed += 1
        except ArchiveRefused:
            pass
    assert 0 < unnoticed < len(whole) / 3


def test_every_shorter_file_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a")
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(ArchiveRefused):
            read(path)


@pytest.mark.parametrize(
    "members",
    [
        {"area/things.jsonl": None},
        {"area/things.jsonl": b'["AP8=","x",1]\n'},
        {"area/things.jsonl": b""},
        {"area/things.jsonl": b"[" * 100_000},
        {"area/other.jsonl": b""},
        {MANIFEST: None},
        {MANIFEST: b"[]"},
        {MANIFEST: b'{"format":2}'},
        {MANIFEST: b'{"format":1,"areas":' + b"[" * 100_000},
        {MANIFEST: b'{"format":1,"software":"\xff"}'},
        {MANIFEST: b"{" + b" " * 1024 * 1024 + b"}"},
        {MAC: None},
        {MAC: b"0" * 64},
        {MAC: b"0" * 65},
    ],
)
def test_other_members_are_refused(tmp_path: Path, members: dict[str, bytes | None]) -> None:
    path = write(tmp_path / "a")
    rewrite(path, **members)
    with pytest.raises(ArchiveRefused):
        read(path)


@pytest.mark.parametrize("changes", [{"created_at": "\x1b[2J"}, {"software": "\x1b[2J"}])
def test_what_is_shown_of_an_unchecked_archive_holds_no_control_characters(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    with pytest.raises(ArchiveRefused):
        Reader(write(tmp_path / "a", **changes))


@pytest.mark.parametrize(
    "changes",
    [{"name": "\x1b[2J"}, {"sha256": "\x1b[2J"}, {"rows": -1}, {"size": -1}, {"size": None}],
)
def test_a_manifest_of_unprintable_names_and_negative_numbers_is_refused(changes: dict[str, Any]) -> None:
    """Whoever the archive is from: the name of a table stands in what is said of it."""
    entry = TableEntry("things", TABLE.columns, 0, "0" * 64, 0)
    area = AreaEntry("area", "sqlite", (), (entry,))
    manifest = Manifest(FORMAT, "0", CREATED_AT, (), (area,))
    assert parse(msgspec.json.encode(manifest)) == manifest
    changed = msgspec.structs.replace(area, tables=(msgspec.structs.replace(entry, **changes),))
    with pytest.raises(ArchiveRefused, match=r"manifest\.json is not as it was written"):
        parse(msgspec.json.encode(msgspec.structs.replace(manifest, areas=(changed,))))


def test_a_member_of_another_size_is_not_unpacked(tmp_path: Path) -> None:
    """A few kilobytes of archive can unpack to as many gigabytes of rows, all of them well-formed."""
    path = write(tmp_path / "a")
    rewrite(path, **{"area/things.jsonl": b'["AP8=","x",1]\n' * 2000})
    reader = Reader(path)
    (area,) = reader.manifest.areas
    with pytest.raises(ArchiveRefused):
        next(reader.batches(area.name, area.tables[0]))
    reader.close()


def test_long_rows_make_short_batches(tmp_path: Path) -> None:
    path = write(tmp_path / "a", [(b"", "x" * 2_000_000, number) for number in range(7)])
    reader = Reader(path)
    (area,) = reader.manifest.areas
    assert [len(batch) for batch in reader.batches(area.name, area.tables[0])] == [3, 3, 1]
    reader.close()


def test_other_compression_is_refused(tmp_path: Path) -> None:
    """Such as LZMA, which reserves as much memory as the file asks for."""
    path = write(tmp_path / "a")
    with zipfile.ZipFile(path) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name, content in held.items():
            archive.writestr(name, content, None if name.endswith(".jsonl") else zipfile.ZIP_DEFLATED)
    with pytest.raises(ArchiveRefused, match=r"area/things\.jsonl is not as it was written"):
        read(path)


def test_what_is_named_twice_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a")
    with zipfile.ZipFile(path) as archive:
        manifest = msgspec.json.decode(archive.read(MANIFEST))
        rows = archive.read("area/things.jsonl")
    manifest["areas"] *= 2
    rewrite(path, **{MANIFEST: msgspec.json.encode(manifest)})
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("area/things.jsonl", rows)
    with pytest.raises(ArchiveRefused, match="does not hold the files"):
        Reader(path)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ArchiveRefused, match="not from a pipe"):
        Reader(tmp_path / "pipe")


def test_another_format_is_told(tmp_path: Path) -> None:
    with pytest.raises(ArchiveRefused, match="of a format"):
        read(write(tmp_path / "a", format=FORMAT + 1))


def test_an_archive_of_the_first_format_is_read_without_its_sizes(tmp_path: Path) -> None:
    path = write(tmp_path / "a")
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read(MANIFEST))
    del manifest["areas"][0]["tables"][0]["size"]
    content = json.dumps(manifest | {"format": 1}).encode()
    rewrite(path, **{MANIFEST: content, MAC: SECRET.mac("backup", content).hex().encode()})
    assert read(path) == ROWS


def test_who_does_not_know_the_secret_cannot_write_one(tmp_path: Path) -> None:
    """Hashes, counts and the fingerprint are right: only the MAC is not."""
    forged = write(tmp_path / "a", secret=ServerSecret(b"f" * 32), secret_fingerprints=fingerprints(SECRET))
    reader = Reader(forged)
    assert reader.is_of(SECRET)
    with pytest.raises(ArchiveRefused, match="was changed"):
        reader.check_mac(SECRET)
    reader.close()


def test_it_belongs_to_whoever_has_all_of_its_secrets(tmp_path: Path) -> None:
    old, new = b"o" * 32, b"n" * 32
    reader = Reader(write(tmp_path / "a", secret=ServerSecret(new, old)))
    assert reader.is_of(ServerSecret(old, new))
    assert not reader.is_of(ServerSecret(old))
    assert not reader.is_of(ServerSecret(new))
    reader.check_mac(ServerSecret(old, new))
    reader.close()


def test_fingerprints_tell_secrets_apart_and_are_no_plain_hash() -> None:
    import hashlib

    (one,), (other,) = fingerprints(SECRET), fingerprints(ServerSecret(b"t" * 32))
    assert one != other
    assert len(bytes.fromhex(one)) == 16
    assert not hashlib.sha256(b"s" * 32).hexdigest().startswith(one)


def test_a_column_of_another_type_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a")
    reader = Reader(path)
    (area,) = reader.manifest.areas
    (entry,) = area.tables
    wrong = msgspec.structs.replace(entry, columns=(replace(TABLE.columns[0], kind="integer"), *TABLE.columns[1:]))
    with pytest.raises(ArchiveRefused, match=r"area/things\.jsonl is not as it was written"):
        list(reader.batches("area", wrong))
    reader.close()
