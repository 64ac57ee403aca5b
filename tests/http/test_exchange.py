"""What an application sends, as bytes on the wire: heads, lengths, chunks, the end of connections."""

import asyncio
import contextlib
import gc
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from strongroom.http.answers import Answer, Content, Versioned
from strongroom.http.asgi import Message, Receive, Scope, Send, Whole, whole
from strongroom.http.cors import CrossOrigin
from strongroom.http.door import Door
from strongroom.http.exchange import Exchange
from strongroom.http.routing import Route
from strongroom.http.server import Server, bind
from strongroom.runtime.principals import Subscription
from strongroom.runtime.settings import load
from strongroom.wire.endpoint import Condition, Endpoint, Open
from strongroom.wire.refusal import Refusal, Refused
from strongroom.wire.system import Health

pytestmark = pytest.mark.anyio
Ask: TypeAlias = Callable[..., Awaitable[bytes]]
GET = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


class Scripted:
    """An application that does what the test says; nothing to start and nothing to end."""

    def __init__(self) -> None:
        self.answer: Callable[[Scope, Receive, Send], Awaitable[None]]
        self.failures: list[Exception] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await send({"type": "lifespan.shutdown.complete"})
            return
        try:
            await self.answer(scope, receive, send)
        except Exception as failure:
            self.failures.append(failure)
            raise

    def says(self, status: int, *bodies: bytes, **headers: str) -> None:
        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            lines = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items()]
            await send({"type": "http.response.start", "status": status, "headers": lines})
            for number, body in enumerate(bodies, 1):
                await send({"type": "http.response.body", "body": body, "more_body": number < len(bodies)})

        self.answer = answer


def the(way: Receive | Send) -> Exchange:
    exchange = whole(way)
    assert isinstance(exchange, Exchange)
    return exchange


@pytest.fixture
async def scripted(tmp_path: Path) -> AsyncIterator[tuple[Scripted, Ask]]:
    listener = bind("127.0.0.1", 0)
    address = listener.getsockname()
    application = Scripted()
    listening = asyncio.Event()
    settings = load({}, {"data": str(tmp_path), "header_timeout": "1"})
    server = Server(application, settings, listening.set)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]  # the signals are pytest's
    task = asyncio.create_task(server.serve([listener]))
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
    server.should_exit = True
    await asyncio.wait_for(task, 20)
    listener.close()


async def test_head_and_body_are_as_the_application_said(scripted: tuple[Scripted, Ask]) -> None:
    application, ask = scripted
    application.says(201, b"{}", content_length="2", X_Test="1")
    answer = await ask(GET)
    assert answer.startswith(b"HTTP/1.1 201 Created\r\ndate: ")
    assert answer.endswith(b"content-length: 2\r\nx-test: 1\r\nconnection: close\r\n\r\n{}")


async def test_a_body_without_a_length_goes_in_chunks(scripted: tuple[Scripted, Ask]) -> None:
    application, ask = scripted
    application.says(200, b"one", b"", b"three", X_Test="1")
    assert (await ask(GET)).endswith(b"transfer-encoding: chunked\r\n\r\n3\r\none\r\n5\r\nthree\r\n0\r\n\r\n")


async def test_a_long_body_arrives_whole(scripted: tuple[Scripted, Ask]) -> None:
    application, ask = scripted
    body = bytes(range(256)) * 4096
    application.says(200, body[:70_000], body[70_000:], content_length=str(len(body)))
    assert (await ask(GET)).partition(b"\r\n\r\n")[2] == body


@pytest.mark.parametrize("status", [204, 304])
async def test_an_answer_without_a_body_has_neither_length_nor_chunks(
    scripted: tuple[Scripted, Ask], status: int
) -> None:
    application, ask = scripted
    application.says(status, b"")
    head, _, body = (await ask(GET)).partition(b"\r\n\r\n")
    assert body == b""
    assert b"chunked" not in head
    assert b"content-length" not in head


async def test_head_is_answered_without_the_body(scripted: tuple[Scripted, Ask]) -> None:
    application, ask = scripted
    application.says(200, b"body", content_length="4")
    answer = await ask(GET.replace(b"GET", b"HEAD"))
    assert b"content-length: 4\r\n" in answer
    assert answer.endswith(b"\r\n\r\n")


async def test_the_application_can_end_the_connection(scripted: tuple[Scripted, Ask]) -> None:
    application, ask = scripted
    application.says(200, b"", content_length="0", Connection="x, Close")
    answer = await ask(GET.replace(b"Connection: close\r\n", b"") * 2)
    assert answer.count(b"HTTP/1.1") == 1
    assert answer.count(b"onnection: ") == 1


async def test_http_1_0_is_answered_and_closed(scripted: tuple[Scripted, Ask]) -> None:
    application, ask = scripted
    application.says(200, b"1", content_length="1")
    assert (await ask(b"GET / HTTP/1.0\r\n\r\n")).endswith(b"connection: close\r\n\r\n1")


async def test_requests_that_come_together_are_answered_in_their_order(scripted: tuple[Scripted, Ask]) -> None:
    application, ask = scripted

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(0.05 if scope["path"] == "/1" else 0)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": scope["raw_path"]})

    application.answer = answer
    last = GET.replace(b"GET /", b"GET /3")
    answers = await ask(b"GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n" + last)
    assert [part[-2:] for part in answers.split(b"HTTP/1.1 200 OK")[1:]] == [b"/1", b"/2", b"/3"]


async def test_a_head_begun_behind_a_request_that_takes_long_is_timed_from_its_answer(
    scripted: tuple[Scripted, Ask],
) -> None:
    application, ask = scripted

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.sleep(1.5)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": scope["raw_path"]})

    application.answer = answer
    answers = await ask(b"GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost")
    assert [part[:4] for part in answers.split(b"HTTP/1.1 ")[1:]] == [b"200 ", b"408 "]


@pytest.mark.parametrize(
    ("bodies", "headers"),
    [
        ((b"",), {"x": "a\r\nset-cookie: b"}),
        ((b"",), {"x y": "1"}),
        ((b"too long",), {"content_length": "2"}),
        ((b"short",), {"content_length": "9"}),
    ],
)
async def test_a_wrong_answer_ends_the_connection(
    scripted: tuple[Scripted, Ask], bodies: tuple[bytes, ...], headers: dict[str, str]
) -> None:
    application, ask = scripted
    application.says(200, *bodies, **headers)
    answer = await ask(GET)
    assert b"set-cookie" not in answer
    assert b"too long" not in answer
    assert [type(failure) for failure in application.failures] == [RuntimeError]


async def test_messages_out_of_order_are_refused(scripted: tuple[Scripted, Ask]) -> None:
    application, ask = scripted

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        with pytest.raises(RuntimeError):
            await send({"type": "http.response.body", "body": b""})
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        with pytest.raises(RuntimeError):
            await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body"})
        with pytest.raises(RuntimeError):
            await send({"type": "http.response.body"})

    application.answer = answer
    assert (await ask(GET)).startswith(b"HTTP/1.1 200 OK")
    assert application.failures == []


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


async def test_who_waits_to_be_told_to_go_on_is_told(scripted: tuple[Scripted, Ask]) -> None:
    application, ask = scripted

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        assert the(receive).arrived() is None
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    application.answer = answer
    answered = await ask(POST + b"Expect: 100-continue\r\n\r\n", b"body")
    assert answered.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")


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
        exchange.flow.pause_writing()
        given.append(exchange.answer(200, b"", b""))
        exchange.flow.resume_writing()
        given.append(exchange.answer(200, b"", b""))

    application.answer = answer
    assert (await ask(GET)).count(b"HTTP/1.1 200 OK") == 1
    assert given == [False, True]


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


async def test_a_trailer_may_be_as_long_as_a_head(scripted: tuple[Scripted, Ask]) -> None:
    application, ask = scripted

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body", False):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    application.answer = answer
    start = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    third = b"".join(b"X-%d: %b\r\n" % (number, b"y" * 490) for number in range(10))
    assert (await ask(start, third, third, b"\r\n")).startswith(b"HTTP/1.1 200 ")
    assert (await ask(start, third, third, third, third, b"\r\n")).startswith(b"HTTP/1.1 431 ")


async def test_whoever_stands_between_sees_the_messages(scripted: tuple[Scripted, Ask]) -> None:
    application, ask = scripted

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def received() -> Message:
            return await receive()

        async def sent(message: Message) -> None:
            await send(message)

        found.extend((whole(received), whole(sent), whole(receive), whole(send)))
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    found: list[Whole | None] = []
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
