"""Puts the areas together: the only module that knows more than one of them."""

import asyncio
import contextlib
import fcntl
import logging
import os
from collections.abc import Awaitable, Callable, Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any, TextIO

from strongroom.access import providers, sandbox, subscriptions
from strongroom.access import usage as access_usage
from strongroom.crypto.names import canonical_realm
from strongroom.keystore import maintenance as keystore_maintenance
from strongroom.keystore import session as keystore_session
from strongroom.keystore.api import KeystoreApi
from strongroom.keystore.area import IssueVaultAdmissionToken, Keystore
from strongroom.keystore.user_directory import KeystoreUsers
from strongroom.portal import assembly as portal_assembly
from strongroom.portal import maintenance as portal_maintenance
from strongroom.portal.area import PREFIX as PORTAL
from strongroom.portal.area import Portal
from strongroom.server import peer
from strongroom.server.asgi import Application as Asgi
from strongroom.server.asgi import Receive, Scope, Send
from strongroom.server.clock import SECOND, Clock, SystemClock
from strongroom.server.cors import CrossOrigin
from strongroom.server.db import Store, Unavailable
from strongroom.server.db.open import open_store
from strongroom.server.door import Authenticate, Door, Route, routes
from strongroom.server.ids import to_text
from strongroom.server.logging import LOGGER, AccessLog
from strongroom.server.passphrases import PassphraseHasher
from strongroom.server.principals import KeystoreSession, Provider, Service, Subscription, VaultSession
from strongroom.server.secret import ServerSecret, load_or_create, parse
from strongroom.server.settings import Settings, is_postgres
from strongroom.server.system import SystemApi
from strongroom.server.usage import UsageCounter
from strongroom.server.user_metadata import UserDirectory
from strongroom.vault import admission_tokens as vault_admission_tokens
from strongroom.vault import maintenance as vault_maintenance
from strongroom.vault import session as vault_session
from strongroom.vault.api import VaultApi
from strongroom.vault.area import ClaimAdmissionToken, Vault
from strongroom.vault.importing import ensure_shipped
from strongroom.vault.user_directory import VaultUsers
from strongroom.version import __version__
from strongroom.wire import keystore as keystore_wire
from strongroom.wire import system as system_wire
from strongroom.wire import vault as vault_wire
from strongroom.wire.endpoint import Credential, Endpoint, NoBody

PRUNE_SECONDS = 600
STORE_USAGE_SECONDS = 10
FIRST_PRUNE_SECONDS = 30

_logger = logging.getLogger(LOGGER)


class InUse(Exception):
    """Another process serves this data folder: SQLite has one writer."""


class Application:
    """The service as an ASGI application: the areas the settings name, their databases, and the door before them."""

    def __init__(self, settings: Settings, *, clock: Clock | None = None, log_stream: TextIO | None = None) -> None:
        """Opens what is on this machine; databases that answer over a network are opened by `start`.

        `InUse`, `Exposed`, `SettingsError`, `SchemaError` or `Unavailable` say what stands in the way.
        """
        self.settings = settings
        self.clock = clock or SystemClock()
        self._closing = contextlib.AsyncExitStack()
        self._locks = _lock(settings)
        try:
            self._assemble(log_stream)
        except BaseException:
            self._unlock()  # another attempt in this process may go better
            raise

    def _assemble(self, log_stream: TextIO | None) -> None:
        settings = self.settings
        self.secret = _secret(settings)
        self._tasks: list[asyncio.Task[None]] = []
        self._stores: list[Store] = []
        self.usage = UsageCounter()
        self._counted_since = self.clock.now()
        self.access = self._open("access")
        self._peer: peer.Peer | None = None
        self.keystore = self._make_keystore() if "keystore" in settings.areas else None
        self.vault = self._make_vault() if "vault" in settings.areas else None
        self.portal = self._make_portal() if "portal" in settings.areas else None
        self._access_log = AccessLog(log_stream) if settings.access_log else None
        self._pages = None if self.portal is None else portal_assembly.Pages(self.portal, self._access_log)
        door = Door(
            self._routes(),
            authenticate_subscription=self._subscription,
            authenticate=self._credentials(),
            public_url=settings.base_url,
            body_timeout=settings.body_timeout,
            access_log=self._access_log,
            usage=self.usage,
        )
        self._door: Asgi = CrossOrigin(door, settings.cors_origins) if settings.cors_origins else door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            if self._pages is not None and self._pages.hold(scope["path"]):
                await self._pages(scope, receive, send)
            else:
                await self._door(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._lifespan(receive, send)

    async def start(self, *, warm: bool = True) -> None:
        """What has to be there before the first request: databases up to date, the shipped classification nodes.

        Without `warm` the first login of an unknown name takes twice as long: for tests, where it tells nobody.
        `SchemaError` or `Unavailable` say what stands in the way.
        """
        for store in self._stores:
            await store.open()
        if self.vault is not None:
            await ensure_shipped(self.vault.store, self.clock.now())
        if (self.keystore is None) is not (self.vault is None) and self.settings.other_area_url is None:
            _logger.warning("other_area_url is not set: what needs the other area is answered 503")
        self._tasks.append(asyncio.create_task(self._maintain()))
        self._tasks.append(asyncio.create_task(self._store_usage()))
        if warm and self.keystore is not None:
            self._tasks.append(asyncio.create_task(self.keystore.passphrases.warm()))
        if self.portal is not None:
            self._tasks.append(asyncio.create_task(self.portal.mail.run()))
        if warm and self._pages is not None:
            self._tasks.append(asyncio.create_task(self._pages.warm()))

    async def close(self) -> None:
        """Finish what was accepted and let go of the databases."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        await self.store_usage()
        if self._peer is not None:
            await self._peer.close()
        if self.keystore is not None:
            self.keystore.passphrases.close()
        if self.portal is not None:
            self.portal.passwords.close()
        for store in self._stores:
            await store.close()
        if self._access_log is not None:
            self._access_log.flush()
        self._unlock()

    async def ensure_sandbox(self) -> sandbox.SandboxKeys:
        """The sandbox provider and its keys, made unless they are there."""
        now = self.clock.now()
        return await self.access.write(lambda tx: sandbox.ensure(tx, self.secret, now))

    async def store_usage(self) -> None:
        """Put what was counted since the last time into the access database; kept for later if it cannot answer."""
        counts, since = self.usage.take(), self._counted_since
        self._counted_since = self.clock.now()
        if not counts:
            return
        try:
            await self.access.write(lambda tx: access_usage.store(tx, counts, since))
        except Unavailable as error:
            _logger.warning("usage put off", extra={"cause": type(error.__cause__).__name__})
            self.usage.put_back(counts)

    async def check(self) -> None:
        """`Unavailable` unless every database answers and takes writes."""
        for store in self._stores:
            await store.check()

    def _unlock(self) -> None:
        for lock in self._locks:
            os.close(lock)
        self._locks.clear()

    def _open(self, area: str) -> Store:
        folder = files(f"strongroom.{area}") / "migrations"
        database, connections = self.settings.database(area), self.settings.database_connections
        store = open_store(database, area, folder, connections=connections)
        self._stores.append(store)
        return store

    def _make_keystore(self) -> Keystore:
        settings = self.settings
        return Keystore(
            store=self._open("keystore"),
            clock=self.clock,
            passphrases=PassphraseHasher(self.secret, settings.hashing_workers, settings.hashing_queue),
            session_lifetime=settings.keystore_session_lifetime * SECOND,
            admission_token_lifetime=settings.admission_token_lifetime * SECOND,
            issue_vault_admission_token=self._issue_vault_admission_token(),
        )

    def _make_vault(self) -> Vault:
        settings = self.settings
        return Vault(
            store=self._open("vault"),
            clock=self.clock,
            secret=self.secret,
            public_url=settings.base_url,
            realm=canonical_realm(settings.base_url),
            claim_admission_token=self._claim_admission_token(),
            session_lifetime_ms=settings.vault_session_lifetime * SECOND,
            admission_token_lifetime_ms=settings.admission_token_lifetime * SECOND,
            first_use_window_ms=settings.vault_first_use_window * SECOND,
        )

    def _make_portal(self) -> Portal:
        return portal_assembly.make(
            self.settings,
            open_store=lambda: self._open("portal"),
            access=self.access,
            clock=self.clock,
            secret=self.secret,
            directories=self._directories(),
        )

    def _directories(self) -> dict[str, UserDirectory]:
        found: dict[str, UserDirectory] = {}
        if self.keystore is not None:
            found["keystore"] = KeystoreUsers(self.keystore)
        if self.vault is not None:
            found["vault"] = VaultUsers(self.vault)
        return found

    def _issue_vault_admission_token(self) -> IssueVaultAdmissionToken:
        """What endpoint 9 needs of the vault."""

        async def here(provider_id: bytes, user_id: bytes, fingerprint: str | None) -> str:
            assert self.vault is not None
            return await vault_admission_tokens.issue_external(self.vault, provider_id, user_id, fingerprint)

        async def there(provider_id: bytes, user_id: bytes, fingerprint: str | None) -> str:
            body = vault_wire.IssueExternalAdmissionToken(to_text(provider_id), to_text(user_id), fingerprint)
            answer = await self._other_area().call(
                vault_wire.ISSUE_EXTERNAL_ADMISSION_TOKEN, body, vault_wire.ExternalAdmissionTokenValue
            )
            return answer.token_value

        return here if "vault" in self.settings.areas else there

    def _claim_admission_token(self) -> ClaimAdmissionToken:
        """What endpoint 10 needs of the key store."""

        async def here(token_value: str, provider_id: bytes, claimant: str) -> None:
            assert self.keystore is not None
            await KeystoreApi(self.keystore).claim(token_value, provider_id, claimant)

        async def there(token_value: str, provider_id: bytes, claimant: str) -> None:
            body = keystore_wire.ClaimAdmissionToken(token_value, to_text(provider_id), claimant)
            await self._other_area().call(keystore_wire.CLAIM_ADMISSION_TOKEN, body, NoBody)

        return here if "keystore" in self.settings.areas else there

    def _other_area(self) -> peer.Peer:
        if self._peer is None:
            if self.settings.other_area_url is None:
                raise Unavailable from LookupError("other_area_url is not set")
            self._peer = peer.Peer(self.settings.other_area_url, self.secret)
        return self._peer

    def _routes(self) -> Iterable[Route]:
        tables: dict[str, Iterable[Endpoint]] = {}
        if self.keystore is not None:
            tables["keystore"] = keystore_wire.ENDPOINTS
            yield from routes(keystore_wire.ENDPOINTS, KeystoreApi(self.keystore))
        if self.vault is not None:
            tables["vault"] = vault_wire.ENDPOINTS
            yield from routes(vault_wire.ENDPOINTS, VaultApi(self.vault))
        tables["system"] = system_wire.ENDPOINTS
        system = SystemApi(
            self.check, self.settings.areas, tables, __version__, self.settings.base_url, self._catalogue()
        )
        yield from routes(system_wire.ENDPOINTS, system)

    def _catalogue(self) -> str | None:
        """Where the portal explains refusals, if it is served here."""
        return f"{self.settings.base_url}{PORTAL}/docs/errors/" if "portal" in self.settings.areas else None

    async def _subscription(self, key: str) -> Subscription:
        now = self.clock.now()
        found = await self.access.read(lambda tx: subscriptions.authenticate(tx, key, now))
        hashed = subscriptions.key_hash(key)
        if hashed is not None:
            self.usage.subscription_key_used(hashed, now)
        return found

    def _credentials(self) -> dict[Credential, Authenticate]:
        async def provider(who: Subscription | None, value: str) -> Provider:
            assert who is not None
            now = self.clock.now()
            found = await self.access.read(lambda tx: providers.authenticate(tx, who.provider_id, value, now))
            self.usage.provider_key_used(found.provider_id, found.provider_key_id, now)
            return found

        async def keystore(who: Subscription | None, value: str) -> KeystoreSession:
            assert who is not None
            assert self.keystore is not None
            return await keystore_session.authenticate(self.keystore.store, who.provider_id, value, self.clock.now())

        async def vault(who: Subscription | None, value: str) -> VaultSession:
            assert who is not None
            assert self.vault is not None
            return await vault_session.authenticate(self.vault, who.provider_id, value)

        async def service(_: Subscription | None, value: str) -> Service:
            return peer.authenticate(self.secret, value)

        return {
            Credential.provider: provider,
            Credential.keystore_session: keystore,
            Credential.vault_session: vault,
            Credential.service: service,
        }

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self.start()
        except Exception:
            _logger.exception("start failed")
            await send({"type": "lifespan.startup.failed", "message": ""})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.close()
        await send({"type": "lifespan.shutdown.complete"})

    async def _store_usage(self) -> None:
        while True:
            await asyncio.sleep(STORE_USAGE_SECONDS)
            await self.store_usage()

    async def _prune_usage(self, access: Store) -> int:
        return await access_usage.prune(access, self.clock.now())

    async def _maintain(self) -> None:
        await asyncio.sleep(FIRST_PRUNE_SECONDS)
        while True:
            if self.keystore is not None:
                await _quietly(keystore_maintenance.prune, self.keystore)
            if self.vault is not None:
                await _quietly(vault_maintenance.prune, self.vault)
            if self.portal is not None:
                await _quietly(portal_maintenance.prune, self.portal)
                await _quietly(portal_assembly.remind, self.portal)
            await _quietly(self._prune_usage, self.access)
            await asyncio.sleep(PRUNE_SECONDS)


async def _quietly(work: Callable[[Any], Awaitable[int]], area: Any) -> None:
    try:
        rows = await work(area)
    except Unavailable as error:
        _logger.warning("maintenance put off", extra={"cause": type(error.__cause__).__name__})
    except Exception:
        # One thing that cannot be done must not end everything else that is done from time to time.
        _logger.exception("maintenance failed")
    else:
        _logger.debug("maintained", extra={"rows": rows})


def _secret(settings: Settings) -> ServerSecret:
    current = parse(settings.secret) if settings.secret else load_or_create(settings.data / "secret")
    return ServerSecret(current, parse(settings.previous_secret) if settings.previous_secret else None)


def _lock(settings: Settings) -> list[int]:
    """Make the data folder and hold one lock for each area served from it; PostgreSQL needs none."""
    settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)
    own = [area for area in settings.areas if not is_postgres(settings.database(area))]
    return [_lock_file(settings.data / f"{area}.lock") for area in own]


def _lock_file(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise InUse(
            "another process serves this data folder: SQLite has one writer, so one process serves an area"
        ) from None
    return descriptor
