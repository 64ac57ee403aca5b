"""Rules that one statement cannot keep alone, with many at once, on both engines."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from strongroom.access import providers, sandbox, subscriptions
from strongroom.keystore import session, users
from strongroom.keystore.user_directory import KeystoreUsers
from strongroom.runtime.clock import MovableClock
from strongroom.runtime.principals import KeystoreSession
from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Store, Transaction
from strongroom.storage.open import open_store
from strongroom.wire.keystore import Session
from strongroom.wire.refusal import Refused

if TYPE_CHECKING:
    from tools.postgres_server import PostgresServer

pytestmark = pytest.mark.anyio

NOW = 1_800_000_000_000
PROVIDER = b"\x01" * 16
SUBSCRIPTION_KEYS = "SELECT slot FROM subscription_keys WHERE expires_at IS NULL ORDER BY slot"
PUT_USER = """
INSERT INTO users (id, provider_id, username, canonical_username, passphrase_hash, passphrase_generation, created_at)
VALUES (:id, :provider_id, 'ada', 'ada', 'hash', 1, 0)
"""


async def opened(area: str, engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> Store:
    database = f"sqlite:{tmp_path / 'races.sqlite'}"
    if engine == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        database = f"{server.url()}&options=-csearch_path%3Draces_{tmp_path.name.lower().replace('-', '_')}"
    store = open_store(database, area, files(f"strongroom.{area}") / "migrations")
    await store.open()
    # Connections are made when they are needed: here they are to be there when the race begins.
    await asyncio.gather(*(store.check() for _ in range(16)))
    return store


@pytest.fixture
async def access(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    store = await opened("access", engine, tmp_path, request)
    yield store
    await store.close()


@pytest.fixture
async def keystore(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    store = await opened("keystore", engine, tmp_path, request)
    yield store
    await store.close()


async def test_a_provider_never_gets_a_third_key(access: Store) -> None:
    provider = await access.write(lambda tx: providers.create(tx, "acme", NOW))
    outcomes = await asyncio.gather(
        *(access.write(lambda tx: providers.create_key(tx, provider, "key", NOW)) for _ in range(16)),
        return_exceptions=True,
    )
    assert sum(isinstance(outcome, str) for outcome in outcomes) == providers.MAX_ACTIVE_KEYS
    assert sum(isinstance(outcome, providers.TooManyKeys) for outcome in outcomes) == 14
    assert len(await access.read(lambda tx: providers.keys_of(tx, provider))) == providers.MAX_ACTIVE_KEYS


async def test_a_slot_never_has_two_keys_in_force(access: Store) -> None:
    made = await access.write(lambda tx: subscriptions.create(tx, PROVIDER, "first", NOW))
    await asyncio.gather(
        *(
            access.write(lambda tx: subscriptions.regenerate(tx, PROVIDER, made.id, "primary", NOW, 1000))
            for _ in range(16)
        )
    )
    assert await access.read(lambda tx: tx.all(SUBSCRIPTION_KEYS)) == [("primary",), ("secondary",)]


async def test_a_name_is_given_once(access: Store) -> None:
    outcomes = await asyncio.gather(
        *(access.write(lambda tx: providers.create(tx, "acme", NOW)) for _ in range(16)), return_exceptions=True
    )
    assert sum(isinstance(outcome, bytes) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, providers.NameTaken) for outcome in outcomes) == 15


async def test_the_sandbox_is_made_once(access: Store) -> None:
    secret = ServerSecret(b"s" * 32)
    made = await asyncio.gather(*(access.write(lambda tx: sandbox.ensure(tx, secret, NOW)) for _ in range(8)))
    assert len({keys.subscription_key for keys in made}) == 1
    assert len(await access.read(providers.list_all)) == 1


async def test_nothing_is_written_for_a_session_after_its_acknowledged_end(keystore: Store) -> None:
    user = await put_user(keystore)
    for _ in range(8):
        made = await keystore.write(partial(log_in, user))
        who = await keystore.read(partial(authenticate, made.session_authentication_string))
        moments = Moments(keystore, who)
        outcomes = await asyncio.gather(
            *(moments.write() for _ in range(6)), moments.end(), *(moments.write() for _ in range(6))
        )
        assert "written too late" not in outcomes
        assert outcomes[6] == "refused"


class Moments:
    """Writes for a session, and its end, at the same time."""

    def __init__(self, store: Store, who: KeystoreSession) -> None:
        self._store, self._who, self._ended = store, who, False

    async def write(self) -> str:
        ended = self._ended
        try:
            await self._store.write(self._work)
        except Refused:
            return "refused"
        return "written too late" if ended else "written"

    async def end(self) -> str:
        await self._store.write(lambda tx: session.revoke(tx, self._who, NOW))
        self._ended = True
        return await self.write()

    async def _work(self, tx: Transaction) -> None:
        await session.recheck(tx, self._who, NOW)
        await tx.one("SELECT 1")


async def put_user(store: Store) -> users.StoredKeystoreUser:
    user_id = b"\x02" * 16
    await store.write(lambda tx: tx.execute(PUT_USER, id=user_id, provider_id=PROVIDER))
    return users.StoredKeystoreUser(user_id, "ada", "hash", 1, None)


async def log_in(user: users.StoredKeystoreUser, tx: Transaction, renewed_hash: str | None = None) -> Session:
    return await session.create(tx, provider_id=PROVIDER, user=user, renewed_hash=renewed_hash, now=NOW, lifetime=1000)


async def authenticate(text: str, tx: Transaction) -> KeystoreSession:
    return await session.authenticate(tx, PROVIDER, session.parse(text), NOW)


async def test_many_logins_that_renew_the_hash_do_not_stand_in_each_others_way(keystore: Store) -> None:
    user = await put_user(keystore)
    await asyncio.gather(
        *(keystore.write(partial(log_in, user, renewed_hash=f"hash {number}")) for number in range(16))
    )
    assert await keystore.read(lambda tx: tx.one("SELECT count(*) FROM sessions")) == (16,)


async def test_suspending_beside_writes_locks_in_one_order(
    keystore: Store, engine: str, request: pytest.FixtureRequest
) -> None:
    # The user's row, session rows, the rest: the other way round, suspending and a write wait for each other.
    def deadlocks() -> int:
        if engine != "postgresql":
            return 0
        server: PostgresServer = request.getfixturevalue("postgres_server")
        return server.log.read_text().count("deadlock detected")

    user = await put_user(keystore)
    directory = KeystoreUsers(keystore, MovableClock())
    before = deadlocks()
    for _ in range(60):
        made = [await keystore.write(partial(log_in, user)) for _ in range(4)]
        holders = [await keystore.read(partial(authenticate, one.session_authentication_string)) for one in made]
        *_, suspended = await asyncio.gather(
            *(Moments(keystore, who).write() for who in holders), directory.suspend(PROVIDER, user.id)
        )
        assert suspended is True
        assert await directory.resume(PROVIDER, user.id)
    assert deadlocks() == before
