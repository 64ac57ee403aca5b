"""One connection: heads are read within deadlines and caps, and what cannot be read is answered with a problem."""

import asyncio
import math
import re
import secrets
from typing import Any, ClassVar, NoReturn
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from strongroom.http import refusals
from strongroom.http.exchange import Exchange
from strongroom.wire.refusal import Refusal, Refused

MAX_HEAD_BYTES = 16 * 1024
# Each costs a hundred bytes of memory, however few of its own it has.
MAX_HEADERS = 100
# Requests that came before the answer to the one before them: one read can bring thousands, of two kilobytes each here.
MAX_PIPELINED = 32
# One read may bring the head and a part of the body along with it.
MAX_READ_BYTES = 256 * 1024
# An answer has to be taken at a thousand bytes a second or so; one that stands still ends the connection.
STALL_SECONDS = 10.0
LEAST_TAKEN_BYTES = 10 * 1024

# An offer of another protocol may be passed over (RFC 9110 section 7.8). The parser cannot: it would look for no body.
# So it does not get to see the header; where that came in two pieces, a request with a body is refused.
_OFFER = re.compile(rb"\r\n[Uu]pgrade:")
_PASSED_OVER = b"\r\npassed-over:"
_FRAMES_BODY = (b"content-length", b"transfer-encoding")
_NEVER = math.inf


class Connection(HttpToolsProtocol):
    """A head has to be whole in time and small. Some clock always runs: for a head, for the rest of a refused body,
    for the next request, for taking an answer.

    The clocks are times that `check_deadlines` compares; timers would have to be made and taken back in each request.
    """

    header_timeout: ClassVar[float]
    max_connections: ClassVar[int]
    type_prefix: ClassVar[str]

    def connection_made(self, transport: Any) -> None:
        self._refusal = Refusal.malformed_request
        self._head_bytes = 0
        self._counts_head = False
        self._unread_bytes = 0
        self._in_head = False
        self._in_body = False
        self._deaf = False
        self._last_word: Refusal | None = None
        self._answers = 0
        self._head_by = _NEVER
        self._next_by = _NEVER
        self._taken_by = _NEVER
        self._untaken = (0, 0)
        super().connection_made(transport)
        self._expect_head()
        if len(self.connections) > self.max_connections:
            self._refuse(Refusal.unavailable)

    def check_deadlines(self, now: float) -> None:
        """End what took too long. To be called a few times a second; `now` is the loop's time."""
        if not self.transport.is_closing():
            if now >= self._head_by:
                if self._owes_answer:
                    self._head_by = now + self.header_timeout  # as long as it may be we who do not read
                else:
                    self._too_late()
            elif now >= self._next_by:
                self.transport.close()
        self._check_taking(now)

    def data_received(self, data: bytes) -> None:
        if self._deaf or self.transport.is_closing():
            return
        self._next_by = _NEVER
        if self._head_by != _NEVER:
            # A header without end never reaches on_header: count what the parser keeps for itself.
            self._unread_bytes += len(data)
            if self._unread_bytes > MAX_READ_BYTES:
                self._refuse(Refusal.headers_too_large)
                return
        if not self._in_body and data.find(b"pgrade:") >= 0:
            head, end, rest = data.partition(b"\r\n\r\n")
            data = _OFFER.sub(_PASSED_OVER, head) + end + rest
        # A whole head in a read as small as a head may be is not too large.
        self._counts_head = self._in_head or self._in_body or len(data) > MAX_HEAD_BYTES
        super().data_received(data)
        if self._head_by == _NEVER:
            if self._in_head:
                self._head_by = self.loop.time() + self.header_timeout
                if not self._counts_head:
                    self._head_bytes = len(self.url) + sum(_size(*header) for header in self.headers)
                    # In memory they are twenty times as large as on their way here: too many are not kept for the rest.
                    if len(self.headers) > MAX_HEADERS:
                        self._refuse(Refusal.headers_too_large)
            # Any byte ends the time for the next request, also one of a body that was refused already or between two.
            elif self.cycle is None or self.cycle.response_complete:
                self._expect_head()

    def on_message_begin(self) -> None:
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        self._in_body = False
        self._in_head = True
        self._head_bytes = 0
        self._head_by = _NEVER  # counts from the end of this read, which rarely leaves a head open

    def on_url(self, url: bytes) -> None:
        if self._counts_head:
            self._count_head(len(url))
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._counts_head:
            self._count_head(_size(name, value))
        # A trailer is no header: whoever checked the head on the way here has not seen it (RFC 9110 section 6.5.1).
        if self._in_body:
            return
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._head_by = _NEVER
        self._unread_bytes = 0
        if len(self.headers) > MAX_HEADERS:
            self._refuse_head()
        if len(self.pipeline) >= MAX_PIPELINED:
            self._refusal = Refusal.unavailable
            raise ValueError("too many requests at once")  # as in _refuse_head
        parser = self.parser
        upgrades = parser.should_upgrade()
        if upgrades and any(name in _FRAMES_BODY and value != b"0" for name, value in self.headers):
            raise ValueError("a body that would be read as the next request")  # as in _refuse_head
        version = parser.get_http_version()
        url = httptools.parse_url(self.url)
        raw_path = url.path
        path = raw_path.decode("ascii")
        self.scope = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": version,
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme or "http",
            "method": parser.get_method().decode("ascii"),
            "root_path": "",
            "path": unquote(path) if "%" in path else path,
            "raw_path": raw_path,
            "query_string": url.query or b"",
            "headers": self.headers,
            "state": self.app_state.copy(),
        }
        previous = self.cycle
        exchange = self.cycle = Exchange(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=version != "1.0" and not upgrades and parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        if previous is None or previous.response_complete:
            self._start_asgi_task(exchange, self.app)
        else:
            # One that came before the answer to the last: it waits for its turn.
            self.flow.pause_reading()
            self.pipeline.appendleft((exchange, self.app))
        self._in_body = True

    def on_body(self, body: bytes) -> None:
        exchange = self.cycle
        if not exchange.response_complete:
            exchange.body += body
            if len(exchange.body) > HIGH_WATER_LIMIT:
                self.flow.pause_reading()
            exchange.message_event.set()

    def on_message_complete(self) -> None:
        self._in_body = False
        exchange = self.cycle
        if exchange.response_complete:
            self._unread_bytes = 0
            self._expect_head()
        else:
            exchange.more_body = False
            exchange.message_event.set()

    def on_response_complete(self) -> None:
        self._answers += 1
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif self._last_word is not None:
            self._say(self._last_word)
        else:
            self._next_by = self.loop.time() + self.timeout_keep_alive

    def send_400_response(self, msg: str) -> None:
        self._refuse(self._refusal)

    def _count_head(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD_BYTES or len(self.headers) > MAX_HEADERS:
            self._refuse_head()

    def _refuse_head(self) -> NoReturn:
        self._refusal = Refusal.headers_too_large
        raise ValueError("the head is too large")  # ends the parser, which then asks for the answer

    def _expect_head(self) -> None:
        self._head_bytes = 0
        self._head_by = self.loop.time() + self.header_timeout

    def _too_late(self) -> None:
        if self._head_bytes or self._unread_bytes:
            self._refuse(Refusal.request_timeout)
        else:
            self.transport.close()

    def _check_taking(self, now: float) -> None:
        unsent = self.transport.get_write_buffer_size()
        if not unsent:
            self._taken_by = _NEVER
        elif self._taken_by != _NEVER:
            if now < self._taken_by:
                return
            unsent_before, answers_before = self._untaken
            if unsent > max(unsent_before - LEAST_TAKEN_BYTES, 0) and self._answers == answers_before:
                self._taken_by = _NEVER
                self.transport.abort()  # closing would wait for the other side once more
                return
        self._untaken = unsent, self._answers
        self._taken_by = now + STALL_SECONDS if unsent else _NEVER

    @property
    def _owes_answer(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _refuse(self, refusal: Refusal) -> None:
        """Answer what cannot be read, and read no further."""
        self._head_by = _NEVER
        self._deaf = True
        self.headers = []
        if not self._owes_answer and not self._in_body:
            self._say(refusal)
        elif not self._in_body:
            # Whoever waits for the answers to earlier requests would take this one for the first of them.
            self._last_word = refusal
        elif self.pipeline:
            self.cycle.keep_alive = False  # its turn will come, and its answer is the last
        elif self.cycle.response_started:
            self.transport.close()  # the request has its answer, a second one would belong to no request
        else:
            self._say(refusal)

    def _say(self, refusal: Refusal) -> None:
        self.transport.write(refusals.whole_answer(Refused(refusal), secrets.token_hex(8), self.type_prefix))
        self.transport.close()


def _size(name: bytes, value: bytes) -> int:
    return len(name) + len(value) + 4
