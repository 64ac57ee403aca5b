"""Where things run: slow work in a thread beside the event loop, the caller's own functions where the caller is."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from functools import partial
from typing import Final, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

TICK: Final = 0.2
"""Seconds between two events of progress during long work."""


class Caller(Protocol):
    """A thread that waits for a coroutine on the event loop of another thread, and runs functions meanwhile."""

    async def call(self, function: Callable[[], T]) -> T: ...


CALLER: Final[ContextVar[Caller | None]] = ContextVar("strongroom_caller", default=None)
"""Who waits for the running coroutine; None where it is awaited on the caller's own event loop."""


async def at_caller(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function that the caller handed in, in the caller's own thread."""
    caller = CALLER.get()
    if caller is None:
        return function(*args, **kwargs)
    return await caller.call(partial(function, *args, **kwargs))


async def in_thread(function: Callable[[], T], tick: Callable[[float], Awaitable[None]] | None = None) -> T:
    """Compute something slow; `tick` hears the seconds so far while it runs.

    The primitives used release the GIL. Cancelled, this ends at once; what the thread still computes is dropped.
    """
    if tick is None:
        return await asyncio.to_thread(function)
    started = time.perf_counter()
    task = asyncio.ensure_future(asyncio.to_thread(function))
    try:
        while not (await asyncio.wait({task}, timeout=TICK))[0]:
            await tick(time.perf_counter() - started)
        return task.result()
    finally:
        task.cancel()
