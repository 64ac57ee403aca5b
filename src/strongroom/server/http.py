"""The HTTP server: uvicorn with httptools, plus the deadlines, caps and problem documents that it leaves to others."""

import asyncio
import secrets
import socket
from collections.abc import Callable
from typing import Any, ClassVar

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from strongroom.server import refusals
from strongroom.server.door import Door
from strongroom.server.settings import Settings
from strongroom.wire.refusal import Refusal, Refused

MAX_HEAD_BYTES = 16 * 1024
# One read may bring the head and a part of the body along with it.
MAX_READ_BYTES = 256 * 1024
KEEP_ALIVE_SECONDS = 5
# An answer has to be taken at a thousand bytes a second or so; one that stands still ends the connection.
STALL_SECONDS = 10.0
LEAST_TAKEN_BYTES = 10 * 1024


class Protocol(HttpToolsProtocol):
    """One connection. A head has to be whole in time and small; what cannot be read is answered with a problem.

    Whatever the other side does, some clock runs: for a head, for the rest of a refused body, for taking an answer.
    """

    header_timeout: ClassVar[float]
    max_connections: ClassVar[int]
    type_prefix: ClassVar[str]

    def connection_made(self, transport: Any) -> None:
        self._refusal = Refusal.malformed_request
        self._head_bytes = 0
        self._unread_bytes = 0
        self._in_body = False
        self._answers = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None
        super().connection_made(transport)
        self._expect_head()
        if len(self.connections) > self.max_connections:
            self._refuse(Refusal.unavailable)

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_whole()
        if self._stall is not None:
            self._stall.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._deadline is not None:
            # A header without end never reaches on_header: count what the parser keeps for itself.
            self._unread_bytes += len(data)
            if self._unread_bytes > MAX_READ_BYTES:
                self._refuse(Refusal.headers_too_large)
                return
        super().data_received(data)
        # Any byte ends the keep-alive timer, also one of a body that was refused already or between two requests.
        if self._deadline is None and (self.cycle is None or self.cycle.response_complete):
            self._expect_head()

    def on_message_begin(self) -> None:
        self._in_body = False
        self._expect_head()
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + 4)
        # A trailer is no header: whoever checked the head on the way here has not seen it (RFC 9110 section 6.5.1).
        if not self._in_body:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._head_is_whole()
        self._unread_bytes = 0
        super().on_headers_complete()
        self._in_body = True

    def on_message_complete(self) -> None:
        self._in_body = False
        super().on_message_complete()
        if self.cycle.response_complete:
            self._unread_bytes = 0
            self._expect_head()

    def on_response_complete(self) -> None:
        self._answers += 1
        super().on_response_complete()
        self._expect_taking()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect_taking()

    def send_400_response(self, msg: str) -> None:
        self._refuse(self._refusal)

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD_BYTES:
            self._refusal = Refusal.headers_too_large
            raise ValueError("the head is too large")  # ends the parser, which then asks for the answer

    def _expect_head(self) -> None:
        self._head_is_whole()
        self._head_bytes = 0
        self._deadline = self.loop.call_later(self.header_timeout, self._too_late)

    def _head_is_whole(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        if self._head_bytes or self._unread_bytes:
            self._refuse(Refusal.request_timeout)
        else:
            self.transport.close()

    def _expect_taking(self) -> None:
        unsent = self.transport.get_write_buffer_size()
        if unsent and self._stall is None:
            self._stall = self.loop.call_later(STALL_SECONDS, self._check_taking, unsent, self._answers)

    def _check_taking(self, unsent_before: int, answers_before: int) -> None:
        self._stall = None
        unsent = self.transport.get_write_buffer_size()
        if unsent > max(unsent_before - LEAST_TAKEN_BYTES, 0) and self._answers == answers_before:
            self.transport.abort()  # closing would wait for the other side once more
        else:
            self._expect_taking()

    def _refuse(self, refusal: Refusal) -> None:
        self._head_is_whole()
        if self._in_body and self.cycle.response_complete:
            self.transport.close()  # the request has its answer, a second one would belong to no request
            return
        refused = Refused(refusal)
        body = refusals.problem(refused, secrets.token_hex(8), self.type_prefix)
        head = [f"HTTP/1.1 {refusal.status} {refusal.title}".encode()]
        head += [name + b": " + value for name, value in refusals.headers(refused)]
        head += [
            b"content-type: " + refusals.MEDIA_TYPE.encode(),
            f"content-length: {len(body)}".encode(),
            b"connection: close",
        ]
        self.transport.write(b"\r\n".join(head) + b"\r\n\r\n" + body)
        self.transport.close()
        self._expect_taking()


class Server(uvicorn.Server):
    """uvicorn around one application, on a socket that is already bound. Signals end it gracefully."""

    def __init__(self, application: Any, settings: Settings, when_listening: Callable[[], None]) -> None:
        self._when_listening = when_listening
        protocol = type(
            "BoundProtocol",
            (Protocol,),
            {
                "header_timeout": float(settings.header_timeout),
                "max_connections": settings.connections,
                "type_prefix": f"{settings.base_url}{Door.REFUSALS}",
            },
        )
        super().__init__(
            uvicorn.Config(
                application,
                http=protocol,
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
            self._when_listening()


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
