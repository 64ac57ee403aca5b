"""One connection: requests are read within deadlines and caps, and what cannot be read is answered with a problem."""

import asyncio
import secrets
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

import httptools

from strongroom.http import refusals
from strongroom.http.asgi import Application
from strongroom.http.client_address import TrustedProxies, network_of
from strongroom.http.exchange import HttpExchange
from strongroom.http.flow import NEVER, Flow
from strongroom.http.head import Head, HeadRefused, header_size, without_offer
from strongroom.http.limits import HIGH_WATER, MAX_HEAD_BYTES, MAX_HEADERS, MAX_PIPELINED, Limits
from strongroom.wire.refusal import Refusal, Refused


@dataclass(slots=True)
class Shared:
    """What the connections of a server have in common."""

    application: Application
    limits: Limits
    type_prefix: str
    proxies: TrustedProxies
    date_line: bytes = b""
    connections: set["Connection"] = field(default_factory=set)
    per_network: Counter[str] = field(default_factory=Counter)
    tasks: set[asyncio.Task[None]] = field(default_factory=set)


class Connection(Flow):
    """A head has to be whole in time and small. Some clock always runs: for a head, for the rest of a refused body,
    for the next request, for taking an answer.

    The clocks are times that `check_deadlines` compares; timers would have to be made and taken back in each request.
    """

    def __init__(self, shared: Shared, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._shared = shared
        self._limits = shared.limits
        self._loop = loop
        self._parser: Any = httptools.HttpRequestParser(self)
        self._parses = True
        self._head: Head | None = None
        """While it is being read."""
        self._counts_head = False
        self._exchange: HttpExchange | None = None
        """The last one whose head was read."""
        self._owed: deque[HttpExchange] = deque()
        """Those without an answer; the first one is being answered."""
        self._final_refusal: Refusal | None = None
        """To be sent after the answers that are owed."""
        self._unparsed_bytes = 0
        self._unwanted_bytes = 0
        self._head_by = NEVER
        self._next_by = NEVER
        self._discard_by = NEVER

    @property
    def date_line(self) -> bytes:
        return self._shared.date_line

    @property
    def type_prefix(self) -> str:
        return self._shared.type_prefix

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._peer, self._own = (_address(transport, name) for name in ("peername", "sockname"))
        shared, limits = self._shared, self._limits
        shared.connections.add(self)
        address = self._peer[0] if self._peer else ""
        self._network = None if shared.proxies.trust(address) else network_of(address)
        if self._network is not None:
            shared.per_network[self._network] += 1
        self._next_by = self._loop.time() + limits.header_seconds
        if (
            len(shared.connections) > limits.connections
            or shared.per_network[self._network or ""] > limits.connections_per_network
        ):
            self._parses = False
            self._write_refusal(Refusal.unavailable)
            transport.close()  # without a look at what arrives: that would be the connection which there is none for

    def connection_lost(self, error: Exception | None) -> None:
        shared = self._shared
        shared.connections.discard(self)
        if self._network is not None:
            shared.per_network[self._network] -= 1
            if not shared.per_network[self._network]:
                del shared.per_network[self._network]
        for exchange in self._owed:
            exchange.disconnect()
        self._owed.clear()
        self._exchange = None
        self.resume_writing()
        self._parser = None  # which holds this connection

    def check_deadlines(self, now: float) -> None:
        """End what took too long. To be called a few times a second; `now` is the loop's time."""
        if not self._transport.is_closing():
            if now >= self._head_by:
                if self._owed:
                    self._head_by = now + self._limits.header_seconds  # as long as it may be we who do not read
                else:
                    self._refuse(Refusal.request_timeout)
            elif now >= min(self._discard_by, self._next_by):
                self._transport.close()
        if self.has_stalled(now, self._limits.stall_seconds):
            self._transport.abort()  # closing would wait for the other side once more

    def finish(self) -> None:
        """Take no further request; end when those that were taken have their answers."""
        if self._owed:
            self._owed[-1].keep_alive = False
        else:
            self._transport.close()

    def answered(self, exchange: HttpExchange) -> None:
        """The first one of those owed has been answered."""
        if self._owed:
            self._owed.popleft()
        if self._transport.is_closing():
            return
        if not exchange.body_complete:
            self._discard(exchange.keep_alive)
        elif not exchange.keep_alive:
            self._transport.close()
        elif self._owed:
            self._start(self._owed[0])
        elif self._final_refusal is not None:
            self._end_with(self._final_refusal)
        elif self._head is None:  # else the next request has begun, under a clock of its own
            self._next_by = self._loop.time() + self._limits.keep_alive_seconds
        self.resume_reading()

    def data_received(self, data: bytes) -> None:
        if self._discard_by != NEVER:
            self._unwanted_bytes += len(data)
            if self._unwanted_bytes > self._limits.discard_bytes:
                self._transport.abort()
        if not self._parses or self._transport.is_closing():
            return
        begun = self._head is not None or self._in_body
        # A whole head in a read as small as a head may be is not too large.
        self._counts_head = begun or len(data) > MAX_HEAD_BYTES
        self._unparsed_bytes = self._unparsed_bytes + len(data) if begun else 0
        try:
            # The rest of a head may end anywhere, and what stands behind it must stay as it is, for its length counts.
            self._parser.feed_data(data if begun else without_offer(data))
        except httptools.HttpParserUpgrade:
            pass  # a request without a body, whose answer is the last
        except httptools.HttpParserError as error:
            cause = error.__context__  # what one of the methods below has raised
            self._refuse(cause.refusal if isinstance(cause, HeadRefused) else Refusal.malformed_request)
            return
        if self._head is not None:
            self._check_open_head(self._head)
        elif self._unparsed_bytes > MAX_HEAD_BYTES and self._in_body:
            self._refuse(Refusal.headers_too_large)  # a trailer, or what may stand beside the size of a chunk

    def on_message_begin(self) -> None:
        self._head = self._counted = Head()
        self._unparsed_bytes = 0
        self._head_by = self._next_by = NEVER  # counts from the end of this read, which rarely leaves a head open

    def on_url(self, url: bytes) -> None:
        if self._counts_head:
            self._counted.count(len(url))
        self._counted.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._counts_head:
            self._counted.count(header_size(name, value))
        # A trailer is no header: a proxy that checked the head has not seen it (RFC 9110 section 6.5.1).
        if self._head is not None:
            self._head.add(name, value)

    def on_headers_complete(self) -> None:
        parser, head = self._parser, self._counted
        self._head = None
        self._unparsed_bytes = 0
        self._head_by = NEVER
        version, upgrades = parser.get_http_version(), parser.should_upgrade()
        if len(self._owed) > MAX_PIPELINED:
            raise HeadRefused(Refusal.unavailable)
        scope = head.scope(parser.get_method(), version, self._peer, self._own, upgrades=upgrades)
        keep_alive = version != "1.0" and not upgrades and parser.should_keep_alive()
        exchange = HttpExchange(self, scope, keep_alive=keep_alive, expects_continue=head.expects_continue)
        if self._owed:
            self.pause_reading()
        else:
            self._start(exchange)
        self._owed.append(exchange)
        self._exchange = exchange

    def on_body(self, body: bytes) -> None:
        self._unparsed_bytes = 0
        exchange = self._exchange
        if exchange is not None and not exchange.answer_complete:
            exchange.add_body(body)
            if exchange.unread > HIGH_WATER:
                self.pause_reading()

    def on_message_complete(self) -> None:
        exchange = self._exchange
        if exchange is None:
            return
        exchange.end_body()
        if exchange.answer_complete:
            self._discard_by, self._unwanted_bytes = NEVER, 0
            if exchange.keep_alive:
                self._next_by = self._loop.time() + self._limits.keep_alive_seconds
            else:
                self._transport.close()

    def _start(self, exchange: HttpExchange) -> None:
        task = self._loop.create_task(exchange.run(self._shared.application))
        self._shared.tasks.add(task)
        task.add_done_callback(self._shared.tasks.discard)

    @property
    def _in_body(self) -> bool:
        return self._exchange is not None and not self._exchange.body_complete

    def _check_open_head(self, head: Head) -> None:
        if self._head_by == NEVER:
            self._head_by = self._loop.time() + self._limits.header_seconds
            if not self._counts_head:
                head.count_all()
        # A header without an end never reaches on_header: its bytes are with the parser. And in memory headers are
        # twenty times as large as on their way here: too many are not kept for the rest.
        if self._unparsed_bytes > MAX_HEAD_BYTES or len(head.headers) > MAX_HEADERS:
            self._refuse(Refusal.headers_too_large)

    def _refuse(self, refusal: Refusal) -> None:
        """Answer what cannot be read, and read no further."""
        self._head_by = self._next_by = NEVER
        self._parses, self._head = False, None
        if not self._in_body:
            if self._owed:
                self._final_refusal = refusal  # now it would be taken for the answer to an earlier request
            else:
                self._end_with(refusal)
            return
        broken = self._exchange
        if not self._owed:
            self._discard(keep_alive=False)  # it has its answer: a second one would belong to no request
        elif self._owed[0] is not broken:
            self._owed[-1].keep_alive = False  # its turn will come, and its answer is the last
        elif self._owed[0].started:
            self._transport.close()
        else:
            self._owed.popleft().disconnect()
            self._end_with(refusal)

    def _end_with(self, refusal: Refusal) -> None:
        self._write_refusal(refusal)
        self._discard(keep_alive=False)
        self.resume_reading()

    def _write_refusal(self, refusal: Refusal) -> None:
        self.write(refusals.whole_answer(Refused(refusal), secrets.token_hex(8), self.type_prefix))

    def _discard(self, keep_alive: bool) -> None:
        """Read on within bounds. Closing on unread bytes resets the connection, so that the answer may get lost."""
        self._discard_by = min(self._discard_by, self._loop.time() + self._limits.discard_seconds)
        if not keep_alive and self._transport.can_write_eof():
            self._transport.write_eof()


def _address(transport: Any, name: str) -> tuple[str, int] | None:
    found = transport.get_extra_info(name)
    return (str(found[0]), int(found[1])) if isinstance(found, tuple) else None
