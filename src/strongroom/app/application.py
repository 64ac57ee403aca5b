"""The service as one ASGI application."""

import asyncio
import logging
from collections.abc import Iterable
from functools import partial
from importlib.resources import files
from typing import TextIO

from strongroom.access import sandbox
from strongroom.app.between_areas import BetweenAreas
from strongroom.app.credentials import Credentials
from strongroom.app.upkeep import Upkeep
from strongroom.crypto.names import canonical_realm, realm_tag
from strongroom.http.asgi import Application as Asgi
from strongroom.http.asgi import Receive, Scope, Send
from strongroom.http.cors import CrossOrigin
from strongroom.http.door import Door
from strongroom.http.routing import Route, routes
from strongroom.http.system import SystemApi
from strongroom.keystore import maintenance as keystore_maintenance
from strongroom.keystore.api import KeystoreApi
from strongroom.keystore.area import Keystore
from strongroom.keystore.user_directory import KeystoreUsers
from strongroom.portal import assembly as portal_assembly
from strongroom.portal import maintenance as portal_maintenance
from strongroom.portal.area import PREFIX as PORTAL
from strongroom.portal.area import Portal
from strongroom.runtime.clock import SECOND, Clock, SystemClock
from strongroom.runtime.logging import LOGGER, AccessLog
from strongroom.runtime.secret import ServerSecret, load_or_create, parse
from strongroom.runtime.settings import Settings
from strongroom.services.passphrase_hashing import PassphraseHasher
from strongroom.services.usage import UsageCounter
from strongroom.services.user_metadata import UserDirectory
from strongroom.storage import Store
from strongroom.storage.data_locks import DataLocks
from strongroom.storage.open import open_store
from strongroom.vault import maintenance as vault_maintenance
from strongroom.vault.api import VaultApi
from strongroom.vault.area import Vault
from strongroom.vault.importing import ensure_shipped
from strongroom.vault.user_directory import VaultUsers
from strongroom.version import __version__
from strongroom.wire import keystore as keystore_wire
from strongroom.wire import system as system_wire
from strongroom.wire import vault as vault_wire
from strongroom.wire.endpoint import AnyEndpoint

_logger = logging.getLogger(LOGGER)


class Application:
    """The service as an ASGI application: the areas the settings name, their databases, and the door before them."""

    def __init__(self, settings: Settings, *, clock: Clock | None = None, log_stream: TextIO | None = None) -> None:
        """Opens what is on this machine; databases that answer over a network are opened by `start`.

        `InUse`, `Exposed`, `SettingsError`, `SchemaError` or `Unavailable` say what stands in the way.
        """
        self.settings = settings
        self.clock = clock or SystemClock()
        self._locks = DataLocks(settings.data, settings.sqlite_areas)
        try:
            self._assemble(log_stream)
        except BaseException:
            self._locks.release()  # another attempt in this process may go better
            raise

    def _assemble(self, log_stream: TextIO | None) -> None:
        settings = self.settings
        self.secret = _secret(settings)
        self._tasks: list[asyncio.Task[None]] = []
        self._stores: list[Store] = []
        self.usage = UsageCounter()
        self.access = self._open("access")
        self.upkeep = Upkeep(self.access, self.clock, self.usage)
        self._between = BetweenAreas(settings.other_area_url, self.secret)
        self.keystore = self._between.keystore = self._make_keystore() if "keystore" in settings.areas else None
        self.vault = self._between.vault = self._make_vault() if "vault" in settings.areas else None
        self.portal = self._make_portal() if "portal" in settings.areas else None
        self._access_log = AccessLog(log_stream) if settings.access_log else None
        self._pages = None if self.portal is None else portal_assembly.Pages(self.portal, self._access_log)
        self._add_chores()
        credentials = Credentials(self.access, self.clock, self.secret, self.usage, self.keystore, self.vault)
        door = Door(
            self._routes(),
            authenticate_subscription=credentials.subscription,
            authenticate=credentials.by_kind(),
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

        Without `warm` the first login of an unknown name takes twice as long: for tests, where that reveals nothing.
        `SchemaError` or `Unavailable` say what stands in the way.
        """
        for store in self._stores:
            await store.open()
        if self.vault is not None:
            await ensure_shipped(self.vault.store, self.clock.now())
        if not self._between.is_complete:
            _logger.warning("other_area_url is not set: what needs the other area is answered 503")
        self._tasks += self.upkeep.start()
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
        await self.upkeep.store_usage()
        await self._between.close()
        if self.keystore is not None:
            self.keystore.passphrases.close()
        if self.portal is not None:
            self.portal.passwords.close()
        for store in self._stores:
            await store.close()
        if self._access_log is not None:
            self._access_log.flush()
        self._locks.release()

    async def ensure_sandbox(self) -> sandbox.SandboxKeys:
        """The sandbox provider and its keys, made unless they are there."""
        now = self.clock.now()
        return await self.access.write(lambda tx: sandbox.ensure(tx, self.secret, now))

    async def check(self) -> None:
        """`Unavailable` unless every database answers and takes writes."""
        for store in self._stores:
            await store.check()

    def _open(self, name: str) -> Store:
        folder = files(f"strongroom.{name}") / "migrations"
        database, connections = self.settings.database(name), self.settings.database_connections
        store = open_store(database, name, folder, connections=connections)
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
            issue_vault_admission_token=self._between.issue_vault_admission_token,
        )

    def _make_vault(self) -> Vault:
        settings = self.settings
        return Vault(
            store=self._open("vault"),
            clock=self.clock,
            secret=self.secret,
            public_url=settings.base_url,
            realm_tag=realm_tag(canonical_realm(settings.base_url)),
            session_lifetime=settings.vault_session_lifetime * SECOND,
            admission_token_lifetime=settings.admission_token_lifetime * SECOND,
            first_use_window=settings.vault_first_use_window * SECOND,
            claim_admission_token=self._between.claim_admission_token,
        )

    def _make_portal(self) -> Portal:
        return portal_assembly.make(
            self.settings,
            store=self.access,
            clock=self.clock,
            secret=self.secret,
            directories=self._directories(),
        )

    def _directories(self) -> dict[str, UserDirectory]:
        found: dict[str, UserDirectory] = {}
        if self.keystore is not None:
            found["keystore"] = KeystoreUsers(self.keystore.store, self.clock)
        if self.vault is not None:
            found["vault"] = VaultUsers(self.vault.store, self.clock)
        return found

    def _add_chores(self) -> None:
        if self.keystore is not None:
            self.upkeep.add(partial(keystore_maintenance.prune, self.keystore))
        if self.vault is not None:
            self.upkeep.add(partial(vault_maintenance.prune, self.vault))
        if self.portal is not None:
            self.upkeep.add(
                partial(portal_maintenance.prune, self.portal), partial(portal_assembly.remind, self.portal)
            )

    def _routes(self) -> Iterable[Route]:
        tables: dict[str, Iterable[AnyEndpoint]] = {}
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


def _secret(settings: Settings) -> ServerSecret:
    current = parse(settings.secret) if settings.secret else load_or_create(settings.data / "secret")
    return ServerSecret(current, parse(settings.previous_secret) if settings.previous_secret else None)
