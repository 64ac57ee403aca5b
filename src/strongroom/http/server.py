"""The HTTP server: asyncio with httptools (`connection.py`), on a socket that was bound before."""

import asyncio
import signal
import socket
from collections.abc import Callable
from email.utils import formatdate

from strongroom.http import refusals
from strongroom.http.acceptor import AT_ONCE, AT_ONCE_WHERE_SHARED, Acceptor
from strongroom.http.asgi import Application
from strongroom.http.client_address import TrustedProxies
from strongroom.http.connection import Connection, Shared
from strongroom.http.limits import Limits

BACKLOG = 2048
"""Connections that may wait to be taken; the system may allow fewer."""
CHECK_SECONDS = 0.25
"""How often the deadlines of all connections are looked at: so much later than said they may end one."""
_FINISHED_SECONDS = 0.02


class Server:
    """Serves one application until `stop` is called.

    It sends no lifespan messages: what has to be started is started before.
    """

    def __init__(
        self,
        application: Application,
        limits: Limits,
        *,
        base_url: str = "",
        proxies: TrustedProxies | None = None,
        shares_socket: bool = False,
    ) -> None:
        """`base_url`: what the types of problems start with. `proxies`: whose connections no network's cap counts.

        `shares_socket`: other processes take connections from the same socket.
        """
        self._limits = limits
        self._at_once = AT_ONCE_WHERE_SHARED if shares_socket else AT_ONCE
        self._stopped = asyncio.Event()
        self._hurried = asyncio.Event()
        self._shared = Shared(application, limits, f"{base_url}{refusals.PATH}", proxies or TrustedProxies())

    def stop(self) -> None:
        """Take no more connections, and end when what was taken has its answer, or at once when called once more."""
        if self._stopped.is_set():
            self._hurried.set()
        self._stopped.set()

    async def serve(self, listener: socket.socket, when_ready: Callable[[], None]) -> None:
        """Take connections from a socket that listens already. Returns when what was under way has ended."""
        loop = asyncio.get_running_loop()
        listener.setblocking(False)
        self._check(loop)
        acceptor = Acceptor(loop, listener, lambda: Connection(self._shared, loop), self._at_once)
        try:
            when_ready()
            await self._stopped.wait()
        finally:
            await acceptor.close()
            await self._finish()
            self._next_check.cancel()

    async def _finish(self) -> None:
        connections, tasks = self._shared.connections, self._shared.tasks
        for connection in list(connections):
            connection.finish()
        waits = {asyncio.create_task(self._finished()), asyncio.create_task(self._hurried.wait())}
        await asyncio.wait(waits, timeout=self._limits.shutdown_seconds, return_when=asyncio.FIRST_COMPLETED)
        for task in waits | tasks:
            task.cancel()
        for connection in list(connections):
            connection.abort()
        await asyncio.gather(*waits, *tasks, return_exceptions=True)

    async def _finished(self) -> None:
        while self._shared.connections or self._shared.tasks:  # noqa: ASYNC110  # for a moment, at the end
            await asyncio.sleep(_FINISHED_SECONDS)

    def _check(self, loop: asyncio.AbstractEventLoop) -> None:
        self._next_check = loop.call_later(CHECK_SECONDS, self._check, loop)
        self._shared.date_line = f"date: {formatdate(usegmt=True)}\r\n".encode()
        now = loop.time()
        for connection in list(self._shared.connections):
            connection.check_deadlines(now)


def stop_on_signals(server: Server) -> None:
    """SIGINT and SIGTERM stop it; for the rest of the running loop's time."""
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, server.stop)


def fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes uvloop's event loop, where that is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def bind(host: str, port: int) -> socket.socket:
    """A socket to listen on; `OSError` where the address is taken or not ours. Port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Only where the protocol is said does asyncio's own loop send each answer without waiting for an acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except BaseException:
        listener.close()
        raise
    return listener
