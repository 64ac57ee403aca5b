"""What holds for one turn of the event loop, and is over before anything that arrives later is looked at."""

import asyncio
from collections.abc import Callable


class LoopTick:
    """Begun by the first who needs it; `end` is called when everything that waited at that moment has had its turn.

    Whoever finds it begun was therefore there before it: what is read once in a turn is not older than any request that
    it is used for.
    """

    __slots__ = ("_end", "_loop")

    def __init__(self, end: Callable[[], None]) -> None:
        self._end = end
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_on(self) -> bool:
        return self._loop is not None and not self._loop.is_closed()

    def begin(self) -> None:
        """`RuntimeError` where no loop runs. Ends a turn that its loop did not live to end."""
        loop = asyncio.get_running_loop()
        if self._loop is not None:
            self._over()
        self._loop = loop
        loop.call_soon(self._over)

    def _over(self) -> None:
        self._loop = None
        self._end()
