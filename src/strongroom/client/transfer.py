"""Requests and answers over HTTP: no redirects, cookies or proxies, capped bodies, a deadline for a whole exchange.

The only module of the client that uses the HTTP library.
"""

import asyncio
import os
import ssl
import time
from collections.abc import AsyncIterable, AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final, TypeAlias, TypeVar

import httpx

from strongroom.client.errors import ProtocolViolation, ServiceUnavailable

T = TypeVar("T")

Transport: TypeAlias = httpx.AsyncBaseTransport
OctetBody: TypeAlias = bytes | AsyncIterable[bytes]

BODY_LIMIT: Final = 16 * 1024 * 1024
LEAST: Final = 64 * 1024
"""Octets of a stream that have to arrive within one time limit."""

UNREACHABLE: Final = "the service cannot be reached or broke off"
DEADLINE: Final = "the service did not answer in time"


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request, complete. Headers carry credentials and the body may carry secrets: the repr shows neither."""

    method: str
    url: str
    headers: dict[str, str] = field(repr=False)
    body: OctetBody = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer: status, the headers that matter and the body as it was sent (identity encoding)."""

    status: int
    content_type: str = ""
    retry_after: str = ""
    body: bytes = field(default=b"", repr=False)
    seconds: float = 0.0


class StreamedReply:
    """An answer whose head has arrived; iterating receives its body piece by piece, and keeps nothing of it."""

    def __init__(self, response: httpx.Response, timeout: float, started: float) -> None:
        # A compressed body was not asked for, and it may unpack to anything.
        if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise ProtocolViolation("the body is encoded although that was not accepted")
        self._response = response
        self._timeout = timeout
        self._started = started

    def __repr__(self) -> str:
        return f"StreamedReply({self.status})"

    @property
    def status(self) -> int:
        return self._response.status_code

    def header(self, name: str) -> str:
        """The value of a header, or an empty text."""
        value: str = self._response.headers.get(name, "")
        return value

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """A limit per read would let a service that sends an octet a second go on for ever, so it is for `LEAST`."""
        # A transport may hand over the whole answer.
        response = self._response
        pieces = _one(response.content) if response.is_stream_consumed else response.aiter_raw()
        left, received = self._timeout, 0
        while True:
            waiting = time.monotonic()
            piece = await _within(asyncio.timeout(left), anext(pieces, None))
            if piece is None:
                return
            left -= time.monotonic() - waiting
            received += len(piece)
            if received >= LEAST:
                left, received = self._timeout, 0
            yield piece

    def head(self) -> Reply:
        """The answer without its body."""
        return self._reply(b"")

    async def whole(self) -> Reply:
        """The answer with its body; `ProtocolViolation` if that is above 16 MiB."""
        body = bytearray()
        async for piece in self:
            body += piece
            if len(body) > BODY_LIMIT:
                raise ProtocolViolation("the body is larger than 16 MiB")
        return self._reply(bytes(body))

    def _reply(self, body: bytes) -> Reply:
        seconds = time.perf_counter() - self._started
        return Reply(self.status, self.header("content-type"), self.header("retry-after"), body, seconds)


class Channel:
    """The connections to one service. `timeout` is seconds for a whole exchange, or for each step of a stream."""

    def __init__(self, timeout: float, transport: Transport | None) -> None:
        self._timeout = timeout
        self._transport = transport
        self._tls: ssl.SSLContext | None = None
        self._client: httpx.AsyncClient | None = None
        self._process = 0
        self._closed = False

    async def exchange(self, request: Request) -> Reply:
        """Send, and receive the whole answer. `ServiceUnavailable` if that does not happen within the time limit."""
        return await _within(asyncio.timeout(self._timeout), self._exchange(request))

    async def _exchange(self, request: Request) -> Reply:
        started = time.perf_counter()
        response = await self._send(request, request.body or None)
        try:
            return await StreamedReply(response, self._timeout, started).whole()
        finally:
            await response.aclose()

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[StreamedReply]:
        """Send, and give the answer when its head is there. Memory does not grow with either body.

        The time limit is for each piece of the request's body and for the head of the answer after the last one.
        How long the body takes to be made, or the answer to be used, does not count.
        """
        started = time.perf_counter()
        limit = asyncio.timeout(self._timeout)
        body = request.body
        content = (body or None) if isinstance(body, bytes) else _paced(body, limit, self._timeout)
        response = await _within(limit, self._send(request, content))
        try:
            yield StreamedReply(response, self._timeout, started)
        finally:
            await response.aclose()

    async def _send(self, request: Request, content: OctetBody | None) -> httpx.Response:
        client = self._connected()
        return await client.send(
            client.build_request(request.method, request.url, headers=request.headers, content=content), stream=True
        )

    def _connected(self) -> httpx.AsyncClient:
        if self._closed:
            raise RuntimeError("the client is closed")
        if self._client is None or self._process != os.getpid():
            # The sockets of a process belong to it alone. Its child keeps the object, for its end would close them.
            _LEFT_TO_PARENTS.append(self._client)
            self._process = os.getpid()
            self._tls = self._tls or _tls()
            self._client = httpx.AsyncClient(
                transport=self._transport or httpx.AsyncHTTPTransport(verify=self._tls, trust_env=False),
                timeout=self._timeout if self._transport else None,  # ours is under our own time limits
                follow_redirects=False,
                event_hooks={"response": [_without_location]},
                trust_env=False,
                # Sessions travel in Authorization alone; a cookie would be a second, unseen identity.
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            )
        return self._client

    async def close(self) -> None:
        """Close the connections of this process."""
        self._closed = True
        if self._client is not None and self._process == os.getpid():
            await self._client.aclose()


_LEFT_TO_PARENTS: Final[list[httpx.AsyncClient | None]] = []


def is_reachable(url: str) -> bool:
    """Whether the HTTP library takes this address: it reads international names more strictly than `urllib`."""
    try:
        return bool(httpx.URL(url).host)
    except (httpx.InvalidURL, UnicodeError):
        return False


async def _without_location(response: httpx.Response) -> None:
    # The library makes a request of it also where it does not follow, and fails in many ways where it is no address.
    response.headers.pop("location", None)


def _tls() -> ssl.SSLContext:
    """The system's trust store and TLS 1.2 or later."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


async def _within(limit: asyncio.Timeout, operation: Awaitable[T]) -> T:
    """Await within a time limit; what the HTTP library reports becomes `ServiceUnavailable`."""
    try:
        async with limit:
            return await operation
    except TimeoutError:
        if not limit.expired():
            raise
        reason = DEADLINE
    except httpx.TimeoutException:
        reason = DEADLINE
    except (httpx.HTTPError, ssl.SSLError):  # the second one where a record was tampered with on its way
        reason = UNREACHABLE
    # Outside the handler: as context the library's exception would keep the request and its credentials alive.
    raise ServiceUnavailable(reason)


async def _one(piece: bytes) -> AsyncIterator[bytes]:
    yield piece


async def _paced(body: AsyncIterable[bytes], limit: asyncio.Timeout, seconds: float) -> AsyncIterator[bytes]:
    """The same body; the limit stands still while a piece is made and starts anew for sending it."""
    loop = asyncio.get_running_loop()
    limit.reschedule(None)
    async for piece in body:
        limit.reschedule(loop.time() + seconds)
        yield piece
        limit.reschedule(None)
    limit.reschedule(loop.time() + seconds)
