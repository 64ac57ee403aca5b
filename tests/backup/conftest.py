"""Deployments on either engine, to back up and to restore into."""

import asyncio
import itertools
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import quote

import httpx
import psycopg
import pytest
from tools.postgres_server import PostgresServer

from strongroom.access.sandbox import SandboxKeys
from strongroom.app import Application
from strongroom.backup import areas
from strongroom.backup.making import back_up
from strongroom.backup.manifest import Manifest
from strongroom.backup.restoring import restore
from strongroom.backup.verifying import verify_databases
from strongroom.runtime.secret import ServerSecret
from strongroom.runtime.settings import Settings, load
from strongroom.storage import Row, Transaction

AREAS = ("access", "keystore", "vault")
BASE_URL = "http://127.0.0.1:8000"

_numbers = itertools.count(1)


def unheard(area: str, table: str, rows: int) -> None:
    """Progress that nobody listens to."""


@dataclass
class Running:
    """The service in process."""

    application: Application
    keys: SandboxKeys
    http: httpx.AsyncClient

    async def call(self, method: str, path: str, body: Any = None, auth: str | None = None) -> httpx.Response:
        headers = {"Service-Subscription-Key": self.keys.subscription_key}
        if auth is not None:
            headers["Authorization"] = auth
        return await self.http.request(method, path, json=body, headers=headers)

    async def made(self, method: str, path: str, body: Any = None, auth: str | None = None) -> dict[str, Any]:
        """The body of an answer that says it is done."""
        answer = await self.call(method, path, body, auth)
        assert answer.status_code in (200, 201), answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def token(self, path: str = "/keystore/admission_tokens") -> str:
        made = await self.made("POST", path, auth=self.keys.provider_api_key)
        found: str = made["admission_token"]["token_value"]
        return found

    async def create_user(self, username: str, passphrase: str, token: str | None = None) -> str:
        """A new user's id."""
        body = {"admission_token": token or await self.token(), "username": username, "passphrase": passphrase}
        found: str = (await self.made("POST", "/keystore/users", body))["user"]["id"]
        return found

    async def log_in(self, username: str, passphrase: str) -> str:
        made = await self.made("POST", "/keystore/session", {"username": username, "passphrase": passphrase})
        found: str = made["session"]["session_authentication_string"]
        return found


class Deployment:
    """Settings of a service that is running or not: a data folder, and databases of one engine."""

    def __init__(self, folder: Path, engine: str, urls: dict[str, str], **settings: str) -> None:
        self.folder = folder
        self.engine = engine
        self.given = {"data": str(folder), "access_log": "off"} | urls | settings

    @property
    def settings(self) -> Settings:
        return load({}, self.given)

    @property
    def secret(self) -> ServerSecret:
        found = areas.read_secret(self.settings)
        assert found is not None
        return found

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Running]:
        application = Application(self.settings)
        try:
            await application.start(warm=False)
            keys = await application.ensure_sandbox()
            transport = httpx.ASGITransport(application)
            async with httpx.AsyncClient(transport=transport, base_url=BASE_URL) as http:
                yield Running(application, keys, http)
        finally:
            await application.close()

    def take_secret_of(self, other: "Deployment") -> None:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        shutil.copy(other.folder / "secret", self.folder / "secret")

    async def back_up(self, target: Path) -> Manifest:
        return await back_up(self.settings, self.secret, target, unheard)

    async def restore(self, source: Path) -> Manifest:
        return await restore(self.settings, self.secret, source, unheard)

    def change(self, area: str, statements: str) -> None:
        """SQL on the SQLite file of an area."""
        with closing(sqlite3.connect(self.folder / f"{area}.sqlite")) as connection:
            connection.executescript(statements)

    async def execute(self, area: str, *statements: str) -> None:
        """SQL on the database of an area, on either engine."""
        if self.engine == "sqlite":
            self.change(area, ";".join(statements))
            return
        async with await psycopg.AsyncConnection.connect(self.settings.database(area), autocommit=True) as connection:
            for statement in statements:
                await connection.execute(statement.encode())

    async def found_after(self, changes: dict[str, str]) -> list[str]:
        """What verify says after changes of SQLite files, by area, that are taken back."""
        files = {area: self.folder / f"{area}.sqlite" for area in changes}
        whole = {area: file.read_bytes() for area, file in files.items()}
        for area, statements in changes.items():
            self.change(area, statements)
        found = await verify_databases(self.settings, unheard, self.secret)
        for area, file in files.items():
            file.write_bytes(whole[area])
        return found

    async def rows(self) -> dict[str, list[Row]]:
        """Everything there is, in an order that does not depend on the engine."""
        opened = await areas.snapshots(self.settings)
        try:
            found = {}
            for area, snapshot in opened.items():
                for table in await snapshot.tables():
                    rows = [row async for batch in snapshot.rows(table) for row in batch]
                    found[f"{area}.{table.name}"] = sorted(rows, key=repr)
            return found
        finally:
            await areas.close(opened)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    with PostgresServer() as server:
        yield server


@pytest.fixture
def deployment(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Deployment]:
    """A new deployment with empty databases of an engine."""

    def make(engine: str, **settings: str) -> Deployment:
        number, urls = next(_numbers), {}
        if engine == "postgresql":
            server = request.getfixturevalue("postgres_server")
            for area in AREAS:
                option = quote(f"-csearch_path=d{number}_{area}", safe="")
                urls[f"{area}_database"] = f"{server.url()}&options={option}"
        return Deployment(tmp_path / f"deployment-{number}", engine, urls, **settings)

    return make


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@dataclass
class Populated:
    """What a user left in a deployment, and the credentials that were good at the time of the backup."""

    deployment: Deployment
    archive: Path
    passphrase: str
    keystore_session: str
    vault_session: str
    unused_vault_session: str
    """Its string was read and never sent: no row knows it."""
    spent_token: str
    claimed_token: str
    """Of the key store, used at the vault."""
    unused_tokens: dict[str, str]
    """By the path that issued them."""
    external_token: str
    """Endpoint 9's, of `bea`, who has no vault account yet."""
    stored: dict[str, Any]
    """By path, what reads of `ada` answered."""


Populate: TypeAlias = Callable[[Deployment, Path], Coroutine[Any, Any, Populated]]


@pytest.fixture(scope="session")
def populate(
    sealed: Callable[..., str],
    login_secret: Callable[..., str],
    public_pem: Callable[..., str],
    opened: Callable[..., str],
) -> Populate:
    """Fill a deployment: one user with everything, backed up while the service runs."""
    return partial(_populate, sealed, login_secret, public_pem, opened)


@pytest.fixture(scope="session")
def populated_files(populate: Populate, tmp_path_factory: pytest.TempPathFactory) -> Populated:
    """On SQLite, once: to be copied and not to be changed."""
    folder = tmp_path_factory.mktemp("populated")
    return asyncio.run(populate(Deployment(folder / "deployment", "sqlite", {}), folder / "archive.zip"))


@pytest.fixture
async def populated(
    engine: str,
    deployment: Callable[..., Deployment],
    tmp_path: Path,
    populate: Populate,
    populated_files: Populated,
) -> Populated:
    """A deployment of the test's own that holds what `populate` leaves, and its archive."""
    made, archive = deployment(engine), tmp_path / "archive.zip"
    if engine != "sqlite":
        return await populate(made, archive)
    shutil.copytree(populated_files.deployment.folder, made.folder)
    shutil.copy(populated_files.archive, archive)
    return replace(populated_files, deployment=made, archive=archive)


async def _populate(
    sealed: Callable[..., str],
    login_secret: Callable[..., str],
    public_pem: Callable[..., str],
    opened: Callable[..., str],
    made: Deployment,
    archive: Path,
) -> Populated:
    passphrase = login_secret()
    async with made.running() as service:
        spent = await service.token()
        await service.create_user("ada", passphrase, spent)
        session = await service.log_in("ada", passphrase)
        keypair = {
            "public_key": public_pem("ada"),
            "encrypted_serialized_key": sealed(),
            "external_identifiers": ["vault", "spare"],
            "metadata": {"é": "\U0001f511", "n": 1},
        }
        await service.made("POST", "/keystore/keypairs", keypair, session)
        key = {"serialized_key_encryption_key": sealed()}
        await service.made("POST", "/keystore/key_encryption_key", key, session)
        artefacts = {"derivation_artefacts": "a", "verification_artefacts": "b"}
        await service.made("POST", "/keystore/passphrase_derivation_artefact", artefacts, session)
        for _ in range(3):
            key = {"serialized_data_encryption_key": sealed()}
            await service.made("POST", "/keystore/data_encryption_keys", key, session)
        external = await _external(service, session)
        body = {"user": {"public_key": public_pem("ada"), "admission_token": external}}
        login = await service.made("POST", "/vault/me", body)
        vault_session = opened(login["encrypted_session_authentication_string"], "ada")
        await service.made("GET", "/vault/classification_nodes", None, vault_session)
        again = await service.made("POST", "/vault/session", {"public_key": public_pem("ada")})
        unused = opened(again["session"]["encrypted_session_authentication_string"], "ada")
        claimed = await service.token()
        await service.made("POST", "/vault/me", {"user": {"public_key": public_pem("bob"), "admission_token": claimed}})
        await service.create_user("bea", passphrase)
        bea = await service.log_in("bea", passphrase)
        waiting = await _external(service, bea)
        paths = ("/keystore/admission_tokens", "/vault/admission_tokens")
        tokens = {path: await service.token(path) for path in paths}
        reads = ("key_encryption_key", "passphrase_derivation_artefact", "data_encryption_keys", "keypairs")
        stored = {f"/keystore/{name}": await service.made("GET", f"/keystore/{name}", None, session) for name in reads}
        await _developer(service)
        # From a thread, as another process would: nothing of the service's own loop takes part.
        await asyncio.to_thread(asyncio.run, made.back_up(archive))
    return Populated(made, archive, passphrase, session, vault_session, unused, spent, claimed, tokens, waiting, stored)


DEVELOPER = (
    (
        "INSERT INTO developers (id, email, name, password_hash, created_at, password_changed_at, totp_last_step)"
        " VALUES (:id, 'dev@example.org', 'Dev', 'hash', 1, 1, 0)"
    ),
    "INSERT INTO developer_emails VALUES ('dev@example.org', :id)",
    "INSERT INTO memberships (provider_id, developer_id, role, created_at) VALUES (:provider, :id, 'owner', 1)",
    "INSERT INTO recovery_codes (developer_id, code_hash) VALUES (:id, :hash)",
    "INSERT INTO sign_ups VALUES (:hash, 'new@example.org', 'New', 'hash', 9)",
    "INSERT INTO developer_links VALUES (:hash, 'reset', :id, 'dev@example.org', 9)",
    "INSERT INTO developer_sessions VALUES (:hash, :id, :id, 'full', 'agent', 1, 1, 9)",
    "INSERT INTO passkey_challenges VALUES (:hash, 'sign_in', :id, 9)",
    "INSERT INTO mails VALUES (:id, :hash, 1, 0, 9)",
    "INSERT INTO invitations VALUES (:hash, :provider, :id, 'new@example.org', 'member', :id, 1, 9)",
    "INSERT INTO shown_once VALUES (:id, :id, :provider, :hash, 9)",
)


async def _developer(service: Running) -> None:
    """Somebody who is signed in to the portal, with a row in every table that a restore empties."""
    portal = service.application.portal
    assert portal is not None
    provider = await service.application.access.read(lambda tx: tx.one("SELECT id FROM providers"))
    assert provider is not None
    held = {"id": b"d" * 16, "hash": b"h" * 32, "provider": provider[0]}

    async def store(tx: Transaction) -> None:
        for statement in DEVELOPER:
            await tx.run(statement, **{name: value for name, value in held.items() if f":{name}" in statement})

    await portal.store.write(store)


async def _external(service: Running, session: str) -> str:
    made = await service.made("GET", "/keystore/external_admission_tokens", None, session)
    found: str = next(iter(made.values()))["vault_api_admission_token"]
    return found
