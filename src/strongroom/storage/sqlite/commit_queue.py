"""What waits for the SQLite writer: units of work, and the queue in which those of one event loop become groups."""

import asyncio
import contextvars
import queue
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias

from strongroom.storage import T, Work

MAX_GROUP = 256


@dataclass(slots=True)
class Unit(Generic[T]):
    """One request's work on its way through the writer."""

    work: Work[T]
    context: contextvars.Context
    future: asyncio.Future[T]
    result: T | None = None
    error: BaseException | None = None

    def settle(self) -> None:
        if self.future.done():
            return  # the caller has gone
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)  # type: ignore[arg-type]  # None only where T allows it


class CommitQueue:
    """Where the units of one event loop wait while a group of theirs is committed; they make up the next one.

    A writer that took each unit as it came would flush for two or three at a time, and flushing is what costs.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, groups: "queue.SimpleQueue[Group | None]") -> None:
        self.loop = loop
        self._groups = groups
        self._waiting: list[Unit[Any]] = []
        self._moving = False

    @property
    def is_empty(self) -> bool:
        """No unit waits and none is being committed."""
        return not self._moving

    def join(self, unit: Unit[Any]) -> None:
        self._waiting.append(unit)
        if not self._moving:
            self._moving = True
            self.loop.call_soon(self.hand_over)  # what else arrives in this turn of the loop comes along

    def hand_over(self) -> None:
        """Give the writer the next group, if units wait."""
        group, self._waiting = self._waiting[:MAX_GROUP], self._waiting[MAX_GROUP:]
        self._moving = bool(group)
        if group:
            self._groups.put((self, group))

    def hand_over_all(self) -> None:
        while self._waiting:
            self.hand_over()

    def settle(self, group: list[Unit[Any]]) -> None:
        for unit in group:
            unit.settle()
        self.hand_over()


Group: TypeAlias = tuple[CommitQueue, list[Unit[Any]]]
