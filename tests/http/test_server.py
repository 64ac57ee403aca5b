"""The HTTP server on a real socket: deadlines, caps, smuggling, graceful end."""

import asyncio
import contextlib
import errno
import json
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NoReturn

import pytest

from strongroom.app import Application
from strongroom.http import acceptor
from strongroom.http import connection as http_connection
from strongroom.http.connection import MAX_HEAD_BYTES, MAX_HEADERS, MAX_PIPELINED, Connection
from strongroom.http.server import Server, bind
from strongroom.runtime.settings import load

pytestmark = pytest.mark.anyio
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
REFUSED = b"POST /keystore/session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@pytest.fixture
async def address(tmp_path: Path) -> AsyncIterator[tuple[str, int]]:
    listener = bind("127.0.0.1", 0)
    port = listener.getsockname()[1]
    settings = load(
        {},
        {
            "data": str(tmp_path),
            "port": str(port),
            "access_log": "off",
            "header_timeout": "1",
            "body_timeout": "1",
            "connections": "20",
        },
    )
    listening = asyncio.Event()
    server = Server(Application(settings), settings, listening.set)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]  # the signals are pytest's
    task = asyncio.create_task(server.serve([listener]))
    await asyncio.wait_for(listening.wait(), 20)
    yield "127.0.0.1", port
    server.should_exit = True
    await asyncio.wait_for(task, 20)
    listener.close()


async def exchange(address: tuple[str, int], sent: bytes, *, wait: float = 5) -> bytes:
    """Send bytes on a new connection; everything that comes back until the other side closes."""
    reader, writer = await asyncio.open_connection(*address)
    try:
        writer.write(sent)
        await writer.drain()
        return await asyncio.wait_for(reader.read(-1), wait)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


def code(answer: bytes) -> str:
    """The refusal code of a raw answer, which has to be a problem document."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head.lower()
    found: str = json.loads(body)["code"]
    return found


async def test_a_plain_request_is_answered(address: tuple[str, int]) -> None:
    answer = await exchange(address, b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b'{"status":"ok"}')
    assert b"server:" not in answer.lower()


@pytest.mark.parametrize(
    "sent",
    [
        b"NONSENSE\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHo st: x\r\n\r\n",
        b"GET http://x HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
async def test_what_is_no_http_is_answered_400_and_closed(address: tuple[str, int], sent: bytes) -> None:
    answer = await exchange(address, sent)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert code(answer) == "malformed_request"


async def test_an_endless_header_is_answered_431(address: tuple[str, int]) -> None:
    many = b"".join(b"X-%d: y\r\n" % number for number in range(4000))
    answer = await exchange(address, b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + many)
    assert code(answer) == "headers_too_large"
    one = b"GET /healthz HTTP/1.1\r\nX: " + b"y" * MAX_HEAD_BYTES
    assert code(await exchange(address, one + b"\r\n\r\n")) == "headers_too_large"
    # Whoever still sends when the connection ends may be told of that end before the answer is read.
    with contextlib.suppress(ConnectionError):
        assert code(await exchange(address, one * 20)) == "headers_too_large"


async def test_many_headers_are_answered_431(address: tuple[str, int]) -> None:
    head = b"GET /healthz HTTP/1.1\r\nConnection: close\r\n" + b"a:\r\n" * (MAX_HEADERS - 1)
    assert (await exchange(address, head + b"\r\n")).startswith(b"HTTP/1.1 200 ")
    assert code(await exchange(address, head + b"a:\r\n\r\n")) == "headers_too_large"


async def test_many_headers_are_not_kept_until_the_rest_of_their_head_arrives(address: tuple[str, int]) -> None:
    head = b"GET /healthz HTTP/1.1\r\n" + b"a:\r\n" * (MAX_HEADERS + 2)
    assert code(await exchange(address, head)) == "headers_too_large"
    behind = await exchange(address, HEALTH + head)
    assert [answer[:4] for answer in behind.split(b"HTTP/1.1 ")[1:]] == [b"200 ", b"431 "]
    # What the parser refused is answered once.
    assert code(await exchange(address, head + b"no header\r\n")) == "malformed_request"


async def _in_pieces(address: tuple[str, int], *pieces: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(*address)
    read = bytearray()

    async def listen() -> None:
        with contextlib.suppress(ConnectionError):  # it may end while we still send
            while received := await reader.read(65536):
                read.extend(received)

    listening = asyncio.create_task(listen())
    for piece in pieces:
        writer.write(piece)
        await asyncio.sleep(0.05)
    await asyncio.wait_for(listening, 5)
    writer.close()
    return bytes(read)


async def test_a_head_in_pieces_may_be_as_large_as_one_that_comes_whole(address: tuple[str, int]) -> None:
    third = b"".join(b"X-%d: %b\r\n" % (number, b"y" * 490) for number in range(10))
    head = HEALTH[:-2] + b"Connection: close\r\n"
    assert (await _in_pieces(address, head + third, third, third + b"\r\n")).startswith(b"HTTP/1.1 200 ")
    assert code(await _in_pieces(address, head + third, third, third, third)) == "headers_too_large"
    # What came before it in the same read is not counted with it.
    answers = await _in_pieces(address, HEALTH[:-2] + third * 2 + b"\r\n" + head + third, third, third + b"\r\n")
    assert answers.count(b"HTTP/1.1 200 ") == 2


async def test_what_cannot_be_read_is_answered_after_what_came_before_it(address: tuple[str, int]) -> None:
    answers = await exchange(address, HEALTH * 3 + b"NONSENSE\r\n\r\n" + HEALTH)
    assert [answer[:4] for answer in answers.split(b"HTTP/1.1 ")[1:]] == [b"200 ", b"200 ", b"200 ", b"400 "]


async def test_a_broken_body_of_a_request_that_waits_its_turn_ends_with_the_answer_to_it(
    address: tuple[str, int],
) -> None:
    answers = await exchange(address, HEALTH * 2 + REFUSED + b"Transfer-Encoding: chunked\r\n\r\nnonsense\r\n")
    assert [answer[:4] for answer in answers.split(b"HTTP/1.1 ")[1:]] == [b"200 ", b"200 ", b"401 "]


async def test_more_requests_at_once_than_are_taken_end_with_503(address: tuple[str, int]) -> None:
    answers = await exchange(address, HEALTH * (MAX_PIPELINED + 1) + b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n")
    statuses = [answer[:4] for answer in answers.split(b"HTTP/1.1 ")[1:]]
    assert statuses == [b"200 "] * (MAX_PIPELINED + 1) + [b"503 "]


async def test_a_header_that_trickles_is_answered_408(address: tuple[str, int]) -> None:
    answer = await exchange(address, b"GET /healthz HTTP/1.1\r\nHost:")
    assert code(answer) == "request_timeout"


async def test_an_idle_connection_is_closed_without_a_word(address: tuple[str, int]) -> None:
    assert await exchange(address, b"") == b""


async def test_more_connections_than_allowed_are_answered_503(address: tuple[str, int]) -> None:
    held = [await asyncio.open_connection(*address) for _ in range(20)]
    try:
        assert code(await exchange(address, b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")) == "unavailable"
    finally:
        for _, writer in held:
            writer.close()


@pytest.mark.parametrize(
    ("request_", "later"),
    [
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", b"\r\n"),
        (REFUSED + b"Content-Length: 5000\r\n\r\n{", b"x"),
        (REFUSED + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", b"1\r\nx\r\n"),
        (REFUSED + b"Content-Length: 2\r\n\r\n{", b"}"),
    ],
)
async def test_a_connection_that_was_answered_cannot_be_held_with_a_byte(
    address: tuple[str, int], request_: bytes, later: bytes
) -> None:
    reader, writer = await asyncio.open_connection(*address)
    writer.write(request_)
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
    assert head.startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 401 "))
    writer.write(later)
    rest = await asyncio.wait_for(reader.read(-1), 4)  # ends when the server closes
    assert b"HTTP/1.1" not in rest
    writer.close()


async def test_the_rest_of_a_refused_body_leaves_the_connection_usable(address: tuple[str, int]) -> None:
    reader, writer = await asyncio.open_connection(*address)
    writer.write(REFUSED + b"Content-Length: 4\r\n\r\n{")
    await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 5)
    writer.write(b"   GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert (await asyncio.wait_for(reader.read(-1), 5)).endswith(b'{"status":"ok"}')
    writer.close()


OFFER = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n"


async def test_an_offer_of_another_protocol_is_passed_over(address: tuple[str, int]) -> None:
    """Some clients make one with their first request, whatever that is."""
    with_body = REFUSED + OFFER + b"Content-Length: 2\r\n\r\n{}"
    without = HEALTH.replace(b"\r\n\r\n", b"\r\n" + OFFER + b"\r\n")
    last = HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    reader, writer = await asyncio.open_connection(*address)
    writer.write(with_body)
    assert code(await asyncio.wait_for(reader.readuntil(b"}]}"), 5)) == "subscription_key_missing"
    writer.write(without + last)
    assert (await asyncio.wait_for(reader.read(-1), 5)).count(b"HTTP/1.1 200 ") == 2
    writer.close()


@pytest.mark.parametrize("framing", [b"Content-Length: 35\r\n", b"Transfer-Encoding: chunked\r\n"])
async def test_the_body_of_a_request_that_offers_another_protocol_is_no_request(
    address: tuple[str, int], framing: bytes
) -> None:
    """Where the offer came in two pieces. The parser takes the body for the other protocol."""
    reader, writer = await asyncio.open_connection(*address)
    writer.write(REFUSED + b"Connection: Upgrade\r\nUpgr")
    await asyncio.sleep(0.1)
    writer.write(b"ade: h2c\r\n" + framing + b"\r\n")
    answer = await asyncio.wait_for(reader.readuntil(b"}]}"), 5)
    assert code(answer) == "malformed_request"
    with contextlib.suppress(ConnectionError):
        writer.write(HEALTH)
        assert await asyncio.wait_for(reader.read(-1), 5) == b""
    writer.close()


async def test_a_trailer_is_no_header(address: tuple[str, int]) -> None:
    body = b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\n"
    answer = await exchange(address, REFUSED + body + b"Service-Subscription-Key: x\r\nX-Request-Id: trailer\r\n\r\n")
    assert code(answer) == "subscription_key_missing"
    assert b"trailer" not in answer


async def test_an_answer_that_nobody_takes_ends_the_connection(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = asyncio.Event()
    connection_lost = Connection.connection_lost

    def noted(connection: Connection, error: Exception | None) -> None:
        connection_lost(connection, error)
        lost.set()

    monkeypatch.setattr(http_connection, "STALL_SECONDS", 0.3)
    monkeypatch.setattr(Connection, "connection_lost", noted)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        client.connect(address)
        client.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 60)
        await asyncio.wait_for(lost.wait(), 4)
    assert lost.is_set()


async def test_an_answer_that_is_taken_slowly_arrives(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_connection, "STALL_SECONDS", 0.3)
    reader, writer = await asyncio.open_connection(*address, limit=1024)
    writer.write(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    taken = b""
    while chunk := await asyncio.wait_for(reader.read(16 * 1024), 5):
        taken += chunk
        await asyncio.sleep(0.1)
    head, _, body = taken.partition(b"\r\n\r\n")
    assert f"content-length: {len(body)}".encode() in head
    writer.close()


async def test_an_answer_does_not_wait_until_the_one_before_it_is_acknowledged(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    undelayed = []
    connection_made = Connection.connection_made

    def noted(connection: Connection, transport: asyncio.BaseTransport) -> None:
        undelayed.append(transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        connection_made(connection, transport)

    monkeypatch.setattr(Connection, "connection_made", noted)
    await exchange(address, HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    assert undelayed == [1]


async def test_connections_that_come_at_once_are_taken_at_once(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One a turn is what uvloop does: then the last of a burst waits for the answers to everybody before it."""
    turns: list[set[socket.socket]] = [set()]
    taken = socket.socket.accept

    def noted(listener: socket.socket) -> tuple[socket.socket, object]:
        connection, peer = taken(listener)
        turns[-1].add(connection)
        return connection, peer

    waiting = [socket.create_connection(address) for _ in range(15)]  # while this turn lasts nobody takes them
    time.sleep(0.05)  # noqa: ASYNC251  # nor now, when the last of them can be taken too
    monkeypatch.setattr(socket.socket, "accept", noted)
    try:
        while sum(map(len, turns)) < len(waiting):
            turns.append(set())
            await asyncio.sleep(0)
    finally:
        for connection in waiting:
            connection.close()
    assert max(map(len, turns)) == len(waiting)


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EPERM])
async def test_where_none_can_be_taken_connections_wait(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    monkeypatch.setattr(acceptor, "_PAUSE_SECONDS", 0.5)
    tries = []
    tried = asyncio.Event()

    def exhausted(listener: socket.socket) -> NoReturn:
        tries.append(listener)
        tried.set()
        raise OSError(number, "no")

    with monkeypatch.context() as context:
        context.setattr(socket.socket, "accept", exhausted)
        answer = asyncio.create_task(exchange(address, HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")))
        await tried.wait()
        await asyncio.sleep(0.05)
        assert len(tries) == 1  # and not as often as the loop turns
    assert (await answer).startswith(b"HTTP/1.1 200 ")
    [said] = [record for record in caplog.records if "no more connections" in record.getMessage()]
    assert vars(said)["cause"] == errno.errorcode[number]


async def test_connections_whose_caller_has_gone_take_few_file_descriptors_again(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acceptor, "_PAUSE_SECONDS", 0.1)
    refused = 0
    taken: list[socket.socket] = []
    accept = socket.socket.accept

    def scarce(listener: socket.socket) -> tuple[socket.socket, object]:
        nonlocal refused
        if sum(connection.fileno() >= 0 for connection in taken) == 10:
            refused += 1
            raise OSError(errno.EMFILE, "too many open files")
        connection, peer = accept(listener)
        taken.append(connection)
        return connection, peer

    monkeypatch.setattr(socket.socket, "accept", scarce)
    for _ in range(50):  # while this turn lasts nobody takes them
        socket.create_connection(address).close()
    answer = await exchange(address, HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert refused == 1
