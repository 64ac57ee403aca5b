"""Verify finds what is wrong with a database, names it without values, and changes nothing."""

import asyncio
import json
import zipfile
from collections.abc import AsyncGenerator, Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from strongroom.backup import integrity
from strongroom.backup.manifest import ArchiveRefused
from strongroom.backup.verifying import verify_archive, verify_databases
from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Unavailable
from strongroom.storage.copying import NotThere
from strongroom.storage.migrate import SchemaError
from strongroom.storage.open import open_snapshot

pytestmark = pytest.mark.anyio

WITHOUT_PROVIDERS = """
DELETE FROM providers; DELETE FROM provider_names; DELETE FROM provider_api_keys; DELETE FROM subscriptions;
DELETE FROM subscription_keys; DELETE FROM usage_spans; DELETE FROM usage_refusals; DELETE FROM memberships;
DELETE FROM invitations;
"""
WITHOUT_CONSTRAINT = """
CREATE TABLE unguarded (user_id BLOB, id BLOB, serialized_key_encryption_key TEXT, created_at INTEGER);
INSERT INTO unguarded SELECT * FROM key_encryption_keys;
DROP TABLE key_encryption_keys;
ALTER TABLE unguarded RENAME TO key_encryption_keys;
INSERT INTO key_encryption_keys SELECT * FROM key_encryption_keys;
"""


def unheard(area: str, table: str, rows: int) -> None:
    """Progress that nobody listens to."""


async def findings(deployment: Any) -> list[str]:
    found: list[str] = await verify_databases(deployment.settings, unheard)
    return found


async def test_a_sound_database_is_sound_on_either_engine_while_the_service_runs(populated: Any) -> None:
    async with populated.deployment.running():
        assert await findings(populated.deployment) == []


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_areas_that_do_not_belong_together_are_found(
    populated: Any, deployment: Callable[..., Any], login_secret: Any
) -> None:
    other = deployment("sqlite")
    async with other.running() as service:
        await service.create_user("ada", login_secret())
    mixed = populated.deployment
    mixed.given["keystore_database"] = f"sqlite:{other.folder / 'keystore.sqlite'}"
    found = await findings(mixed)
    assert "keystore: not true of 1: every provider that rows belong to is in access" in found
    assert "vault: not true of 1: every key store user that users belong to is in the key store" in found


class Streamed:
    """A snapshot that has one answer, in batches of two rows."""

    def __init__(self, numbers: str) -> None:
        self.rows = [(bytes([int(number)]), b"p") for number in numbers]

    async def stream(self, sql: str) -> AsyncGenerator[list[tuple[bytes, bytes]], None]:
        for start in range(0, len(self.rows), 2):
            yield self.rows[start : start + 2]


@pytest.mark.parametrize(
    ("named", "there", "missing"),
    [
        ("", "", 0),
        ("", "12", 0),
        ("12", "", 2),
        ("123", "123", 0),
        ("2468", "123456789", 0),
        ("13579", "2468", 5),
        ("12345", "234", 2),
        ("159", "12345", 1),
    ],
)
async def test_users_of_one_database_are_looked_up_in_the_other_wherever_they_stand(
    named: str, there: str, missing: int
) -> None:
    vault: Any = Streamed(named)
    keystore: Any = Streamed(there)
    assert await integrity.missing(vault, "", keystore, "") == missing


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_a_damaged_file_is_found(populated: Any) -> None:
    path = populated.deployment.folder / "vault.sqlite"
    whole = path.read_bytes()
    for place in range(4096 * 8, len(whole), 4096 * 16):
        path.write_bytes(whole[:place] + b"\xa5" * 512 + whole[place + 512 :])
        found = await findings(populated.deployment)
        assert found, place
        assert all(line.startswith("vault: ") for line in found)


async def test_a_snapshot_holds_nobody_up_and_does_not_move(populated: Any, login_secret: Any) -> None:
    settings = populated.deployment.settings
    async with populated.deployment.running() as service:
        snapshot = await open_snapshot(settings.database("keystore"), "keystore")
        try:
            async with asyncio.timeout(5):
                await service.create_user("cleo", login_secret(b"cleo"))
            seen = await snapshot.all("SELECT canonical_username FROM users ORDER BY canonical_username")
            assert seen == [("ada",), ("bea",)]
        finally:
            await snapshot.close()


async def test_a_long_answer_comes_in_batches(populated: Any) -> None:
    query = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1201) SELECT i, 'x' FROM n"
    snapshot = await open_snapshot(populated.deployment.settings.database("vault"), "vault")
    try:
        batches = [batch async for batch in snapshot.stream(query)]
        assert [len(batch) for batch in batches] == [500, 500, 201]
        assert [row for batch in batches for row in batch] == [(number, "x") for number in range(1, 1202)]
        assert [batch async for batch in snapshot.stream("SELECT id FROM users WHERE public_key = ''")] == []
    finally:
        await snapshot.close()


async def test_a_database_that_is_not_there_is_told_and_not_made(engine: str, deployment: Callable[..., Any]) -> None:
    nothing = deployment(engine)
    nothing.folder.mkdir()
    with pytest.raises(NotThere, match="there is no vault database"):
        await findings(nothing)
    assert list(nothing.folder.iterdir()) == []


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_a_newer_database_is_refused_and_an_older_one_told(populated: Any) -> None:
    populated.deployment.change("vault", "DELETE FROM schema_migrations WHERE number > 1")
    assert await findings(populated.deployment) == [
        "vault: the schema is not up to date: start the service once, then verify again"
    ]
    populated.deployment.change("vault", "INSERT INTO schema_migrations VALUES (999, 'x', 'x', 1)")
    with pytest.raises(SchemaError, match="newer version"):
        await findings(populated.deployment)
    populated.deployment.change("vault", "DELETE FROM schema_migrations WHERE number = 999")
    populated.deployment.change("access", "DELETE FROM schema_migrations WHERE number = 1")
    with pytest.raises(SchemaError, match="has gaps"):
        await findings(populated.deployment)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("DROP TABLE audit_events", ["access: tables of access, or columns of them, are missing: audit_events"]),
        (
            "ALTER TABLE passkeys DROP COLUMN used_at",
            ["access: tables of access, or columns of them, are missing: passkeys"],
        ),
        # SQLite's own message would quote it.
        (
            (
                "UPDATE developers SET password_hash = CAST(x'68ff' AS TEXT);"
                "UPDATE sign_ups SET password_hash = CAST(x'68ff' AS TEXT)"
            ),
            [
                "access: developers cannot be read: a text is not UTF-8",
                "access: sign_ups cannot be read: a text is not UTF-8",
            ],
        ),
    ],
)
@pytest.mark.parametrize("engine", ["sqlite"])
async def test_what_no_backup_could_hold_is_found_and_none_is_made(
    populated: Any, statement: str, expected: list[str], tmp_path: Path
) -> None:
    populated.deployment.change("access", statement)
    assert await findings(populated.deployment) == expected
    with pytest.raises((SchemaError, Unavailable)):
        await populated.deployment.back_up(tmp_path / "unsound")
    assert not (tmp_path / "unsound").exists()


async def test_a_schema_that_was_changed_is_named_and_the_rows_are_asked_all_the_same(populated: Any) -> None:
    await populated.deployment.execute(
        "keystore", "DROP INDEX sessions_by_end", "DROP INDEX users_of_provider", "DELETE FROM usernames"
    )
    await populated.deployment.execute("vault", "DROP INDEX classification_nodes_name")
    assert await findings(populated.deployment) == [
        "vault: classification_nodes lacks the index classification_nodes_name",
        "keystore: sessions lacks the index sessions_by_end",
        "keystore: users lacks the index users_of_provider",
        "keystore: not true of 2: every user has the look-up of its username",
    ]


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_an_archive_is_verified_with_and_without_its_secret(populated: Any) -> None:
    verified = await verify_archive(populated.archive, populated.deployment.secret, unheard)
    assert (verified.authentic, verified.findings) == (True, [])
    assert [area.name for area in verified.manifest.areas] == ["vault", "keystore", "access"]
    for secret in (None, ServerSecret(b"o" * 32)):
        verified = await verify_archive(populated.archive, secret, unheard)
        assert (verified.authentic, verified.findings) == (False, [])
    content = bytearray(populated.archive.read_bytes())
    content[len(content) // 2] ^= 1
    populated.archive.write_bytes(content)
    with pytest.raises(ArchiveRefused):
        await verify_archive(populated.archive, None, unheard)


@pytest.mark.parametrize(
    ("area", "statement", "finding"),
    [
        ("access", "DELETE FROM provider_names", "access: not true of 1: every provider has the look-up of its name"),
        ("access", "DELETE FROM developer_emails", "access: not true of 1: every developer has the look-up of their a"),
        ("keystore", "DELETE FROM usernames", "keystore: not true of 2: every user has the look-up of its username"),
        ("vault", "DELETE FROM images", "vault: not true of "),
        ("access", WITHOUT_PROVIDERS, "keystore: not true of 1: every provider that rows belong to is in access"),
        (
            "access",
            "INSERT INTO notifications_sent VALUES (zeroblob(16), 'end_1', 1, 1)",
            "access: not true of 1: every notification about a subscription is of one that is there",
        ),
    ],
)
@pytest.mark.parametrize("engine", ["sqlite"])
async def test_an_archive_of_rows_that_do_not_belong_together_is_told(
    populated: Any, area: str, statement: str, finding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    populated.deployment.change(area, statement)
    await populated.deployment.back_up(tmp_path / "unsound")
    room = tmp_path / "room"
    room.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(room))
    verified = await verify_archive(tmp_path / "unsound", populated.deployment.secret, unheard)
    assert verified.authentic
    assert [line for line in verified.findings if line.startswith(finding)], verified.findings
    assert list(room.iterdir()) == []


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_an_archive_whose_rows_break_a_constraint_is_told(populated: Any, tmp_path: Path) -> None:
    populated.deployment.change("keystore", WITHOUT_CONSTRAINT)
    await populated.deployment.back_up(tmp_path / "unsound")
    verified = await verify_archive(tmp_path / "unsound", populated.deployment.secret, unheard)
    assert verified.findings == ["keystore: rows break a constraint of their table"]


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_what_an_archive_was_changed_to_is_not_told_as_a_finding(
    populated: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A well-formed row that breaks a constraint, in place of one of the same length."""
    # As with more rows than a batch: those before the last one come before their hash could be compared.
    monkeypatch.setattr("strongroom.backup.archive.BATCH", 1)
    with zipfile.ZipFile(populated.archive) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    name = "access/store_meta.jsonl"
    whole = held[name]
    held[name] = whole.replace(b'"restore_epoch",0', b'"restore_ep",null')
    assert len(held[name]) == len(whole)
    assert held[name] != whole
    with zipfile.ZipFile(populated.archive, "w") as archive:
        for member, content in held.items():
            archive.writestr(member, content)
    with pytest.raises(ArchiveRefused, match=r"access/store_meta\.jsonl is not as it was written"):
        await verify_archive(populated.archive, populated.deployment.secret, unheard)


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_an_archive_without_access_is_refused(populated: Any) -> None:
    with zipfile.ZipFile(populated.archive) as archive:
        held = {name: archive.read(name) for name in archive.namelist() if not name.startswith("access/")}
    manifest = json.loads(held["manifest.json"])
    manifest["areas"] = [area for area in manifest["areas"] if area["name"] != "access"]
    with zipfile.ZipFile(populated.archive, "w") as archive:
        for member, content in (held | {"manifest.json": json.dumps(manifest).encode()}).items():
            archive.writestr(member, content)
    with pytest.raises(ArchiveRefused, match="every backup has, access"):
        await verify_archive(populated.archive, None, unheard)


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_an_archive_is_not_called_sound_where_there_is_no_room_to_ask(
    populated: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The smallest file system there is: no file on it can be made.
    monkeypatch.setattr("strongroom.backup.verifying.TemporaryDirectory", lambda **_: nullcontext("/dev/full"))
    with pytest.raises(Unavailable):
        await verify_archive(populated.archive, populated.deployment.secret, unheard)


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_without_a_folder_for_temporary_files_an_archive_cannot_be_verified(
    populated: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(Unavailable):
        await verify_archive(populated.archive, populated.deployment.secret, unheard)
