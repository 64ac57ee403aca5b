"""One service in this process: bind, open, announce, serve, and end gracefully on a signal."""

import asyncio
import gc
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import TypeAlias

from strongroom.access.sandbox import NAME, NotOurs
from strongroom.app import Application
from strongroom.cli.output import Failed, SettingRefused
from strongroom.cli.workers import Ready, Supervisor, end_now
from strongroom.http.client_address import TrustedProxies
from strongroom.http.limits import Limits
from strongroom.http.server import BACKLOG, Server, bind, fast_loop, stop_on_signals
from strongroom.runtime.logging import configure
from strongroom.runtime.settings import Settings

_CONNECTIONS_OF_ALL_WORKERS = 16
_LEAST_CONNECTIONS = 2
GARBAGE_AFTER = 10_000
"""Objects more than there were before one looks for garbage."""

Announce: TypeAlias = Callable[[str, dict[str, str]], None]
"""Called once with the base URL and the sandbox keys (none without a sandbox), when requests are taken."""


def run(settings: Settings, sandbox: bool, announce: Announce, workers: int = 1) -> None:
    """Serve until SIGINT or SIGTERM, which end the process with exit code 0; `Failed` where it cannot start."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end_now)
    configure(settings.log_level)
    # Bound before anything is built: with port 0 only the socket knows what image URLs have to say.
    with _listening_on(settings):
        listener = bind(settings.host, settings.port)
    try:
        settings = replace(settings, port=listener.getsockname()[1])
        if workers == 1:
            _run_here(settings, sandbox, announce, listener)
            return
        settings = shared_out(settings, workers)
        listener.listen(BACKLOG)
        base_url = settings.base_url

        def work(ready: Ready) -> None:
            _run_here(settings, sandbox, lambda _, keys: ready(keys), listener, shares_socket=True)

        Supervisor(workers, work).run(lambda keys: announce(base_url, keys))
    finally:
        listener.close()


def shared_out(settings: Settings, workers: int) -> Settings:
    """The settings of each of several workers: a share of the cores, and of the connections a database gets used to.

    Eight workers with three databases stay far below the hundred connections that PostgreSQL takes by default.
    """
    return replace(
        settings,
        hashing_workers=settings.hashing_workers or max(1, (os.cpu_count() or 1) // workers),
        database_connections=settings.database_connections
        or max(_LEAST_CONNECTIONS, _CONNECTIONS_OF_ALL_WORKERS // workers),
    )


def _run_here(
    settings: Settings, sandbox: bool, announce: Announce, listener: socket.socket, *, shares_socket: bool = False
) -> None:
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        runner.run(_serve(settings, sandbox, announce, listener, shares_socket))


async def _serve(
    settings: Settings, sandbox: bool, announce: Announce, listener: socket.socket, shares_socket: bool
) -> None:
    application = _open(settings)
    try:
        keys = asdict(await application.ensure_sandbox()) if sandbox else {}
        server = Server(
            application,
            Limits(
                header_seconds=settings.header_timeout,
                discard_seconds=settings.body_timeout,
                connections=settings.connections,
                connections_per_network=settings.connections_per_network,
                shutdown_seconds=settings.shutdown_timeout,
            ),
            base_url=settings.base_url,
            proxies=TrustedProxies(settings.trusted_proxies),
            shares_socket=shares_socket,
        )
        await application.start()
        stop_on_signals(server)
        with _listening_on(settings):
            listener.listen(BACKLOG)
        await server.serve(listener, lambda: _listening(announce, settings.base_url, keys))
    except NotOurs:
        raise Failed(
            f"no sandbox: there is a provider called “{NAME}” that was closed, or made otherwise or with another "
            "server secret. Start without --sandbox, or with another data folder."
        ) from None
    finally:
        await application.close()


def _listening(announce: Announce, base_url: str, keys: dict[str, str]) -> None:
    # What was made until now stays to the end: the collector need not look through it while requests wait.
    gc.collect()
    gc.freeze()
    # Requests leave nothing that goes in circles, so that looking for it as often as usual finds what is in use.
    gc.set_threshold(GARBAGE_AFTER)
    announce(base_url, keys)


def _open(settings: Settings) -> Application:
    try:
        return Application(settings)
    except OSError as error:
        raise Failed(f"the data folder cannot be used: {error.strerror}") from None
    except ValueError as error:  # of the server secret, which the message does not repeat
        raise SettingRefused(str(error)) from None


@contextmanager
def _listening_on(settings: Settings) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or "no such address"
        raise Failed(f"cannot listen on {settings.host} port {settings.port}: {reason}") from None
