"""Verify finds what is wrong with a database, names it without values, and changes nothing."""

import asyncio
import json
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

from strongroom.backup import invariants
from strongroom.backup.manifest import ArchiveRefused
from strongroom.backup.verifying import verify_archive, verify_databases
from strongroom.server.db import Unavailable
from strongroom.server.db.copying import NotThere
from strongroom.server.db.migrate import SchemaError
from strongroom.server.db.open import open_snapshot
from strongroom.server.secret import ServerSecret

pytestmark = pytest.mark.anyio

# One call, which was answered within five milliseconds.
SPAN = (
    "INSERT INTO usage_spans SELECT provider_id, id, 60000, {starts_at}, 'primary', {calls}, 1, 1, 0, 0, 0, 0"
    " FROM subscriptions;"
)
# What breaks each of them, in SQL that constraints let pass.
EPOCH: dict[str, str | None] = {"there is one restore epoch": "DELETE FROM store_meta WHERE name = 'restore_epoch'"}
BREACHES: dict[str, dict[str, str | None]] = {
    "access": EPOCH
    | {
        "every provider has the look-up of its name": "DELETE FROM provider_names",
        "every look-up of a provider's name leads to it": "INSERT INTO provider_names VALUES ('other', x'00')",
        "every subscription belongs to a provider": "UPDATE subscriptions SET provider_id = x'00'",
        "every subscription key belongs to a subscription": "UPDATE subscription_keys SET subscription_id = x'00'",
        "a subscription has at most one primary and one secondary key in force": (
            "UPDATE subscription_keys SET slot = 'primary'"
        ),
        "every provider API key belongs to a provider": "UPDATE provider_api_keys SET provider_id = x'00'",
        "a provider has at most two API keys that are not revoked": (
            "INSERT INTO provider_api_keys (key_hash, provider_id, id, name, hint, created_at)"
            " SELECT randomblob(32), provider_id, randomblob(16), name, hint, 1"
            " FROM provider_api_keys, (VALUES (1), (2)) AS twice"
        ),
        "a closed provider has no subscription that is not cancelled and no key that is not revoked": (
            "UPDATE providers SET closed_at = 1"
        ),
        "a subscription in force was approved and activated, and exactly a cancelled one has ended": (
            "UPDATE subscriptions SET approved_at = NULL"
        ),
        "every span of usage and every count of refusals belongs to a subscription": (
            "INSERT INTO usage_refusals VALUES (x'00', x'00', 60000, 0, 'primary', 'x', 1)"
        ),
        "spans of usage begin at a multiple of their width, and every call is counted once by its time": (
            SPAN.format(starts_at=60_000, calls=2)
        ),
        "a span of usage holds no more refusals than calls": (
            SPAN.format(starts_at=60_000, calls=1)
            + "INSERT INTO usage_refusals SELECT provider_id, id, 60000, 60000, 'primary', code.column1, 1"
            " FROM subscriptions, (VALUES ('one'), ('other')) AS code"
        ),
        "hashes of keys have 32 bytes, identifiers 16": "UPDATE provider_api_keys SET key_hash = x'00'",
    },
    "portal": EPOCH
    | {
        "every developer has the look-up of their address": "UPDATE developers SET email = 'other'",
        "every look-up of an address leads to the developer who has it": (
            "INSERT INTO developer_emails SELECT 'other', id FROM developers"
        ),
        "every session belongs to a developer": "UPDATE sessions SET developer_id = x'00'",
        "every passkey and every recovery code belongs to a developer": (
            "INSERT INTO recovery_codes VALUES (x'00', x'00', 1)"
        ),
        "every link in mail belongs to a developer": "UPDATE links SET developer_id = x'00'",
        "every membership belongs to a developer": "UPDATE memberships SET developer_id = x'00'",
        "every organisation with members has an owner": "UPDATE memberships SET role = 'member'",
        "every invitation was sent by an owner of its organisation": "UPDATE invitations SET invited_by = x'00'",
        "an authenticator has a key exactly if it has a beginning": "UPDATE developers SET totp_since = 1",
        "sessions and invitations end after they begin": "UPDATE invitations SET expires_at = created_at",
        "hashes have 32 bytes, identifiers 16, and nothing that was sealed is empty": (
            "UPDATE links SET link_hash = x'00'"
        ),
    },
    "keystore": EPOCH
    | {
        "every user has the look-up of its username": "DELETE FROM usernames WHERE canonical_username = 'ada'",
        "every look-up of a username leads to its user": (
            "UPDATE usernames SET canonical_username = 'no' || hex(user_id)"
        ),
        "every session belongs to a user of its provider": "UPDATE sessions SET provider_id = x'00'",
        "every derivation artefact belongs to a user": "UPDATE passphrase_derivation_artefacts SET user_id = x'00'",
        "every key encryption key belongs to a user": "UPDATE key_encryption_keys SET user_id = x'00'",
        "a user has at most one key encryption key and one derivation artefact": None,
        "every data encryption key belongs to a user": "UPDATE data_encryption_keys SET user_id = x'00'",
        "every keypair belongs to a user": "UPDATE keypairs SET user_id = x'00'",
        "every external identifier names a keypair of the same user": (
            "UPDATE external_identifiers SET keypair_id = x'00'"
        ),
        "an admission token has a time of use exactly if it has a user or a public key": (
            "UPDATE admission_tokens SET used_by = 'other' WHERE used_at IS NOT NULL"
        ),
        "no two users were admitted by one token, and none by none": (
            "UPDATE admission_tokens SET used_at = 1, used_by = 'user:one'"
        ),
        "whoever an admission token admitted is a user": (
            "UPDATE admission_tokens SET used_by = 'user:00000000-0000-7000-8000-000000000000'"
            " WHERE rowid = (SELECT min(rowid) FROM admission_tokens WHERE used_by LIKE 'user:%')"
        ),
        "data encryption keys are what their digests are of": (
            "UPDATE data_encryption_keys SET serialized_data_encryption_key = 'other'"
        ),
        "hashes and digests have 32 bytes, identifiers 16": "UPDATE sessions SET secret_hash = x'00'",
        "sessions end after they begin, and nothing that was stored is empty": "UPDATE users SET passphrase_hash = ''",
    },
    "vault": EPOCH
    | {
        "every user has the look-up of its public key": "DELETE FROM public_key_fingerprints",
        "every look-up of a public key leads to its user": "UPDATE public_key_fingerprints SET user_id = x'00'",
        "every look-up of a key store user leads to a user": "UPDATE keystore_users SET user_id = x'00'",
        "a user has one public key and belongs to at most one key store user": (
            "INSERT INTO public_key_fingerprints SELECT randomblob(32), provider_id, user_id FROM users"
        ),
        "every session belongs to a user and to no later generation": "UPDATE sessions SET generation = 9",
        "sessions were first used before their end": "UPDATE sessions SET first_used_at = expires_at",
        "an admission token has a time of use exactly if it has a user": "UPDATE admission_tokens SET used_at = NULL",
        "a token that is given to a key store user again is an admission token of that user": (
            "UPDATE external_admission_tokens SET keystore_user_id = admission_token_id"
        ),
        "a used admission token admitted a user of its provider": (
            "UPDATE admission_tokens SET used_by = x'00' WHERE used_by IS NOT NULL"
        ),
        "whom a key store user's token admitted belongs to that key store user": "DELETE FROM keystore_users",
        "no admission token admitted two users, and no user came in twice": (
            "UPDATE admission_tokens SET used_at = 1, used_by = (SELECT user_id FROM users LIMIT 1)"
        ),
        "every parent of a classification node is a node of its scheme": (
            "UPDATE classification_nodes SET parent_id = x'00'"
        ),
        "no classification node is below itself": (
            "UPDATE classification_nodes SET parent_id = node_id"
            " WHERE node_id = (SELECT min(node_id) FROM classification_nodes)"
        ),
        "every classification node has its image": "DELETE FROM images",
        "pictures are what their hashes are of": "UPDATE images SET content = x'00'",
        "hashes and fingerprints have 32 bytes, identifiers 16": "UPDATE images SET content_hash = x'00'",
    },
}
WITHOUT_PROVIDERS = """
DELETE FROM providers; DELETE FROM provider_names; DELETE FROM provider_api_keys; DELETE FROM subscriptions;
DELETE FROM subscription_keys; DELETE FROM usage_spans; DELETE FROM usage_refusals;
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


def change(deployment: Any, area: str, statement: str) -> None:
    with closing(sqlite3.connect(deployment.folder / f"{area}.sqlite")) as connection:
        connection.executescript(statement)


async def findings(deployment: Any) -> list[str]:
    found: list[str] = await verify_databases(deployment.settings, unheard)
    return found


def test_every_invariant_has_its_breach() -> None:
    assert {area: set(breaches) for area, breaches in BREACHES.items()} == {
        area: set(found) for area, found in invariants.OF_AREA.items()
    }


async def test_a_sound_database_is_sound_on_either_engine_while_the_service_runs(populated: Any) -> None:
    async with populated.deployment.running():
        assert await findings(populated.deployment) == []


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_every_breach_is_found_and_named_without_values(populated: Any) -> None:
    folder = populated.deployment.folder
    for area, breaches in BREACHES.items():
        whole = (folder / f"{area}.sqlite").read_bytes()
        for sentence, statement in breaches.items():
            change(populated.deployment, area, statement or WITHOUT_CONSTRAINT)
            found = await findings(populated.deployment)
            assert f"{area}: not true of " in "".join(found)
            assert any(line.endswith(f": {sentence}") for line in found), (sentence, found)
            assert "ada" not in "".join(found)
            (folder / f"{area}.sqlite").write_bytes(whole)
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
    assert "keystore: 1 of the providers that rows belong to are not in access" in found
    assert "vault: 1 of its users belong to key store users that are not there" in found


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


async def test_a_database_that_is_not_there_is_told_and_not_made(engine: str, deployment: Callable[..., Any]) -> None:
    nothing = deployment(engine)
    nothing.folder.mkdir()
    with pytest.raises(NotThere, match="there is no portal database"):
        await findings(nothing)
    assert list(nothing.folder.iterdir()) == []


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_a_newer_database_is_refused_and_an_older_one_told(populated: Any) -> None:
    change(populated.deployment, "vault", "DELETE FROM schema_migrations WHERE number > 1")
    assert await findings(populated.deployment) == [
        "vault: the schema is not up to date: start the service once, then verify again"
    ]
    change(populated.deployment, "vault", "INSERT INTO schema_migrations VALUES (999, 'x', 'x', 1)")
    with pytest.raises(SchemaError, match="newer version"):
        await findings(populated.deployment)
    change(populated.deployment, "vault", "DELETE FROM schema_migrations WHERE number = 999")
    change(populated.deployment, "portal", "DELETE FROM schema_migrations WHERE number = 2")
    with pytest.raises(SchemaError, match="has gaps"):
        await findings(populated.deployment)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("DROP TABLE audit_events", ["portal: tables of portal, or columns of them, are missing: audit_events"]),
        (
            "ALTER TABLE passkeys DROP COLUMN used_at",
            ["portal: tables of portal, or columns of them, are missing: passkeys"],
        ),
        # SQLite's own message would quote it.
        (
            (
                "UPDATE developers SET password_hash = CAST(x'68ff' AS TEXT);"
                "UPDATE sign_ups SET password_hash = CAST(x'68ff' AS TEXT)"
            ),
            [
                "portal: developers cannot be read: a text is not UTF-8",
                "portal: sign_ups cannot be read: a text is not UTF-8",
            ],
        ),
    ],
)
@pytest.mark.parametrize("engine", ["sqlite"])
async def test_what_no_backup_could_hold_is_found_and_none_is_made(
    populated: Any, statement: str, expected: list[str], tmp_path: Path
) -> None:
    change(populated.deployment, "portal", statement)
    assert await findings(populated.deployment) == expected
    with pytest.raises((SchemaError, Unavailable)):
        await populated.deployment.back_up(tmp_path / "unsound")
    assert not (tmp_path / "unsound").exists()


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_an_archive_is_verified_with_and_without_its_secret(populated: Any) -> None:
    verified = await verify_archive(populated.archive, populated.deployment.secret, unheard)
    assert (verified.authentic, verified.findings) == (True, [])
    assert [area.name for area in verified.manifest.areas] == ["portal", "vault", "keystore", "access"]
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
        ("portal", "DELETE FROM developer_emails", "portal: not true of 1: every developer has the look-up of their a"),
        ("keystore", "DELETE FROM usernames", "keystore: not true of 2: every user has the look-up of its username"),
        ("vault", "DELETE FROM images", "vault: not true of "),
        ("access", WITHOUT_PROVIDERS, "keystore: 1 of the providers that rows belong to are not in access"),
        (
            "portal",
            "INSERT INTO told VALUES (zeroblob(16), 'end_1', 1, 1)",
            "portal: reminders are of subscriptions",
        ),
    ],
)
@pytest.mark.parametrize("engine", ["sqlite"])
async def test_an_archive_of_rows_that_do_not_belong_together_is_told(
    populated: Any, area: str, statement: str, finding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(populated.deployment, area, statement)
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
    change(populated.deployment, "keystore", WITHOUT_CONSTRAINT)
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
