"""The shorter ways beside ASGI's messages: whole bodies and whole answers, and what a request leaves behind."""

import asyncio
import contextlib
import gc
import socket
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias, cast

import pytest

from strongroom.http.answers import Answer, Content, Versioned
from strongroom.http.asgi import DirectExchange, Message, Receive, Scope, Send, direct
from strongroom.http.cors import CrossOrigin
from strongroom.http.door import Door
from strongroom.http.exchange import HttpExchange, Wire
from strongroom.http.limits import Limits
from strongroom.http.routing import Route
from strongroom.http.server import BACKLOG, Server, bind
from strongroom.runtime.principals import Subscription
from strongroom.wire.endpoint import Condition, Endpoint, Open
from strongroom.wire.refusal import Refusal, Refused
from strongroom.wire.system import Health

pytestmark = pytest.mark.anyio
Ask: TypeAlias = Callable[..., Awaitable[bytes]]
GET = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


class Scripted:
    """An application that does what the test says."""

    def __init__(self) -> None:
        self.answer: Callable[[Scope, Receive, Send], Awaitable[None]]
        self.failures: list[Exception] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.answer(scope, receive, send)
        except Exception as failure:
            self.failures.append(failure)
            raise


def the(way: Receive | Send) -> HttpExchange:
    exchange = direct(way)
    assert isinstance(exchange, HttpExchange)
    return exchange


@pytest.fixture
async def scripted() -> AsyncIterator[tuple[Scripted, Ask]]:
    listener = bind("127.0.0.1", 0)
    listener.listen(BACKLOG)
    address = listener.getsockname()
    application = Scripted()
    listening = asyncio.Event()
    server = Server(application, Limits(header_seconds=1))
    task = asyncio.create_task(server.serve(listener, listening.set))
    await asyncio.wait_for(listening.wait(), 20)

    async def ask(*parts: bytes) -> bytes:
        reader, writer = await asyncio.open_connection(*address)
        try:
            for part in parts:
                writer.write(part)
                await asyncio.sleep(0.02)
            return await asyncio.wait_for(reader.read(-1), 5)
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    yield application, ask
    server.stop()
    await asyncio.wait_for(task, 20)
    listener.close()


POST = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\n"


async def test_a_body_that_is_there_need_not_be_received(scripted: tuple[Scripted, Ask]) -> None:
    application, ask = scripted
    seen: list[Any] = []

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(the(receive).arrived())
        if seen[0] is None:
            more = True
            while more:
                message = await receive()
                seen.append(message["body"])
                more = message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})
        seen.append((await receive())["type"])

    application.answer = answer
    await ask(POST + b"\r\nbody")
    assert seen == [b"body", "http.disconnect"]
    seen.clear()
    await ask(POST + b"\r\nbo", b"dy")
    assert seen == [None, b"bo", b"dy", "http.disconnect"]


async def test_a_stream_that_never_waits_lets_others_have_their_turn() -> None:
    class Endless:
        """A connection whose caller takes everything at once."""

        write_paused = False
        date_line = b""

        def write(self, *parts: bytes) -> None: ...
        def is_closing(self) -> bool:
            return False

    scope = {"method": "GET", "http_version": "1.1"}
    exchange = HttpExchange(cast("Wire", Endless()), scope, keep_alive=True, expects_continue=False)
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count_turns())
    await exchange.send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(64):
        await exchange.send({"type": "http.response.body", "body": bytes(64 * 1024), "more_body": True})
    counting.cancel()
    assert turns >= 30


async def test_an_answer_can_be_given_whole(scripted: tuple[Scripted, Ask]) -> None:
    application, ask = scripted

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        status, body = (204, b"") if scope["path"] == "/nothing" else (201, b"{}")
        assert the(send).answer(status, b"x-test: 1\r\n", body)

    application.answer = answer
    whole = await ask(GET)
    assert whole.startswith(b"HTTP/1.1 201 Created\r\ndate: ")
    assert whole.endswith(b"\r\nx-test: 1\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
    two = await ask(GET.replace(b"Connection: close\r\n", b"").replace(b"/", b"/nothing", 1) + GET)
    first, _, second = two.partition(b"\r\n\r\n")
    assert first.endswith(b"\r\nx-test: 1")
    assert second.startswith(b"HTTP/1.1 201 Created\r\n")
    assert application.failures == []


async def test_what_cannot_be_given_whole_is_left_to_messages(scripted: tuple[Scripted, Ask]) -> None:
    application, ask = scripted
    given: list[bool] = []

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        exchange = the(send)
        body = bytes(100_000) if scope["path"] == "/long" else b"{}"
        if scope["method"] == "HEAD" or scope["path"] == "/long":
            given.append(exchange.answer(200, b"", body))
        length = (b"content-length", b"%d" % len(body))
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        given.append(exchange.answer(200, b"", body))
        await send({"type": "http.response.body", "body": body})
        given.append(exchange.answer(200, b"", body))

    application.answer = answer
    assert (await ask(GET)).count(b"HTTP/1.1") == 1
    assert (await ask(GET.replace(b"GET", b"HEAD"))).endswith(b"content-length: 2\r\nconnection: close\r\n\r\n")
    assert (await ask(GET.replace(b"/", b"/long", 1))).endswith(b"\r\n\r\n" + bytes(100_000))
    assert given == [False] * 8


async def test_a_caller_who_does_not_read_is_left_to_messages(scripted: tuple[Scripted, Ask]) -> None:
    application, ask = scripted
    given: list[bool] = []

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        exchange = the(send)
        exchange._wire.write_paused = True  # as the transport says it
        given.append(exchange.answer(200, b"", b""))
        exchange._wire.write_paused = False
        given.append(exchange.answer(200, b"", b""))

    application.answer = answer
    assert (await ask(GET)).count(b"HTTP/1.1 200 OK") == 1
    assert given == [False, True]


async def test_no_answer_waits_until_the_one_before_it_is_acknowledged(scripted: tuple[Scripted, Ask]) -> None:
    application, ask = scripted
    undelayed: list[int] = []

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        connection: Any = the(send)._wire
        own = connection._transport.get_extra_info("socket")
        undelayed.append(own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        the(send).answer(200, b"", b"")

    application.answer = answer
    await ask(GET)
    assert undelayed == [1]


@pytest.mark.parametrize("whole", [True, False])
async def test_a_request_leaves_nothing_that_has_to_be_looked_for(scripted: tuple[Scripted, Ask], whole: bool) -> None:
    application, ask = scripted
    seen: list[weakref.ref[Any]] = []

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(weakref.ref(the(send)))
        if not (whole and the(send).answer(200, b"", b"")):
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body"})
        if len(seen) == 4:  # the connection holds its last exchange
            alive.extend(reference() is not None for reference in seen[:3])

    alive: list[bool] = []
    application.answer = answer
    gc.disable()
    try:
        await ask(*[GET.replace(b"Connection: close\r\n", b"")] * 3, GET)
    finally:
        gc.enable()
    assert alive == [False] * 3


async def test_whoever_stands_between_sees_the_messages(scripted: tuple[Scripted, Ask]) -> None:
    application, ask = scripted

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def received() -> Message:
            return await receive()

        async def sent(message: Message) -> None:
            await send(message)

        found.extend((direct(received), direct(sent), direct(receive), direct(send)))
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    found: list[DirectExchange | None] = []
    application.answer = answer
    await ask(GET)
    assert found[:2] == [None, None]
    assert found[2] is found[3] is not None


def _small_door() -> Door:
    """Answers with and without a body, of another status, that may be kept, as bytes, and refusals."""

    async def nothing(call: Any) -> None:
        return None

    async def health(call: Any) -> Health:
        return Health("ok")

    async def other(call: Any) -> Answer[Health]:
        return Answer(Health("other"), 200)

    async def content(call: Any) -> Content:
        return Content(b"PNG", "image/png", {"ETag": '"1"', "Cache-Control": "public"})

    async def versioned(call: Any) -> Versioned[Health]:
        return Versioned('"2"', lambda: health(None))

    async def refused(call: Any) -> None:
        raise Refused(Refusal.unavailable)

    async def nobody(key: str) -> Subscription:
        raise AssertionError

    def route(handler: Any, status: int = 200, *, cacheable: bool = False, conditional: bool = False) -> Route:
        endpoint = Endpoint(
            method="GET",
            path=f"/{handler.__name__}",
            summary="",
            credential=Open(because="test"),
            subscription_key=False,
            status=status,
            cacheable=cacheable,
            conditions=(Condition.if_none_match,) if conditional else (),
        )
        return Route(endpoint, handler)

    table = [
        route(nothing, 204),
        route(health, cacheable=True),
        route(other, 201),
        route(content, cacheable=True),
        route(versioned, conditional=True),
        route(refused),
    ]
    return Door(table, authenticate_subscription=nobody, authenticate={}, public_url="https://h")


async def test_an_answer_is_the_same_whole_and_by_messages(scripted: tuple[Scripted, Ask]) -> None:
    application, ask = scripted
    door = _small_door()

    async def by_messages(scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            await send(message)

        await door(scope, receive, sent)

    def parts(answer: bytes) -> tuple[bytes, set[bytes], bytes]:
        head, _, body = answer.partition(b"\r\n\r\n")
        status, *lines = head.split(b"\r\n")
        assert len(set(lines)) == len(lines)
        return status, {line for line in lines if not line.startswith(b"date:")}, body

    for path in (b"nothing", b"health", b"other", b"content", b"versioned", b"refused", b"nowhere"):
        for also in (b"", b'If-None-Match: "2"\r\n'):
            request = GET.replace(b"/", b"/" + path, 1).replace(
                b"\r\n\r\n", b"\r\nX-Request-Id: 1\r\n" + also + b"\r\n"
            )
            application.answer = door
            given = parts(await ask(request))
            application.answer = by_messages
            assert parts(await ask(request)) == given
            assert b"x-request-id: 1" in given[1]
            kept = path in (b"health", b"content", b"versioned")
            assert (b"cache-control: no-store" in given[1]) == (not kept)
    assert application.failures == []


async def test_headers_for_other_origins_come_with_whole_answers(scripted: tuple[Scripted, Ask]) -> None:
    application, ask = scripted
    application.answer = CrossOrigin(_small_door(), ("https://portal.example",))
    answer = await ask(
        GET.replace(b"/", b"/health", 1).replace(b"Host: x", b"Host: x\r\nOrigin: https://portal.example")
    )
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"access-control-allow-origin: https://portal.example\r\n" in answer
