"""One request and its answer: what the ASGI application receives and sends, and how it goes over the wire."""

from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from strongroom.http.asgi import Header, Whole
from strongroom.http.header_lines import CONSTANT, FRAMING, line

_WITHOUT_BODY: Final = (204, 304)
_MOST_JOINED: Final = 64 * 1024
"""A longer body is written by itself rather than copied behind its head."""


class Exchange(RequestResponseCycle, Whole):
    """uvicorn's cycle with a shorter way for the answer: head and body are checked, put together and written at once.

    The head waits for the first part of the body, as ASGI wants it.
    """

    _head = b""
    """What has been written of the answer and waits for its body."""

    def arrived(self) -> bytes | None:
        """The whole body, if nothing is left to wait for; None where it has to be received."""
        if self.more_body or self.disconnected or self.response_complete:
            return None
        self.message_event.clear()  # as if it had been received: the next thing to learn is that the caller is gone
        self.waiting_for_100_continue = False  # RFC 9110 section 10.1.1: nobody waits for it who has sent it all
        body, self.body = bytes(self.body), bytearray()
        return body

    def answer(self, status: int, lines: bytes, body: bytes) -> bool:
        """As `Whole` has it: a caller who is gone or slow, HEAD and a long body are left to `send`."""
        if (
            self.response_started
            or self.disconnected
            or self.flow.write_paused
            or len(body) > _MOST_JOINED
            or self.scope["method"] == "HEAD"
        ):
            return False
        self.response_started = True
        self.waiting_for_100_continue = False
        head = STATUS_LINE[status] + _defaults(self.default_headers) + lines
        if status not in _WITHOUT_BODY:
            head += b"content-length: %d\r\n" % len(body)
        if not self.keep_alive:
            head += b"connection: close\r\n"
        self.transport.write(head + b"\r\n" + body)
        self._complete()
        return True

    async def send(self, message: Any) -> None:
        """Take an ASGI message. A header that could end itself and an answer of another length are `RuntimeError`."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if self.response_complete:
            raise RuntimeError("a message after the whole answer")
        expected = "http.response.body" if self.response_started else "http.response.start"
        if message["type"] != expected:
            raise RuntimeError(f"{expected} was expected")
        if self.response_started:
            self._send_body(message.get("body", b""), message.get("more_body", False))
        else:
            self._start(message["status"], message.get("headers", ()))

    def _start(self, status: int, headers: Any) -> None:
        self.response_started = True
        self.waiting_for_100_continue = False
        lines = [STATUS_LINE[status], _defaults(self.default_headers)]
        closes = False
        for header in headers:
            if (known := CONSTANT.get(header)) is not None:
                lines.append(known)
                continue
            name, value = header
            lines.append(line(name, value))
            if (lowered := name.lower()) in FRAMING:
                closes = self._frame(lowered, value) or closes
        if not self.keep_alive and not closes:
            lines.append(b"connection: close\r\n")
        if self.chunked_encoding is None and self.scope["method"] != "HEAD" and status not in _WITHOUT_BODY:
            self.chunked_encoding = True
            lines.append(b"transfer-encoding: chunked\r\n")
        lines.append(b"\r\n")
        self._head = b"".join(lines)

    def _frame(self, name: bytes, value: bytes) -> bool:
        """Note what a header says about the end of this answer; True where it ends the connection too."""
        if name == b"connection":
            closes = b"close" in [token.strip() for token in value.lower().split(b",")]
            self.keep_alive = self.keep_alive and not closes
            return closes
        if name == b"transfer-encoding":
            if value.lower() == b"chunked":
                self.expected_content_length = 0
                self.chunked_encoding = True
        elif self.chunked_encoding is None:
            self.expected_content_length = int(value)
            self.chunked_encoding = False
        return False

    def _send_body(self, body: bytes, more_body: bool) -> None:
        if self.scope["method"] == "HEAD":
            self.expected_content_length = 0
            body = b""
        elif self.chunked_encoding:
            if body:
                body = b"%x\r\n%b\r\n" % (len(body), body)
            if not more_body:
                body += b"0\r\n\r\n"
        elif len(body) > self.expected_content_length:
            raise RuntimeError("the answer is longer than its Content-Length")
        else:
            self.expected_content_length -= len(body)
        if len(body) > _MOST_JOINED:
            self.transport.write(self._head)
            self.transport.write(body)
        else:
            self.transport.write(self._head + body)
        self._head = b""
        if not more_body:
            if self.expected_content_length != 0:
                raise RuntimeError("the answer is shorter than its Content-Length")
            self._complete()

    def _complete(self) -> None:
        self.response_complete = True
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()


class _Defaults:
    """The lines of the server's own headers: the same list for a second, until its date is another."""

    def __init__(self) -> None:
        self.headers: list[Header] = []
        self.lines = b""

    def __call__(self, headers: list[Header]) -> bytes:
        if headers is not self.headers:
            self.headers, self.lines = headers, b"".join(line(name, value) for name, value in headers)
        return self.lines


_defaults = _Defaults()
