"""How many connections are taken in a turn, what stands in the way, and what closing leaves."""

import asyncio
import errno
import socket
import time
from collections.abc import AsyncIterator, Callable

import pytest

from strongroom.http import acceptor
from strongroom.http.acceptor import AT_ONCE, AT_ONCE_WHERE_SHARED, Acceptor

pytestmark = pytest.mark.anyio
MakeAcceptor = Callable[[int], Acceptor]


class Counted(asyncio.Protocol):
    made = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        Counted.made += 1
        transport.close()


class Listener(socket.socket):
    """Counts what is asked of it, and fails as it is told to."""

    failures: list[int]
    accepted: int

    def accept(self) -> tuple[socket.socket, object]:
        if self.failures:
            number = self.failures.pop(0)
            raise OSError(number, "as it was told to")
        connection, peer = super().accept()
        self.accepted += 1
        return connection, peer


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    with Listener() as made:
        made.failures, made.accepted = [], 0
        made.bind(("127.0.0.1", 0))
        made.listen(100)
        made.setblocking(False)
        Counted.made = 0
        yield made


@pytest.fixture
async def accept_from(listener: Listener) -> AsyncIterator[MakeAcceptor]:
    opened: list[Acceptor] = []

    def make(most: int) -> Acceptor:
        opened.append(Acceptor(asyncio.get_running_loop(), listener, Counted, most))
        return opened[-1]

    yield make
    for one in opened:
        await one.close()


def call(listener: Listener, count: int) -> list[socket.socket]:
    """Callers who all wait to be taken: a connection is made a moment before it can be."""
    callers = [socket.create_connection(listener.getsockname()) for _ in range(count)]
    time.sleep(0.05)
    return callers


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110  # nobody tells
            await asyncio.sleep(0.01)


async def turns(listener: Listener, wanted: int) -> list[int]:
    """How many were taken in each turn of the loop, until so many were."""
    found: list[int] = []
    while sum(found) < wanted:
        before = listener.accepted
        await asyncio.sleep(0)
        found.append(listener.accepted - before)
    return [taken for taken in found if taken]


@pytest.mark.parametrize(("most", "expected"), [(AT_ONCE, [64, 6]), (AT_ONCE_WHERE_SHARED, [1] * 70)])
async def test_so_many_are_taken_in_a_turn(
    listener: Listener, accept_from: MakeAcceptor, most: int, expected: list[int]
) -> None:
    callers = call(listener, 70)
    accept_from(most)
    assert await turns(listener, 70) == expected
    for caller in callers:
        caller.close()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENOMEM, errno.EPERM])
async def test_where_nothing_can_be_taken_it_waits_and_goes_on_with_one_a_turn(
    listener: Listener, accept_from: MakeAcceptor, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acceptor, "_PAUSE_SECONDS", 0.5)
    listener.failures = [number]
    callers = call(listener, 5)
    accept_from(AT_ONCE)
    await until(lambda: not listener.failures)
    assert listener.accepted == 0
    assert await turns(listener, 5) == [1] * 5
    for caller in callers:
        caller.close()


@pytest.mark.parametrize("number", [errno.ECONNABORTED, errno.EINTR])
async def test_a_caller_who_has_gone_is_passed_over(listener: Listener, accept_from: MakeAcceptor, number: int) -> None:
    listener.failures = [number]
    (caller,) = call(listener, 1)
    accept_from(AT_ONCE)
    await until(lambda: Counted.made == 1)
    assert not listener.failures
    caller.close()


async def test_who_was_taken_has_a_protocol_when_it_is_closed_and_nobody_is_taken_any_more(
    listener: Listener, accept_from: MakeAcceptor
) -> None:
    callers = call(listener, 5)
    opened = accept_from(AT_ONCE)
    opened._accept()
    assert Counted.made == 0
    await opened.close()
    assert Counted.made == 5
    callers += call(listener, 5)
    await asyncio.sleep(0.05)
    assert listener.accepted == 5
    for caller in callers:
        caller.close()


async def test_closing_ends_a_pause_too(
    listener: Listener, accept_from: MakeAcceptor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acceptor, "_PAUSE_SECONDS", 0.3)
    listener.failures = [errno.EMFILE]
    callers = call(listener, 1)
    opened = accept_from(AT_ONCE)
    await until(lambda: not listener.failures)
    await opened.close()
    await asyncio.sleep(0.4)
    assert listener.accepted == 0
    for caller in callers:
        caller.close()
