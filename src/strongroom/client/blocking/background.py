"""The event loop behind a blocking client: in a daemon thread, started at the first call and again after a fork."""

import asyncio
import atexit
import os
import sys
import threading
import weakref
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import Context, copy_context
from queue import SimpleQueue
from typing import Any, Final, Generic, TypeVar

from strongroom.client.errors import ServiceUnavailable
from strongroom.client.running import CALLER

R = TypeVar("R")
T = TypeVar("T")
Close = Callable[[], Coroutine[Any, Any, None]]

_PATIENCE: Final = 2.0
"""Seconds for what runs to be cancelled and for connections to be closed, at the end."""


class Background:
    """Runs coroutines for callers that block, in any number of threads. `close` is awaited on the loop at its end.

    Never closed, it ends with the last object that uses it, or with the interpreter.
    """

    def __init__(self, close: Close) -> None:
        self._close = close
        self._closed = False
        self._lock = threading.Lock()
        self._loop: _LoopThread | None = None
        _BACKGROUNDS.add(self)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result. Whatever interrupts the caller, such as Ctrl-C, cancels the coroutine first."""
        call = _Call(coroutine)
        try:
            with self._lock:
                call.start(self._running())
        except BaseException:
            call.cancel()
            raise
        return call.result()

    def _running(self) -> "_LoopThread":
        if self._closed:
            raise RuntimeError("the client is closed")
        if self._loop is None:
            self._loop = _LoopThread(self._close)
            # The thread does not know this object, so that it can end with it.
            weakref.finalize(self, self._loop.end).atexit = False
        return self._loop

    def close(self) -> None:
        """Close connections and loop. Calls of other threads that are under way end with `ServiceUnavailable`."""
        with self._lock:  # one closes, and for all others, in other threads or inside of it, it is closed
            loop, self._loop, self._closed = self._loop, None, True
        if loop is None:
            return
        try:
            # Here and not at the loop's end, for a transport of the caller's is closed in the caller's thread.
            call = _Call(self._close())
            call.start(loop)
            call.result()
        finally:
            loop.end()
            loop.thread.join(_PATIENCE)

    def leave_to_parent(self) -> None:
        """In the child after a fork: no thread serves the loop there, and its sockets are the parent's."""
        self._lock = threading.Lock()
        _LEFT_TO_PARENTS.append(self._loop)
        self._loop = None


class _LoopThread:
    def __init__(self, close: Close) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, name="strongroom-client", daemon=True)
        self._close = close
        self.process = os.getpid()
        self._ending: asyncio.Task[None] | None = None
        self.calls: set[_Call[Any]] = set()
        self.thread.start()
        _LOOPS.add(self)

    def _run(self) -> None:
        try:
            self.loop.run_forever()
        finally:
            self.loop.close()
            # A loop that stops leaves callbacks behind, and perhaps a task that would not be cancelled.
            for call in list(self.calls):
                call.over()

    def end(self) -> None:
        """Have the loop end. It is not waited for, because the garbage collector may call this in any thread."""
        if self.process == os.getpid():
            _post(self.loop, self._begin_ending)

    def _begin_ending(self) -> None:
        if self._ending is None:
            self._ending = self.loop.create_task(self._end())

    async def _end(self) -> None:
        try:
            if running := asyncio.all_tasks() - {self._ending}:
                for task in running:
                    task.cancel()
                await asyncio.wait(running, timeout=_PATIENCE)
            await self._close()
            await self.loop.shutdown_asyncgens()
        finally:
            self.loop.stop()


class _Call(Generic[T]):
    """A coroutine on the loop, and the thread that waits for it and runs what has to run there meanwhile."""

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self._thread: _LoopThread | None = None
        self._task: asyncio.Task[T] | None = None
        self._errands: SimpleQueue[Callable[[], None] | None] = SimpleQueue()

    def start(self, thread: _LoopThread) -> None:
        context = copy_context()
        context.run(CALLER.set, self)
        self._thread = thread
        thread.calls.add(self)
        thread.loop.call_soon_threadsafe(self._start, thread.loop, context=context)

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._task = loop.create_task(self._coroutine)
        self._task.add_done_callback(lambda _: self.over())

    def over(self) -> None:
        self._errands.put(None)

    def result(self) -> T:
        """Wait until it is over."""
        try:
            self._wait()
        except BaseException:
            self.cancel()
            raise
        if self._task is None or not self._task.done() or self._task.cancelled():
            raise ServiceUnavailable("the client was closed")
        return self._task.result()

    def _wait(self) -> None:
        assert self._thread is not None
        while (errand := self._errands.get()) is not None:
            errand()
            if self._thread.process != os.getpid():
                raise RuntimeError("a callback forked, and the call belongs to the parent")
        self._thread.calls.discard(self)

    def cancel(self) -> None:
        """Cancel, and wait until connections are in order again; a second Ctrl-C ends the waiting."""
        if self._thread is None:
            self._coroutine.close()
            return
        if self._thread.process != os.getpid():
            return
        if not _post(self._thread.loop, self._stop):
            self.over()
        self._wait()
        if self._task is not None and self._task.done() and not self._task.cancelled():
            self._task.exception()  # looked at: nothing else will

    def _stop(self) -> None:
        if self._task is None:  # the interrupt came while it was on its way here, and it never arrives
            self._coroutine.close()
            self.over()
        else:
            self._task.cancel()

    async def call(self, function: Callable[[], R]) -> R:
        """The result of a function that is run in the waiting thread."""
        assert self._thread is not None
        loop = self._thread.loop
        answer: asyncio.Future[R] = loop.create_future()

        def errand() -> None:
            try:
                result = function()
            except StopIteration as error:  # means something else to whatever awaits
                _post(loop, _fail, answer, RuntimeError(f"a callback raised {error!r}"))
            except Exception as error:  # noqa: BLE001 - it is raised where the answer is awaited
                _post(loop, _fail, answer, error)
            else:
                _post(loop, _settle, answer, result)

        self._errands.put(errand)
        return await answer


def _settle(answer: asyncio.Future[R], result: R) -> None:
    if not answer.done():
        answer.set_result(result)


def _fail(answer: asyncio.Future[R], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)


def _post(loop: asyncio.AbstractEventLoop, function: Callable[..., object], *args: Any) -> bool:
    """False where the loop has ended, and with it what this is for."""
    # In a context of its own: the garbage collector may come by in the middle of another call.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(function, *args, context=Context())
        return True
    return False


_BACKGROUNDS: Final[weakref.WeakSet[Background]] = weakref.WeakSet()
_LOOPS: Final[weakref.WeakSet[_LoopThread]] = weakref.WeakSet()
_LEFT_TO_PARENTS: Final[list[_LoopThread | None]] = []
"""Kept for ever: closing such a loop would take the parent's sockets out of the selector that both share."""


def _end_all() -> None:
    loops = [loop for loop in _LOOPS if loop.thread.is_alive()]
    for loop in loops:
        loop.end()
    for loop in loops:
        loop.thread.join(_PATIENCE)


def _in_child() -> None:
    for background in list(_BACKGROUNDS):
        background.leave_to_parent()


atexit.register(_end_all)
if sys.platform != "win32":
    os.register_at_fork(after_in_child=_in_child)
