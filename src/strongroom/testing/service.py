"""A real service in process: both areas on SQLite in a temporary folder, a sandbox provider, a clock to move."""

import asyncio
import shutil
import tempfile
import threading
from collections.abc import Coroutine
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from strongroom.app import Application
from strongroom.runtime.clock import MovableClock
from strongroom.runtime.settings import load
from strongroom.testing.log import CapturedLog
from strongroom.testing.transports import AsyncTransport, Transport

if TYPE_CHECKING:
    from strongroom.client.blocking.service import Strongroom
    from strongroom.client.service import AsyncStrongroom

T = TypeVar("T")

BASE_URL = "http://strongroom.localhost"
# Tests of a client have no use for the developer portal; `areas` brings it back.
DEFAULTS = {"public_url": BASE_URL, "areas": "keystore,vault"}


class Service:
    """A Strongroom service that listens on no port: requests reach it through `transport` and `async_transport`.

    Everything else is real: storage, sessions, hashing, refusals. Use it as a context manager. `settings` are those of
    `serve` in the same spelling, such as `keystore_session_lifetime="5m"`; `folder` keeps the data, otherwise it is
    temporary and removed at the end.
    """

    base_url: str
    """What clients are given; nothing listens there."""
    subscription_key: str
    secondary_subscription_key: str
    inactive_subscription_key: str
    """Of a subscription that was never activated."""
    provider_api_key: str
    transport: Transport
    async_transport: AsyncTransport
    clock: MovableClock
    """The service's clock: `clock.move(seconds)` makes sessions and tokens expire without waiting."""
    folder: Path
    """The data folder."""

    def __init__(self, *, folder: Path | None = None, **settings: str) -> None:
        """Starts nothing yet; `SettingsError` for a setting that is not acceptable."""
        # Only the first login would miss it otherwise.
        import_module("argon2")
        self._temporary = folder is None
        self.folder = folder or Path(tempfile.mkdtemp(prefix="strongroom-"))
        self._settings = load({}, {**DEFAULTS, **settings, "data": str(self.folder)})
        self.base_url = self._settings.base_url
        self.clock = MovableClock()
        self._log = CapturedLog(self._settings.log_level)
        self._loop: asyncio.AbstractEventLoop | None = None

    def __repr__(self) -> str:
        return f"Service({str(self.folder)!r})"

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="strongroom-service", daemon=True)
        self._thread.start()
        self._log.begin()
        try:
            self._application = self._run(self._start())
        except BaseException:
            self._stop()
            raise
        self.transport = Transport(self._application, self._loop)
        self.async_transport = AsyncTransport(self._application, self._loop)
        return self

    def __exit__(self, *error: object) -> None:
        try:
            self._run(self._application.close())
        finally:
            self._stop()

    @property
    def log(self) -> list[str]:
        """The lines logged so far, one JSON object each, as `serve` writes them."""
        return self._log.lines

    def client(self, **options: Any) -> "Strongroom":
        """A client with the sandbox keys; `options` are those of `Strongroom` and come before them."""
        from strongroom.client.blocking.service import Strongroom

        return Strongroom(**self._client_options(self.transport, options))

    def async_client(self, **options: Any) -> "AsyncStrongroom":
        """The same for asyncio."""
        from strongroom.client.service import AsyncStrongroom

        return AsyncStrongroom(**self._client_options(self.async_transport, options))

    def issue_admission_token(self) -> str:
        """An admission token of the sandbox provider, good for one registration."""
        with self.client() as client:
            return client.issue_admission_token()

    def _client_options(self, transport: Any, options: dict[str, Any]) -> dict[str, Any]:
        return {
            "base_url": self.base_url,
            "subscription_key": self.subscription_key,
            "provider_api_key": self.provider_api_key,
            "transport": transport,
            **options,
        }

    async def _start(self) -> Application:
        application = Application(self._settings, clock=self.clock, log_stream=self._log)
        try:
            keys = await application.ensure_sandbox()
            await application.start(warm=False)
        except BaseException:
            await application.close()
            raise
        self.subscription_key = keys.subscription_key
        self.secondary_subscription_key = keys.secondary_subscription_key
        self.inactive_subscription_key = keys.inactive_subscription_key
        self.provider_api_key = keys.provider_api_key
        return application

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _stop(self) -> None:
        assert self._loop is not None
        self._log.end()
        self._run(self._loop.shutdown_default_executor())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = None
        if self._temporary:
            shutil.rmtree(self.folder, ignore_errors=True)
