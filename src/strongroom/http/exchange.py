"""One request and its answer: what the ASGI application receives and sends, and how it goes over the wire."""

import asyncio
import logging
import secrets
from http import HTTPStatus
from typing import Any, Final, Protocol

from strongroom.http import refusals
from strongroom.http.asgi import Application, DirectExchange, Message, Scope
from strongroom.http.header_lines import CONSTANT, FRAMING, line
from strongroom.runtime.logging import LOGGER
from strongroom.wire.refusal import Refusal, Refused

_STATUS_LINES: Final = {status.value: f"HTTP/1.1 {status} {status.phrase}\r\n".encode() for status in HTTPStatus}
_PIECE_BYTES: Final = 48
"""What Python takes for a piece of a body beside its bytes; callers may send chunks of one byte."""
_WITHOUT_BODY: Final = (204, 304)
_MOST_JOINED: Final = 64 * 1024
"""A longer body is written by itself rather than copied behind its head."""
_MOST_IN_TURN: Final = 128 * 1024
"""Of a stream, before other requests have their turn: the system may take megabytes without making it wait."""
_logger = logging.getLogger(LOGGER)


class Wire(Protocol):
    """What an exchange needs of its connection."""

    write_paused: bool

    @property
    def date_line(self) -> bytes: ...

    @property
    def type_prefix(self) -> str:
        """What the types of problems start with."""
        ...

    def write(self, *parts: bytes) -> None: ...

    async def drain(self) -> None:
        """Return when the caller has taken enough of what was written."""
        ...

    def resume_reading(self) -> None: ...

    def answered(self, exchange: "HttpExchange") -> None:
        """The last byte of its answer was written."""
        ...

    def is_closing(self) -> bool:
        """Whether what is written is thrown away."""
        ...

    def abort(self) -> None: ...


class HttpExchange(DirectExchange):
    """A request as it arrives, and its answer: head and body are checked, put together and written at once.

    The head waits for the first part of the body, as ASGI wants it.
    """

    def __init__(self, wire: Wire, scope: Scope, *, keep_alive: bool, expects_continue: bool) -> None:
        self.scope = scope
        self.keep_alive = keep_alive
        self.body_complete = False
        self.answer_complete = False
        self.disconnected = False
        self.unread = 0
        """Bytes of the body that wait to be received, in pieces that have a size of their own."""
        self._wire = wire
        self._body: list[bytes] = []
        self._end_received = False
        self._expects_continue = expects_continue
        self._change: asyncio.Event | None = None  # made where something has to be waited for, which is rare
        self.started = False
        self._head = b""
        self._sent_in_turn = 0
        self._chunked = False
        self._length_left: int | None = None

    async def run(self, application: Application) -> None:
        """Have it answered. What the application leaves undone ends the connection; its errors are logged by type."""
        try:
            await application(self.scope, self.receive, self.send)
        except Exception:
            if not self.disconnected and not self._wire.is_closing():
                _logger.exception("failed")
        if not self.answer_complete and not self.disconnected:
            if self.started:
                self._wire.abort()  # so that what was sent of it cannot be taken for the whole
            else:
                self.keep_alive = False
                self.answer_complete = True
                failed = Refused(Refusal.internal_error)
                self._wire.write(refusals.whole_answer(failed, secrets.token_hex(8), self._wire.type_prefix))
                self._wire.answered(self)

    # What arrives.

    def add_body(self, data: bytes) -> None:
        self._body.append(data)
        self.unread += len(data) + _PIECE_BYTES
        self._changed()

    def end_body(self) -> None:
        self.body_complete = True
        self._changed()

    def disconnect(self) -> None:
        self.disconnected = True
        self._changed()

    def _changed(self) -> None:
        if self._change is not None:
            self._change.set()

    def arrived(self) -> bytes | None:
        """The whole body, if nothing is left to wait for; None where it has to be received."""
        if not self.body_complete or self.disconnected or self.answer_complete:
            return None
        self._end_received = True
        return self._take()

    async def receive(self) -> Message:
        """An ASGI message: the body as far as it is there, then the end of the connection or of the answer."""
        if self._expects_continue:
            self._expects_continue = False
            if not self.started and not self.unread and not self.body_complete and not self.disconnected:
                self._wire.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        while not self.disconnected and not self.answer_complete:
            if self._body or (self.body_complete and not self._end_received):
                self._end_received = self.body_complete
                return {"type": "http.request", "body": self._take(), "more_body": not self.body_complete}
            self._wire.resume_reading()
            if self._change is None:
                self._change = asyncio.Event()
            self._change.clear()
            await self._change.wait()
        return {"type": "http.disconnect"}

    def _take(self) -> bytes:
        body, self._body, self.unread = b"".join(self._body), [], 0
        return body

    # What is answered.

    def answer(self, status: int, lines: bytes, body: bytes) -> bool:
        """As `DirectExchange` has it: a caller who is gone or slow, HEAD and a long body are left to `send`."""
        wire = self._wire
        if (
            self.started
            or self.disconnected
            or wire.write_paused
            or len(body) > _MOST_JOINED
            or self.scope["method"] == "HEAD"
        ):
            return False
        self.started = True
        head = _STATUS_LINES[status] + wire.date_line + lines
        if status not in _WITHOUT_BODY:
            head += b"content-length: %d\r\n" % len(body)
        if not self.keep_alive:
            head += b"connection: close\r\n"
        wire.write(head + b"\r\n" + body)
        self._complete()
        return True

    async def send(self, message: Message) -> None:
        """Take an ASGI message. A header that could end itself and an answer of another length are `RuntimeError`.

        Where the caller is gone, a piece of a body with more to come is `ConnectionResetError`.
        """
        if self._wire.write_paused:
            await self._wire.drain()
        if message.get("more_body", False) and (self.disconnected or self._wire.is_closing()):
            raise ConnectionResetError  # or a long stream would be made to its end, and would wait for nothing
        if self.disconnected:
            return
        if self.answer_complete:
            raise RuntimeError("a message after the whole answer")
        expected = "http.response.body" if self.started else "http.response.start"
        if message["type"] != expected:
            raise RuntimeError(f"{expected} was expected")
        if not self.started:
            self._start(message["status"], message.get("headers", ()))
            return
        body, more_body = message.get("body", b""), message.get("more_body", False)
        self._send_body(body, more_body)
        if more_body:
            self._sent_in_turn += len(body)
            if self._sent_in_turn >= _MOST_IN_TURN:
                self._sent_in_turn = 0
                await asyncio.sleep(0)

    def _start(self, status: int, headers: Any) -> None:
        self.started = True
        lines = [_STATUS_LINES[status], self._wire.date_line]
        closes = False
        for header in headers:
            if (known := CONSTANT.get(header)) is not None:
                lines.append(known)
                continue
            name, value = header
            lines.append(line(name, value))
            if (lowered := name.lower()) in FRAMING:
                closes = self._frame(lowered, value) or closes
        if self._length_left is None and not self._chunked and self.scope["method"] != "HEAD":
            if status in _WITHOUT_BODY:
                self._length_left = 0
            elif self.scope["http_version"] == "1.0":
                self.keep_alive = False  # which knows no chunks: the end of the connection is the end of the body
            else:
                self._chunked = True
                lines.append(b"transfer-encoding: chunked\r\n")
        if not self.keep_alive and not closes:
            lines.append(b"connection: close\r\n")
        lines.append(b"\r\n")
        self._head = b"".join(lines)

    def _frame(self, name: bytes, value: bytes) -> bool:
        """Note what a header says about the end of this answer; True where it ends the connection too."""
        if name == b"connection":
            closes = b"close" in [token.strip() for token in value.lower().split(b",")]
            self.keep_alive = self.keep_alive and not closes
            return closes
        if name == b"transfer-encoding":
            self._chunked = value.lower() == b"chunked"
            self._length_left = None
        elif not self._chunked:
            self._length_left = int(value)
        return False

    def _send_body(self, body: bytes, more_body: bool) -> None:
        end = b""
        if self.scope["method"] == "HEAD":
            body = b""
        elif self._chunked:
            if body:
                self._head += b"%x\r\n" % len(body)
                end = b"\r\n"
            if not more_body:
                end += b"0\r\n\r\n"
        elif self._length_left is not None:
            self._length_left -= len(body)
            if self._length_left < 0:
                raise RuntimeError("the answer is longer than its Content-Length")
            if self._length_left and not more_body:
                raise RuntimeError("the answer is shorter than its Content-Length")
        head, self._head = self._head, b""
        if len(body) > _MOST_JOINED:
            self._wire.write(head, body, end)
        elif written := head + body + end:
            self._wire.write(written)
        if not more_body:
            self._complete()

    def _complete(self) -> None:
        self.answer_complete = True
        self._changed()
        self._wire.answered(self)
