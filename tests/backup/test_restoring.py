"""A restore brings back what was acknowledged before the backup, on either engine, and nothing is used twice."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs

import psycopg
import pytest
from tools.postgres_server import PostgresServer

from strongroom.backup import areas, restoring
from strongroom.backup.archive import Reader
from strongroom.backup.making import back_up
from strongroom.backup.manifest import ArchiveRefused
from strongroom.backup.restoring import RestoreRefused
from strongroom.backup.verifying import verify_databases
from strongroom.runtime.secret import ServerSecret
from strongroom.runtime.settings import load
from strongroom.storage.data_locks import InUse
from strongroom.storage.migrate import SchemaError
from strongroom.storage.open import open_destination, open_snapshot
from strongroom.storage.postgres.connection import Target
from strongroom.storage.sqlite.file import bring_up_to_date, connect
from strongroom.testing.service import Service

pytestmark = pytest.mark.anyio

EMPTIED = (
    "developer_links",
    "developer_sessions",
    "invitations",
    "mails",
    "passkey_challenges",
    "shown_once",
    "sign_ups",
)
OTHER = {"sqlite": "postgresql", "postgresql": "sqlite"}
GONE = [f"access.{name}" for name in EMPTIED]
TABLES_CHANGED = {
    "keystore.sessions",
    "keystore.admission_tokens",
    "vault.sessions",
    "vault.admission_tokens",
    "vault.external_admission_tokens",
    "vault.users",
    *GONE,
    *(f"{area}.store_meta" for area in ("access", "keystore", "vault")),
}


class Interrupted(Exception):
    """What stands for a crash."""


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def archived(path: Path) -> dict[str, list[Any]]:
    """The rows of an archive by area and table, in an order that does not depend on the engine."""
    reader = Reader(path)
    try:
        return {
            f"{area.name}.{table.name}": sorted(
                (row for batch in reader.batches(area.name, table) for row in batch), key=repr
            )
            for area in reader.manifest.areas
            for table in area.tables
        }
    finally:
        reader.close()


@asynccontextmanager
async def restored(populated: Any, deployment: Callable[..., Any], engine: str) -> AsyncIterator[Any]:
    target = deployment(engine)
    target.take_secret_of(populated.deployment)
    await target.restore(populated.archive)
    async with target.running() as service:
        yield service


@pytest.mark.parametrize("across", [False, True], ids=["same engine", "other engine"])
async def test_what_was_stored_is_there_and_nothing_else_has_changed(
    populated: Any, deployment: Callable[..., Any], across: bool
) -> None:
    target = deployment(OTHER[populated.deployment.engine] if across else populated.deployment.engine)
    target.take_secret_of(populated.deployment)
    await target.restore(populated.archive)
    before, after = archived(populated.archive), await target.rows()
    assert {name for name in before if before[name] != after[name]} == TABLES_CHANGED
    # Of a vault user only the generation, which every session string names.
    assert [row[:3] + row[4:] for row in before["vault.users"]] == [row[:3] + row[4:] for row in after["vault.users"]]
    assert {name: len(rows) for name, rows in before.items()} == {
        name: len(rows) + {"vault.external_admission_tokens": 2}.get(name, name in GONE) for name, rows in after.items()
    }
    assert await verify_databases(target.settings, lambda *_: None) == []
    async with target.running() as service:
        session = await service.log_in("ada", populated.passphrase)
        for path, stored in populated.stored.items():
            assert (await service.call("GET", path, auth=session)).json() == stored


# A new table has to be thought about here: can anything in it be good for one use?
KEPT = {
    "access": {
        "attempts",
        "audit_events",
        "developer_emails",
        "developers",
        "memberships",
        "notifications_sent",
        "passkeys",
        "provider_api_keys",
        "provider_names",
        "providers",
        "recovery_codes",
        "subscription_keys",
        "subscriptions",
        "usage_refusals",
        "usage_spans",
    },
    "keystore": {
        "data_encryption_keys",
        "external_identifiers",
        "key_encryption_keys",
        "keypairs",
        "passphrase_derivation_artefacts",
        "usernames",
        "users",
    },
    "vault": {"classification_nodes", "images", "keystore_users", "public_key_fingerprints"},
}


async def test_every_table_is_kept_or_ended(populated: Any) -> None:
    tables = set(await populated.deployment.rows())
    kept = {f"{area}.{table}" for area, names in KEPT.items() for table in names}
    assert tables - kept == TABLES_CHANGED


@pytest.mark.parametrize("engine", ["postgresql"])
async def test_a_restored_database_has_statistics_at_once(populated: Any, deployment: Callable[..., Any]) -> None:
    target = deployment("postgresql")
    target.take_secret_of(populated.deployment)
    await target.restore(populated.archive)
    opened = await areas.snapshots(target.settings)
    try:
        for area, tables in {"keystore": {"users", "keypairs"}, "access": {"providers", "subscriptions"}}.items():
            known = await opened[area].all(
                "SELECT DISTINCT tablename FROM pg_stats WHERE schemaname = current_schema()"
            )
            assert tables <= {name for (name,) in known}
    finally:
        await areas.close(opened)


async def test_sessions_have_ended(
    populated: Any, deployment: Callable[..., Any], opened: Any, public_pem: Any
) -> None:
    async with populated.deployment.running() as service:
        assert (await service.call("GET", "/keystore/keypairs", auth=populated.keystore_session)).status_code == 200
        for session in (populated.vault_session, populated.unused_vault_session):
            assert (await service.call("GET", "/vault/classification_nodes", auth=session)).status_code == 200
    async with restored(populated, deployment, populated.deployment.engine) as service:
        answer = await service.call("GET", "/keystore/keypairs", auth=populated.keystore_session)
        assert code(answer) == (401, "session_invalid")
        for session in (populated.vault_session, populated.unused_vault_session):
            answer = await service.call("GET", "/vault/classification_nodes", auth=session)
            assert code(answer) == (401, "session_invalid")
        made = await service.made("POST", "/vault/session", {"public_key": public_pem("ada")})
        fresh = opened(made["session"]["encrypted_session_authentication_string"], "ada")
        assert (await service.call("GET", "/vault/classification_nodes", auth=fresh)).status_code == 200


async def test_no_admission_token_is_used_twice(
    populated: Any, deployment: Callable[..., Any], public_pem: Any
) -> None:
    def user(token: str) -> dict[str, str]:
        return {"admission_token": token, "username": "cleo", "passphrase": populated.passphrase}

    def vault_user(token: str, key: str) -> dict[str, Any]:
        return {"user": {"public_key": public_pem(key), "admission_token": token}}

    async with restored(populated, deployment, populated.deployment.engine) as service:
        spent = await service.call("POST", "/keystore/users", user(populated.spent_token))
        assert code(spent) == (409, "admission_token_used")
        unused = await service.call(
            "POST", "/keystore/users", user(populated.unused_tokens["/keystore/admission_tokens"])
        )
        assert unused.json()["code"] == "admission_token_expired"
        for token in (*populated.unused_tokens.values(), populated.external_token):
            answer = await service.call("POST", "/vault/me", vault_user(token, "cleo"))
            assert answer.json()["code"] == "admission_token_expired"
        claimed = await service.call("POST", "/vault/me", vault_user(populated.claimed_token, "cleo"))
        assert code(claimed) == (409, "admission_token_used")
        # Endpoint 9 gives a new token, and that one is good.
        session = await service.log_in("bea", populated.passphrase)
        made = await service.made("GET", "/keystore/external_admission_tokens", None, session)
        token = made["external_admission_token"]["vault_api_admission_token"]
        assert token != populated.external_token
        assert (await service.call("POST", "/vault/me", vault_user(token, "cleo"))).status_code == 201


async def test_a_clock_that_is_behind_revives_nothing(
    populated: Any, deployment: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a deployment moves to a machine whose clock is set only afterwards."""
    behind = time.time_ns() - 20 * 60 * 10**9
    target = deployment(populated.deployment.engine)
    target.take_secret_of(populated.deployment)
    with monkeypatch.context() as patched:
        patched.setattr(restoring, "time", SimpleNamespace(time_ns=lambda: behind))
        await target.restore(populated.archive)
    for area in ("keystore", "vault"):
        snapshot = await open_snapshot(target.settings.database(area), area)
        unused = "SELECT count(*), max(expires_at) FROM admission_tokens WHERE used_at IS NULL"
        ((count, latest),) = await snapshot.all(unused)
        await snapshot.close()
        assert count > 0
        assert latest <= behind // 1_000_000
    async with target.running() as service:
        for session in (populated.vault_session, populated.unused_vault_session):
            answer = await service.call("GET", "/vault/classification_nodes", auth=session)
            assert code(answer) == (401, "session_invalid")


async def test_a_claim_that_came_to_nothing_before_the_backup_cannot_be_made_again(
    engine: str, deployment: Callable[..., Any], tmp_path: Path
) -> None:
    """The vault user may have been stored after the backup: the same token would then have admitted two."""
    source = deployment(engine)
    async with source.running() as service:
        token, claimant = await service.token(), "k" * 43
        provider = (await source.rows())["access.providers"][0][0]
        vault = service.application.vault
        await vault.claim_admission_token(provider, token, claimant)
        await vault.claim_admission_token(provider, token, claimant)
        await source.back_up(tmp_path / "archive")
    target = deployment(engine)
    target.take_secret_of(source)
    await target.restore(tmp_path / "archive")
    async with target.running() as service:
        with pytest.raises(Exception, match="admission_token_used"):
            await service.application.vault.claim_admission_token(provider, token, claimant)


async def test_every_write_acknowledged_before_a_backup_began_is_in_it(
    engine: str, deployment: Callable[..., Any], tmp_path: Path, login_secret: Any, sealed: Any
) -> None:
    source, acknowledged, numbers, progress = deployment(engine), [], itertools.count(), asyncio.Event()

    async def write(service: Any, session: str) -> None:
        while True:
            key = {"serialized_data_encryption_key": sealed(seed=next(numbers))}
            made = await service.made("POST", "/keystore/data_encryption_keys", key, session)
            acknowledged.append(made["data_encryption_key"]["id"])
            progress.set()

    async with source.running() as service:
        await service.create_user("ada", login_secret())
        session = await service.log_in("ada", login_secret())
        writers = [asyncio.create_task(write(service, session)) for _ in range(16)]
        expected: list[list[str]] = []
        for round_ in range(3):
            for _ in range(16):
                progress.clear()
                await progress.wait()
            expected.append(list(acknowledged))
            await asyncio.to_thread(asyncio.run, source.back_up(tmp_path / f"archive-{round_}"))
        for writer in writers:
            writer.cancel()
        await asyncio.gather(*writers, return_exceptions=True)
    for round_, ids in enumerate(expected):
        target = deployment(engine)
        target.take_secret_of(source)
        await target.restore(tmp_path / f"archive-{round_}")
        async with target.running() as service:
            session = await service.log_in("ada", login_secret())
            found = await service.made("GET", "/keystore/data_encryption_keys", None, session)
            assert set(ids) <= {key["id"] for key in found["data_encryption_keys"]}


@pytest.mark.slow
def test_a_user_unlocks_the_restored_account_with_name_and_passphrase(tmp_path: Path) -> None:
    passphrase = "correct horse battery staple"
    with Service(folder=tmp_path / "a") as service, service.client() as client:
        account = client.register("ada", passphrase, admission_token=service.issue_admission_token())
        sealed = account.seal(b"what only ada can read")
        source = load({}, {"data": str(tmp_path / "a"), "areas": "keystore,vault"})
        secret = areas.read_secret(source)
        assert secret is not None
        asyncio.run(back_up(source, secret, tmp_path / "archive", lambda *_: None))
    secret_text = (tmp_path / "a" / "secret").read_text()
    target = load({}, {"data": str(tmp_path / "b"), "areas": "keystore,vault", "secret": secret_text})
    asyncio.run(restoring.restore(target, secret, tmp_path / "archive", lambda *_: None))
    (tmp_path / "b" / "secret").write_text(secret_text)
    (tmp_path / "b" / "secret").chmod(0o600)
    with Service(folder=tmp_path / "b") as service, service.client() as client:
        assert client.unlock("ada", passphrase).open(sealed) == b"what only ada can read"


async def test_a_restore_needs_the_matching_secret(engine: str, populated: Any, deployment: Callable[..., Any]) -> None:
    target = deployment(engine)
    target.folder.mkdir(mode=0o700)
    (target.folder / "secret").write_text("ab" * 32)
    (target.folder / "secret").chmod(0o600)
    with pytest.raises(RestoreRefused, match="another server secret"):
        await target.restore(populated.archive)
    assert [file.name for file in target.folder.iterdir()] == ["secret"]
    target.take_secret_of(populated.deployment)
    await target.restore(populated.archive)


async def test_a_secret_that_is_being_replaced_still_matches(populated: Any, deployment: Callable[..., Any]) -> None:
    old = (populated.deployment.folder / "secret").read_text().strip()
    # One in 256 has the key id of the old one, and beside it would be refused.
    ids = {text: ServerSecret(bytes.fromhex(text)).current_id for text in (old, "0b" * 32, "0c" * 32)}
    new = next(text for text, key_id in ids.items() if key_id != ids[old])
    rotating = deployment(populated.deployment.engine, secret=new, previous_secret=old)
    await rotating.restore(populated.archive)
    archive = populated.archive.with_name("rotating")
    await rotating.back_up(archive)
    # Its hashes are of both secrets, so neither alone will do.
    for secret in (old, new):
        with pytest.raises(RestoreRefused, match="another server secret"):
            await deployment("sqlite", secret=secret).restore(archive)


@pytest.mark.parametrize("area", ["access", "keystore", "vault"])
async def test_a_restore_goes_into_empty_databases_only(
    engine: str, populated: Any, deployment: Callable[..., Any], area: str
) -> None:
    target, used = deployment(engine), deployment(engine)
    async with used.running():
        pass
    before = await used.rows()
    target.take_secret_of(populated.deployment)
    used.take_secret_of(populated.deployment)
    if engine == "sqlite":
        target.given[f"{area}_database"] = f"sqlite:{used.folder / f'{area}.sqlite'}"
    else:
        target.given[f"{area}_database"] = used.given[f"{area}_database"]
    with pytest.raises(RestoreRefused, match=f"{area} database is not empty"):
        await target.restore(populated.archive)
    assert await used.rows() == before


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_a_log_without_its_file_is_what_is_left_of_a_database(
    populated: Any, deployment: Callable[..., Any]
) -> None:
    target = deployment("sqlite")
    target.take_secret_of(populated.deployment)
    log = target.folder / "vault.sqlite-wal"
    log.write_bytes(b"left")
    with pytest.raises(RestoreRefused, match="vault database is not empty"):
        await target.restore(populated.archive)
    assert log.read_bytes() == b"left"


async def test_interrupted_anywhere_it_is_refused_by_the_service_and_given_again(
    populated: Any, deployment: Callable[..., Any]
) -> None:
    whole = deployment(populated.deployment.engine)
    whole.take_secret_of(populated.deployment)
    steps = []
    await restoring.restore(whole.settings, whole.secret, populated.archive, lambda *step: steps.append(step))
    tables = [number for number, (_, table, _) in enumerate(steps) if table]
    every = 4 if populated.deployment.engine == "sqlite" else 12
    for number in (*tables[::every], *range(len(tables), len(steps))):
        target = deployment(populated.deployment.engine)
        target.take_secret_of(populated.deployment)
        await _interrupt(target, populated.archive, number)
        if steps[number] != steps[-1]:
            await _refused_or_untouched(target, steps[number])
            await target.restore(populated.archive)
        async with target.running() as service:
            await service.log_in("ada", populated.passphrase)


async def test_what_an_unfinished_restore_left_gives_way_to_another_archive(
    populated: Any, deployment: Callable[..., Any]
) -> None:
    target = deployment(populated.deployment.engine)
    target.take_secret_of(populated.deployment)
    await _interrupt(target, populated.archive, 8)
    newer = populated.archive.with_name("newer")
    async with populated.deployment.running() as service:
        await service.create_user("cleo", populated.passphrase)
    await populated.deployment.back_up(newer)
    await target.restore(newer)
    async with target.running() as service:
        await service.log_in("cleo", populated.passphrase)


async def test_of_two_restores_at_once_one_is_refused(populated: Any, deployment: Callable[..., Any]) -> None:
    target, stages = (
        deployment(populated.deployment.engine),
        {("access", "providers"), ("keystore", "users"), ("vault", "")},
    )
    target.take_secret_of(populated.deployment)

    def meanwhile(area: str, table: str, rows: int) -> None:
        if (area, table) in stages:
            stages.remove((area, table))
            with ThreadPoolExecutor(1) as other, pytest.raises(RestoreRefused, match="another restore"):
                other.submit(asyncio.run, target.restore(populated.archive)).result()

    await restoring.restore(target.settings, target.secret, populated.archive, meanwhile)
    assert stages == set()
    async with target.running() as service:
        await service.log_in("ada", populated.passphrase)


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_nothing_is_restored_under_a_service_whose_files_were_deleted(
    populated: Any, deployment: Callable[..., Any]
) -> None:
    """It would go on writing to what nobody sees any more."""
    target = deployment("sqlite")
    target.take_secret_of(populated.deployment)
    async with target.running():
        for file in target.folder.glob("*.sqlite*"):
            file.unlink()
        with pytest.raises(InUse):
            await target.restore(populated.archive)
        assert list(target.folder.glob("*.sqlite*")) == []
    await target.restore(populated.archive)


async def _drop(target: Any) -> None:
    for area in areas.ORDER:
        schema = parse_qs(target.settings.database(area))["options"][0].partition("=")[2]
        await target.execute(area, f"DROP SCHEMA IF EXISTS {schema} CASCADE")


@pytest.mark.parametrize("engine", ["postgresql"])
async def test_nothing_is_restored_under_a_service_whose_schemas_were_dropped(
    populated: Any, deployment: Callable[..., Any]
) -> None:
    """Also under one that nobody calls, and of one area alone; nobody else's schemas are in the way."""
    target, other = deployment("postgresql"), deployment("postgresql")
    target.take_secret_of(populated.deployment)
    async with other.running():
        async with target.running():
            await _drop(target)
            with pytest.raises(RestoreRefused, match="a service, or a command beside it, is at work on the access"):
                await target.restore(populated.archive)
        await _drop(target)
        vault = await Target(target.settings.database("vault"), "vault").connect(working=True)
        with pytest.raises(RestoreRefused, match="at work on the vault database"):
            await target.restore(populated.archive)
        await vault.close()
        await target.restore(populated.archive)
    async with target.running() as service:
        await service.log_in("ada", populated.passphrase)


@pytest.mark.parametrize("engine", ["postgresql"])
async def test_no_service_starts_or_connects_during_a_restore(populated: Any, deployment: Callable[..., Any]) -> None:
    target = deployment("postgresql")
    target.take_secret_of(populated.deployment)
    tried: list[str] = []

    def meanwhile(area: str, table: str, rows: int) -> None:
        if not tried:
            tried.append(area)
            with (
                ThreadPoolExecutor(1) as other,
                pytest.raises(SchemaError, match="a restore into this database is going on"),
            ):
                other.submit(asyncio.run, target.running().__aenter__()).result()

    await restoring.restore(target.settings, target.secret, populated.archive, meanwhile)
    assert tried == ["access"]
    async with target.running() as service:
        destination = open_destination(target.settings.database("keystore"), "keystore")
        store = service.application.keystore.store
        await store._pool.renew(SimpleNamespace(generation=store._pool._generation))
        assert await destination.shut_out()
        answer = await service.call(
            "POST", "/keystore/session", {"username": "ada", "passphrase": populated.passphrase}
        )
        assert (answer.status_code, "Retry-After" in answer.headers) == (503, True)
        await destination.close()
        await service.log_in("ada", populated.passphrase)


async def test_a_database_that_has_gone_since_is_not_taken_for_restored(
    populated: Any, deployment: Callable[..., Any]
) -> None:
    target, steps = deployment(populated.deployment.engine), []
    target.take_secret_of(populated.deployment)

    def crash(area: str, table: str, rows: int) -> None:
        steps.append(area)
        if not table:
            raise Interrupted

    with pytest.raises(Interrupted):
        await restoring.restore(target.settings, target.secret, populated.archive, crash)
    assert steps[-1] == "vault"  # which is open now, and the others are loaded
    elsewhere = deployment(populated.deployment.engine)
    name = "keystore_database"
    target.given[name] = elsewhere.given.get(name, f"sqlite:{elsewhere.folder / 'keystore.sqlite'}")
    with pytest.raises(RestoreRefused, match="vault database is not empty"):
        await target.restore(populated.archive)


@pytest.mark.parametrize("engine", ["postgresql"])
async def test_a_role_that_may_make_no_schema_gives_an_interrupted_restore_again(
    populated: Any, deployment: Callable[..., Any], postgres_server: PostgresServer
) -> None:
    target = deployment("postgresql")
    target.take_secret_of(populated.deployment)
    async with await psycopg.AsyncConnection.connect(postgres_server.url(), autocommit=True) as connection:
        await connection.execute("CREATE ROLE lowly LOGIN")
        for name, url in target.given.items():
            if name.endswith("_database"):
                schema = url.rpartition("%3D")[2]
                await connection.execute(f"CREATE SCHEMA {schema}".encode())
                await connection.execute(f"GRANT USAGE, CREATE ON SCHEMA {schema} TO lowly".encode())
                target.given[name] = url.replace("//strongroom@", "//lowly@")
    await _interrupt(target, populated.archive, 20)
    await target.restore(populated.archive)
    async with target.running() as service:
        await service.log_in("ada", populated.passphrase)


async def _interrupt(target: Any, archive: Path, number: int) -> None:
    told = itertools.count()

    def crash(area: str, table: str, rows: int) -> None:
        if next(told) == number:
            raise Interrupted

    with pytest.raises(Interrupted):
        await restoring.restore(target.settings, target.secret, archive, crash)
    assert list(target.folder.glob("*.restoring")) == []  # a killed process leaves it, a failure does not


async def _refused_or_untouched(target: Any, step: tuple[str, str, int]) -> None:
    if step[:1] == ("access",) and step[1]:
        return  # nothing has been written yet that anybody could open
    with pytest.raises(SchemaError, match="did not finish"):
        async with target.running():
            pass


async def test_what_somebody_put_beside_our_tables_is_in_nobodys_way(
    populated: Any, deployment: Callable[..., Any], tmp_path: Path
) -> None:
    source, target = populated.deployment, deployment(populated.deployment.engine)
    await source.execute(
        "keystore",
        'CREATE TABLE "of others" (at TIMESTAMP, amount REAL)',
        "ALTER TABLE users ADD COLUMN note TEXT",
    )
    assert await verify_databases(source.settings, lambda *_: None) == []
    await source.back_up(tmp_path / "beside")
    target.take_secret_of(source)
    await target.restore(tmp_path / "beside")
    async with target.running() as service:
        await service.log_in("ada", populated.passphrase)


async def test_an_archive_of_an_older_schema_is_brought_up_to_date(
    engine: str, deployment: Callable[..., Any], tmp_path: Path
) -> None:
    source, target = deployment("sqlite"), deployment(engine)
    source.folder.mkdir(mode=0o700)
    (source.folder / "secret").write_text("ab" * 32)
    (source.folder / "secret").chmod(0o600)
    for area in areas.ORDER:
        with closing(connect(source.folder / f"{area}.sqlite", checkpoints=True)) as database:
            bring_up_to_date(database, areas.known(area)[:1])
    made = (
        "INSERT INTO providers VALUES (zeroblob(16), 'old', 'any', 7, NULL)",
        "INSERT INTO provider_names VALUES ('old', zeroblob(16))",
    )
    await source.execute("access", *made)
    await source.execute("vault", "DELETE FROM store_meta")  # which its second migration makes
    await source.back_up(tmp_path / "older")
    target.take_secret_of(source)
    await target.restore(tmp_path / "older")
    assert await verify_databases(target.settings, lambda *_: None) == []
    opened = await areas.snapshots(target.settings)
    try:
        assert await opened["access"].all("SELECT name FROM providers") == [("old",)]
        assert await opened["access"].all("SELECT count(*) FROM developers") == [(0,)]
        assert await opened["vault"].all("SELECT count(*) FROM store_meta") == [(1,)]
    finally:
        await areas.close(opened)


async def test_a_service_of_one_area_is_backed_up_alone(
    engine: str, deployment: Callable[..., Any], tmp_path: Path, login_secret: Any
) -> None:
    alone = {"areas": "keystore", "other_area_url": "http://127.0.0.1:1"}
    source = deployment(engine, **alone)
    async with source.running() as service:
        await service.create_user("ada", login_secret())
    manifest = await source.back_up(tmp_path / "archive")
    assert [area.name for area in manifest.areas] == ["keystore", "access"]
    both = deployment(engine)
    both.take_secret_of(source)
    with pytest.raises(RestoreRefused, match="holds access and keystore"):
        await both.restore(tmp_path / "archive")
    target = deployment(engine, **alone)
    target.take_secret_of(source)
    await target.restore(tmp_path / "archive")
    async with target.running() as service:
        await service.log_in("ada", login_secret())


async def test_a_changed_archive_changes_nothing(populated: Any, deployment: Callable[..., Any]) -> None:
    content = bytearray(populated.archive.read_bytes())
    content[len(content) // 2] ^= 1
    populated.archive.write_bytes(content)
    target = deployment(populated.deployment.engine)
    target.take_secret_of(populated.deployment)
    with pytest.raises(ArchiveRefused):
        await target.restore(populated.archive)
    async with target.running() as service:
        answer = await service.call(
            "POST", "/keystore/session", {"username": "ada", "passphrase": populated.passphrase}
        )
        assert code(answer) == (401, "invalid_credentials")


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_an_archive_of_a_newer_schema_is_refused(
    populated: Any, deployment: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    known = areas.known
    monkeypatch.setattr(areas, "known", lambda area: known(area)[:-1])
    target = deployment("sqlite")
    target.take_secret_of(populated.deployment)
    with pytest.raises(SchemaError, match="newer version"):
        await target.restore(populated.archive)
