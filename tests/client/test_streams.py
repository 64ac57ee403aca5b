"""Streams of the core: bodies of any length each way in constant memory, against a real socket."""

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.client.sockets import Serve, read_request

from strongroom import ProtocolViolation, ServiceRefused, ServiceUnavailable
from strongroom.client.connection import ServiceConnection
from strongroom.client.observing import Exchange
from strongroom.wire.endpoint import AnyEndpoint, Endpoint, Open
from strongroom.wire.octets import Octets

pytestmark = pytest.mark.anyio

MIB = 1024 * 1024
ROOT = Path(__file__).parents[2]
UP: AnyEndpoint = Endpoint(
    method="PUT",
    path="/vault/octets",
    summary="",
    credential=Open(because="a test"),
    body=Octets,
    answer=Octets,
    media_types=("application/octet-stream",),
    subscription_key=False,
)
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"

# Its own process, whose highest memory use says something. The server's thread in it holds one piece at a time.
CONSTANT = """
import asyncio, resource, sys
from tests.client.sockets import read_request, servers
from tests.client.test_streams import HEAD, MIB, UP
from strongroom.client.connection import ServiceConnection

SIZE = 256 * MIB
PIECE = bytes(64 * 1024)

def treat(connection):
    buffer, left = bytearray(MIB), SIZE
    head = read_request(connection)
    left -= len(head.partition(b"\\r\\n\\r\\n")[2])
    while left:
        left -= connection.recv_into(buffer)
    connection.sendall(HEAD + b"Content-Length: %d\\r\\n\\r\\n" % SIZE)
    for _ in range(SIZE // len(PIECE)):
        connection.sendall(PIECE)

async def pieces(size):
    for _ in range(size // len(PIECE)):
        yield PIECE

async def main(url):
    connection = ServiceConnection(url)
    received = 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    async with connection.stream(UP, body=pieces(SIZE), headers={"Content-Length": str(SIZE)}) as reply:
        async for piece in reply:
            received += len(piece)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await connection.close()
    print(received // MIB, (after - before) // 1024)

with servers() as serve:
    asyncio.run(main(serve(treat)))
"""


def test_256_mib_each_way_in_constant_memory() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CONSTANT],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        cwd=sys.path[0] or ".",
    )
    received, grown = map(int, done.stdout.split())
    assert received == 256
    assert grown < 24, "MiB more than before"


async def body(*pieces: bytes, pause: float = 0.0) -> AsyncIterator[bytes]:
    for piece in pieces:
        await asyncio.sleep(pause)
        yield piece


def answer(text: bytes, pause: float = 0.0, head: bytes = HEAD) -> Any:
    """Reads the request's body by its end, then sends the answer in octets of `pause` seconds."""

    def treat(connection: socket.socket) -> None:
        received = read_request(connection)
        while not received.endswith(b"0\r\n\r\n"):
            received += connection.recv(65536)
        connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(text))
        for octet in text:
            connection.sendall(bytes([octet]))
            time.sleep(pause)

    return treat


async def test_a_source_that_takes_its_time_is_waited_for(serve: Serve) -> None:
    connection = ServiceConnection(serve(answer(b"done")), timeout=0.6)
    async with connection.stream(UP, body=body(b"a", b"b", b"c", pause=0.4)) as reply:
        await asyncio.sleep(0.7)  # and so is the use of the answer
        assert b"".join([piece async for piece in reply]) == b"done"
    await connection.close()


async def test_an_answer_that_trickles_is_cut_off(serve: Serve) -> None:
    connection = ServiceConnection(serve(answer(b"x" * 1000, pause=0.02)), timeout=0.5)
    started = time.monotonic()
    async with connection.stream(UP, body=body(b"a")) as reply:
        with pytest.raises(ServiceUnavailable):
            [piece async for piece in reply]
    assert time.monotonic() - started < 5
    await connection.close()


async def test_a_service_that_does_not_take_the_body_is_given_up(serve: Serve) -> None:
    def idle(connection: socket.socket) -> None:
        read_request(connection)
        time.sleep(5)

    connection = ServiceConnection(serve(idle), timeout=0.5)
    with pytest.raises(ServiceUnavailable):
        async with connection.stream(UP, body=body(*[bytes(MIB)] * 64)):
            raise AssertionError
    await connection.close()


async def test_an_error_of_the_source_or_of_the_user_reaches_the_caller(serve: Serve) -> None:
    connection = ServiceConnection(serve(answer(b"done")))

    async def broken() -> AsyncIterator[bytes]:
        yield b"a"
        raise LookupError

    with pytest.raises(LookupError):
        async with connection.stream(UP, body=broken()):
            raise AssertionError
    with pytest.raises(ZeroDivisionError):
        async with connection.stream(UP, body=body(b"a")):
            raise ZeroDivisionError
    await connection.close()


async def test_a_refusal_of_a_stream_is_typed_and_the_observer_sees_it(serve: Serve) -> None:
    problem = b'{"type":"t","title":"t","status":413,"detail":"d","instance":"i","code":"body_too_large","errors":[]}'
    head = b"HTTP/1.1 413 Too Large\r\nContent-Type: application/problem+json\r\n"
    seen: list[Exchange] = []
    connection = ServiceConnection(serve(answer(problem, head=head)), observer=seen.append)
    with pytest.raises(ServiceRefused):
        async with connection.stream(UP, body=body(b"a")):
            raise AssertionError
    assert [(exchange.status, exchange.response_body) for exchange in seen] == [(413, problem)]
    await connection.close()


async def test_an_encoded_stream_is_refused(serve: Serve) -> None:
    connection = ServiceConnection(serve(answer(b"done", head=HEAD + b"Content-Encoding: gzip\r\n")))
    with pytest.raises(ProtocolViolation):
        async with connection.stream(UP, body=body(b"a")):
            raise AssertionError
    await connection.close()
