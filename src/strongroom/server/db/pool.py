"""A pool of database connections: few, opened when needed, handed on without a round trip.

It fails as fast as the database does: while that refuses connections so does the pool, and it recovers by itself with
the first request after the database has.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

from strongroom.server.db import Unavailable

SIZE = 8
WAIT_SECONDS = 5.0
MOST_WAITING = 512
MAX_AGE_SECONDS = 3600.0
CLOSE_SECONDS = 15.0


class Pooled(Protocol):
    """What the pool asks of a connection."""

    born: float
    generation: int

    @property
    def closed(self) -> bool: ...

    async def close(self) -> None: ...


C = TypeVar("C", bound=Pooled)


class Pool(Generic[C]):
    def __init__(self, connect: Callable[[], Awaitable[C]], size: int = SIZE, wait: float = WAIT_SECONDS) -> None:
        self._connect = connect
        self._size = size
        self._wait = wait
        self._idle: list[C] = []
        self._out = 0
        self._waiting: deque[asyncio.Future[C | None]] = deque()
        self._generation = 0
        self._closed = False
        self._emptied = asyncio.Event()

    async def take(self) -> C:
        """A connection, for `give` or `discard` afterwards. Errors of connecting; `Unavailable` after a wait."""
        while not self._closed:
            while self._idle:
                # The one used last: its caches are warm, and those not needed grow old.
                connection = self._idle.pop()
                if not self._is_stale(connection):
                    self._out += 1
                    return connection
                await connection.close()
            if self._out < self._size:
                return await self._open()
            handed = await self._queue()
            if handed is not None:
                return handed
        raise Unavailable

    async def give(self, connection: C) -> None:
        """Back for the next one, unless it is worn out or the pool is closing."""
        if self._closed or self._is_stale(connection):
            await self.discard(connection)
            return
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(connection)
                return
        self._out -= 1
        self._idle.append(connection)

    async def discard(self, connection: C) -> None:
        """Close it; a new one may be opened in its place."""
        self._release()
        await connection.close()

    async def renew(self, lost: C) -> None:
        """A connection turned out to be dead or useless: so are, most likely, all that were opened before now."""
        if lost.generation != self._generation:
            return  # somebody has seen to it
        self._generation += 1
        stale, self._idle = self._idle, []
        for connection in stale:
            await connection.close()

    async def close(self) -> None:
        """Wait for the connections that are in use, at most for a while."""
        self._closed = True
        while self._waiting:
            self._wake()
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.close()
        if self._out:
            self._emptied.clear()
            try:
                await asyncio.wait_for(self._emptied.wait(), CLOSE_SECONDS)
            except TimeoutError:
                return

    async def _open(self) -> C:
        self._out += 1
        generation = self._generation
        try:
            connection = await self._connect()
        except BaseException:
            self._release()
            raise
        connection.generation, connection.born = generation, time.monotonic()
        return connection

    async def _queue(self) -> C | None:
        """Wait in line: a connection, or None when there is room for a new one."""
        if len(self._waiting) >= MOST_WAITING:
            raise Unavailable
        waiting: asyncio.Future[C | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        try:
            async with asyncio.timeout(self._wait):
                return await waiting
        except BaseException as error:
            if waiting.done() and not waiting.cancelled():
                # Handed over in the moment of giving up: it must not be lost.
                handed = waiting.result()
                if handed is None:
                    self._wake()
                else:
                    await self.give(handed)
            if isinstance(error, TimeoutError):
                raise Unavailable from error
            raise

    def _release(self) -> None:
        self._out -= 1
        if self._out == 0:
            self._emptied.set()
        self._wake()

    def _wake(self) -> None:
        while self._waiting:
            waiting = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(None)
                return

    def _is_stale(self, connection: C) -> bool:
        return (
            connection.closed
            or connection.generation != self._generation
            or time.monotonic() - connection.born > MAX_AGE_SECONDS
        )
