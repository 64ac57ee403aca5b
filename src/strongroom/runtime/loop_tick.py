"""One tick of the event loop: it ends before anything that arrives later is handled."""

import asyncio
from collections.abc import Callable


class LoopTick:
    """The first caller begins it. `end` is called once everything that was ready at that moment has run.

    A caller that finds it begun was therefore ready before: what is read once in a tick is not older than any request
    that uses it.
    """

    __slots__ = ("_end", "_loop")

    def __init__(self, end: Callable[[], None]) -> None:
        self._end = end
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def is_on(self) -> bool:
        return self._loop is not None and not self._loop.is_closed()

    def begin(self) -> None:
        """`RuntimeError` where no loop runs. Ends a tick whose loop was closed before the tick ended."""
        loop = asyncio.get_running_loop()
        if self._loop is not None:
            self._over()
        self._loop = loop
        loop.call_soon(self._over)

    def _over(self) -> None:
        self._loop = None
        self._end()
