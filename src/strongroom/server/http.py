"""The HTTP server: uvicorn with httptools, its connections ours (`http_connection.py`), on a socket bound before."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import uvicorn

from strongroom.server.door import Door
from strongroom.server.http_connection import Connection
from strongroom.server.settings import Settings

KEEP_ALIVE_SECONDS = 5
CHECK_SECONDS = 0.25
"""How often the deadlines of all connections are looked at: so much later than said they may end one."""


class Server(uvicorn.Server):
    """uvicorn around one application, on a socket that is already bound. Signals end it gracefully."""

    def __init__(self, application: Any, settings: Settings, when_listening: Callable[[], None]) -> None:
        self._when_listening = when_listening
        self._checks: asyncio.TimerHandle | None = None
        connection = type(
            "BoundConnection",
            (Connection,),
            {
                "header_timeout": float(settings.header_timeout),
                "max_connections": settings.connections,
                "type_prefix": f"{settings.base_url}{Door.REFUSALS}",
            },
        )
        super().__init__(
            uvicorn.Config(
                application,
                http=connection,
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
        await super().startup(sockets)
        if self.started:
            self._check_deadlines(asyncio.get_running_loop())
            self._when_listening()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().shutdown(sockets)
        finally:
            if self._checks is not None:
                self._checks.cancel()

    def _check_deadlines(self, loop: asyncio.AbstractEventLoop) -> None:
        self._checks = loop.call_later(CHECK_SECONDS, self._check_deadlines, loop)
        now = loop.time()
        for connection in list(self.server_state.connections):
            if isinstance(connection, Connection):
                connection.check_deadlines(now)


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; `OSError` where the address is taken or not ours. Port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except BaseException:
        listener.close()
        raise
    return listener
