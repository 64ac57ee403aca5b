"""The pool of connections, with connections that are none."""

import asyncio
from dataclasses import dataclass

import pytest

from strongroom.storage import Unavailable
from strongroom.storage.postgres import pool
from strongroom.storage.postgres.pool import Pool

pytestmark = pytest.mark.anyio


@dataclass(eq=False)
class Line:
    """A connection."""

    born: float = 0.0
    generation: int = 0
    closed: bool = False

    cut: bool = False

    def abort(self) -> None:
        self.cut = True

    async def close(self) -> None:
        self.closed = True


class Server:
    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.down = False

    async def connect(self) -> Line:
        await asyncio.sleep(0)
        if self.down:
            raise ConnectionRefusedError
        self.lines.append(Line())
        return self.lines[-1]


@pytest.fixture
def server() -> Server:
    return Server()


async def test_connections_are_opened_when_needed_and_used_again(server: Server) -> None:
    own = Pool(server.connect, size=3)
    for _ in range(5):
        await own.give(await own.take())
    assert len(server.lines) == 1
    taken = [await own.take() for _ in range(3)]
    assert len({id(line) for line in taken}) == 3


async def test_a_waiting_caller_gets_the_next_connection_returned(server: Server) -> None:
    own = Pool(server.connect, size=1)
    line = await own.take()
    waiting = [asyncio.ensure_future(own.take()) for _ in range(3)]
    await asyncio.sleep(0)
    for task in waiting:
        await own.give(line)
        assert await task is line
    assert len(server.lines) == 1


async def test_a_wait_has_an_end_and_loses_no_connection(server: Server) -> None:
    own = Pool(server.connect, size=1, wait=0.02)
    line = await own.take()
    with pytest.raises(Unavailable):
        await own.take()
    await own.give(line)
    assert await own.take() is line


async def test_a_caller_cancelled_while_it_gets_a_connection_loses_none(server: Server) -> None:
    own = Pool(server.connect, size=1)
    line = await own.take()
    gone, staying = asyncio.ensure_future(own.take()), asyncio.ensure_future(own.take())
    await asyncio.sleep(0)
    await own.give(line)
    gone.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gone
    assert await asyncio.wait_for(staying, 1) is line


async def test_the_queue_for_connections_is_bounded(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "MOST_WAITING", 2)
    own = Pool(server.connect, size=1, wait=0.05)
    await own.take()
    tasks = [asyncio.ensure_future(own.take()) for _ in range(3)]
    done, _ = await asyncio.wait(tasks, timeout=0.01)
    assert done == {tasks[2]}
    assert isinstance(tasks[2].exception(), Unavailable)
    assert all(isinstance(outcome, Unavailable) for outcome in await asyncio.gather(*tasks, return_exceptions=True))


async def test_while_the_server_refuses_so_does_the_pool_at_once(server: Server) -> None:
    own = Pool(server.connect, size=2, wait=60)
    server.down = True
    outcomes = await asyncio.wait_for(asyncio.gather(*(own.take() for _ in range(9)), return_exceptions=True), 5)
    assert {type(outcome) for outcome in outcomes} == {ConnectionRefusedError}
    server.down = False
    assert not (await own.take()).closed


async def test_a_broken_connection_makes_room_for_a_waiting_caller(server: Server) -> None:
    own = Pool(server.connect, size=1)
    line = await own.take()
    waiting = asyncio.ensure_future(own.take())
    await asyncio.sleep(0)
    await own.discard(line)
    assert await waiting is not line
    assert line.closed


async def test_after_a_loss_all_older_connections_are_replaced(server: Server) -> None:
    own = Pool(server.connect, size=4)
    first, second, third = [await own.take() for _ in range(3)]
    await own.give(first)
    await own.renew(second)
    assert first.closed
    await own.give(third)
    assert third.closed
    await own.discard(second)
    fresh = await own.take()
    await own.give(fresh)
    await own.renew(third)  # opened before the loss that is known already
    assert await own.take() is fresh


async def test_connections_grow_old(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Pool(server.connect, size=1)
    line = await own.take()
    await own.give(line)
    line.born -= pool.MAX_AGE_SECONDS + 1
    assert await own.take() is not line
    assert line.closed


async def test_closing_waits_for_connections_in_use(server: Server) -> None:
    own = Pool(server.connect, size=2)
    first, second = await own.take(), await own.take()
    await own.give(first)
    closing = asyncio.ensure_future(own.close())
    await asyncio.sleep(0.01)
    assert first.closed
    assert not closing.done()
    await own.give(second)
    await asyncio.wait_for(closing, 1)
    assert second.closed
    with pytest.raises(Unavailable):
        await own.take()


async def test_connections_not_returned_in_time_are_closed(server: Server) -> None:
    own = Pool(server.connect, use=0.04)
    held, given = await own.take(), await own.take()
    await own.give(given)
    await asyncio.sleep(0.1)
    assert (held.cut, given.cut) == (True, False)
    await own.discard(held)


async def test_an_idle_pool_keeps_no_timer(server: Server) -> None:
    own = Pool(server.connect, wait=0.04)
    await own.give(await own.take())
    await asyncio.sleep(0.05)
    assert own._watch is None
    await own.close()


async def test_an_open_connection_is_taken_before_a_new_one_is_made(server: Server) -> None:
    own, line = Pool(server.connect, size=1), Line()
    own.add(line)
    assert await own.take() is line
    await own.give(line)
    await own.close()
    assert line.closed
    assert not server.lines
