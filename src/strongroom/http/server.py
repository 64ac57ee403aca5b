"""The HTTP server: uvicorn with httptools, its connections ours (`http_connection.py`), on a socket bound before."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import uvicorn

from strongroom.http import refusals
from strongroom.http.acceptor import ALONE, AMONG_NEIGHBOURS, Acceptor
from strongroom.http.connection import Connection
from strongroom.runtime.settings import Settings

KEEP_ALIVE_SECONDS = 5
BACKLOG = 2048
"""Connections that may wait to be taken; the system may allow fewer."""
CHECK_SECONDS = 0.25
"""How often the deadlines of all connections are looked at: so much later than said they may end one."""


class Server(uvicorn.Server):
    """uvicorn around one application, on a socket that is already bound. Signals end it gracefully."""

    def __init__(
        self, application: Any, settings: Settings, when_listening: Callable[[], None], *, alone: bool = True
    ) -> None:
        """`alone`: no other process takes connections from the same socket."""
        self._when_listening = when_listening
        self._at_once = ALONE if alone else AMONG_NEIGHBOURS
        self._acceptors: list[Acceptor] = []
        self._checks: asyncio.TimerHandle | None = None

        class BoundConnection(Connection):
            header_timeout = float(settings.header_timeout)
            max_connections = settings.connections
            type_prefix = f"{settings.base_url}{refusals.PATH}"

        self._bound: type[Connection] = BoundConnection
        super().__init__(
            uvicorn.Config(
                application,
                http=BoundConnection,
                loop="auto",
                ws="none",
                lifespan="on",
                interface="asgi3",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=settings.shutdown_timeout,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup([])  # it takes no connections itself
        if self.started:
            loop = asyncio.get_running_loop()
            for listener in sockets or ():
                listener.listen(BACKLOG)
                listener.setblocking(False)
                self._acceptors.append(Acceptor(loop, listener, self._connection, self._at_once))
            self._check_deadlines(loop)
            self._when_listening()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            for acceptor in self._acceptors:
                await acceptor.close()
            await super().shutdown(sockets)
        finally:
            if self._checks is not None:
                self._checks.cancel()

    def _connection(self) -> Connection:
        return self._bound(self.config, self.server_state, self.lifespan.state)

    def _check_deadlines(self, loop: asyncio.AbstractEventLoop) -> None:
        self._checks = loop.call_later(CHECK_SECONDS, self._check_deadlines, loop)
        now = loop.time()
        for connection in list(self.server_state.connections):
            if isinstance(connection, Connection):
                connection.check_deadlines(now)


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
