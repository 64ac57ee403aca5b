"""Takes the connections that wait at a listening socket, a whole burst in one turn of the event loop.

uvloop takes one a turn. While the others keep the loop busy a turn is long, and the first request of each connection
of a burst waited for as many turns as connections came before it.
"""

import asyncio
import errno
import logging
import socket
from collections.abc import Callable
from typing import Any

from strongroom.runtime.logging import LOGGER

AT_ONCE = 64
AT_ONCE_WHERE_SHARED = 1
"""So that processes on the same socket share a burst out instead of leaving it to the one that woke up first."""

_PAUSE_SECONDS = 1.0
_CAREFUL_SECONDS = 10.0
_logger = logging.getLogger(LOGGER)


class Acceptor:
    """Makes a protocol for each connection, until it is closed. It does not close the socket."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listener: socket.socket,
        make_protocol: Callable[[], asyncio.BaseProtocol],
        most: int,
    ) -> None:
        """The socket has to listen and not to block; at most `most` connections are taken in a turn."""
        self._loop = loop
        self._listener = listener
        self._make_protocol = make_protocol
        self._most = most
        self._careful_until = 0.0
        self._pause: asyncio.TimerHandle | None = None
        self._starting: set[asyncio.Task[Any]] = set()
        self._watch()

    async def close(self) -> None:
        """Take no more. What was taken goes on, and has its protocol when this returns."""
        if self._pause is not None:
            self._pause.cancel()
        self._loop.remove_reader(self._listener)
        await asyncio.gather(*self._starting, return_exceptions=True)

    def _watch(self) -> None:
        self._pause = None
        self._loop.add_reader(self._listener, self._accept)

    def _accept(self) -> None:
        now = self._loop.time()
        for _ in range(self._most if now >= self._careful_until else 1):
            try:
                connection, _ = self._listener.accept()
            except (BlockingIOError, ConnectionAbortedError, InterruptedError):
                return
            except OSError as error:
                # No descriptors, no memory, or something forbids it. Those that wait would wake us up at once: better
                # let some of the others end first. Then one at a time: those whose callers have gone by then would
                # otherwise take all that is free once more.
                self._careful_until = now + _CAREFUL_SECONDS
                cause = errno.errorcode.get(error.errno or 0, "unknown")
                _logger.error("no more connections can be taken for now", extra={"cause": cause})
                self._loop.remove_reader(self._listener)
                self._pause = self._loop.call_later(_PAUSE_SECONDS, self._watch)
                return
            connection.setblocking(False)
            task = self._loop.create_task(self._loop.connect_accepted_socket(self._make_protocol, connection))
            self._starting.add(task)
            task.add_done_callback(self._starting.discard)
