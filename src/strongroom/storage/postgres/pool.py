"""A pool of database connections: few, opened when needed, handed on without a round trip.

It fails as fast as the database does: while that refuses connections so does the pool, and it recovers by itself with
the first request after the database has.
"""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

from strongroom.storage import Unavailable

SIZE = 8
WAIT_SECONDS = 5.0
USE_SECONDS = 10.0
MOST_WAITING = 512
MAX_AGE_SECONDS = 3600.0
CLOSE_SECONDS = 15.0


class Pooled(Protocol):
    """What the pool asks of a connection."""

    born: float
    generation: int

    @property
    def closed(self) -> bool: ...

    def abort(self) -> None:
        """Cut the connection, so that a request that waits for an answer learns that none will come."""
        ...

    async def close(self) -> None: ...


C = TypeVar("C", bound=Pooled)


class Pool(Generic[C]):
    """At most `size` connections for one event loop.

    A request waits for one at most `wait` seconds; what is not given back after `use` seconds is cut.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[C]],
        size: int = SIZE,
        wait: float = WAIT_SECONDS,
        use: float = USE_SECONDS,
    ) -> None:
        self._connect = connect
        self._size, self._wait, self._use = size, wait, use
        self._idle: list[C] = []
        self._out: dict[C, float] = {}
        self._opening = 0
        self._waiting: deque[tuple[asyncio.Future[C | None], float]] = deque()
        self._generation = 0
        self._closed = False
        self._emptied = asyncio.Event()
        self._watch: asyncio.TimerHandle | None = None

    @property
    def in_use(self) -> int:
        return len(self._out) + self._opening

    def add(self, connection: C) -> None:
        """Take charge of one that was opened elsewhere, before the first `take`."""
        connection.generation, connection.born = self._generation, time.monotonic()
        self._idle.append(connection)

    async def take(self) -> C:
        """A connection, for `give` or `discard` afterwards. Errors of connecting; `Unavailable` after a wait."""
        if self._watch is None:
            self._watch = asyncio.get_running_loop().call_later(min(self._wait, self._use) / 4, self._look_after)
        while not self._closed:
            while self._idle:
                # The one used last: its caches are warm, and those not needed grow old.
                connection = self._idle.pop()
                if not self._is_stale(connection):
                    self._out[connection] = time.monotonic()
                    return connection
                await connection.close()
            if self.in_use < self._size:
                return await self._open()
            handed = await self._queue()
            if handed is not None:
                return handed
        raise Unavailable

    async def give(self, connection: C) -> None:
        """Back for the next one, unless it is worn out or the pool is closing."""
        if self._closed or self._is_stale(connection):
            await self.discard(connection)
        elif self._hand(connection):
            self._out[connection] = time.monotonic()
        else:
            del self._out[connection]
            self._idle.append(connection)

    async def discard(self, connection: C) -> None:
        """Close it; a new one may be opened in its place."""
        del self._out[connection]
        self._hand(None)
        self._tell_if_empty()
        await connection.close()

    async def renew(self, lost: C) -> None:
        """A connection turned out to be dead or useless: so are, most likely, all that were opened before now."""
        if lost.generation != self._generation:
            return  # done already
        self._generation += 1
        stale, self._idle = self._idle, []
        for connection in stale:
            await connection.close()

    async def close(self) -> None:
        """Wait for the connections that are in use, at most for a while."""
        self._closed = True
        while self._hand(None):
            pass
        idle, self._idle = self._idle, []
        for connection in idle:
            await connection.close()
        if self.in_use:
            self._emptied.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._emptied.wait(), CLOSE_SECONDS)
        if self._watch is not None:
            self._watch.cancel()

    async def _open(self) -> C:
        self._opening += 1
        generation = self._generation
        try:
            connection = await self._connect()
        except BaseException:
            self._opening -= 1
            self._hand(None)
            self._tell_if_empty()
            raise
        self._opening -= 1
        connection.generation, connection.born = generation, time.monotonic()
        self._out[connection] = connection.born
        return connection

    async def _queue(self) -> C | None:
        """Wait in line: a connection, or None when there is room for a new one."""
        if len(self._waiting) >= MOST_WAITING:
            raise Unavailable
        waiting: asyncio.Future[C | None] = asyncio.get_running_loop().create_future()
        self._waiting.append((waiting, time.monotonic() + self._wait))
        try:
            return await waiting
        except asyncio.CancelledError:
            if waiting.done() and not waiting.cancelled() and waiting.exception() is None:
                # Handed over in the moment of giving up: it must not be lost.
                handed = waiting.result()
                if handed is None:
                    self._hand(None)
                else:
                    await self.give(handed)
            raise

    def _hand(self, connection: C | None) -> bool:
        """To the request that has waited longest; None says that there is room for a new connection."""
        while self._waiting:
            waiting, _ = self._waiting.popleft()
            if not waiting.done():
                waiting.set_result(connection)
                return True
        return False

    def _look_after(self) -> None:
        # One timer for all: starting one for every request would cost more than the rest of the pool.
        now = time.monotonic()
        while self._waiting and self._waiting[0][1] <= now:
            waiting, _ = self._waiting.popleft()
            if not waiting.done():
                waiting.set_exception(Unavailable())
        for connection, since in self._out.items():
            if now - since >= self._use:
                connection.abort()
        self._watch = None
        if self._waiting or self.in_use:
            self._watch = asyncio.get_running_loop().call_later(min(self._wait, self._use) / 4, self._look_after)

    def _tell_if_empty(self) -> None:
        if not self.in_use:
            self._emptied.set()

    def _is_stale(self, connection: C) -> bool:
        return (
            connection.generation != self._generation
            or connection.closed
            or time.monotonic() - connection.born > MAX_AGE_SECONDS
        )
