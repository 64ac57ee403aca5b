"""Reading and writing in step with the other side of a connection."""

import asyncio
import math
from typing import Any

from strongroom.http.limits import LEAST_TAKEN_BYTES

NEVER = math.inf


class Flow(asyncio.Protocol):
    """Writing can be waited for until enough was taken, and what is not taken at all is noticed."""

    def __init__(self) -> None:
        self.write_paused = False
        self._writable: asyncio.Event | None = None  # made where it has to be waited for, which is rare
        self._reading_paused = False
        self._written = 0
        self._taken_before = 0
        self._taken_by = NEVER

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def write(self, *parts: bytes) -> None:
        for part in parts:
            if part:
                self._written += len(part)
                self._transport.write(part)

    async def drain(self) -> None:
        """Return when enough of what was written is taken, or the connection is lost."""
        while self.write_paused:
            if self._writable is None:
                self._writable = asyncio.Event()
            self._writable.clear()
            await self._writable.wait()

    def pause_writing(self) -> None:
        self.write_paused = True

    def resume_writing(self) -> None:
        self.write_paused = False
        if self._writable is not None:
            self._writable.set()

    def pause_reading(self) -> None:
        if not self._reading_paused:
            self._reading_paused = True
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._reading_paused:
            self._reading_paused = False
            self._transport.resume_reading()

    def is_closing(self) -> bool:
        return bool(self._transport.is_closing())

    def abort(self) -> None:
        self._transport.abort()

    def has_stalled(self, now: float, seconds: float) -> bool:
        """Whether too little of what was written was taken in so much time. To be asked a few times a second."""
        unsent = self._transport.get_write_buffer_size()
        if not unsent:
            self._taken_by = NEVER
            return False
        taken = self._written - unsent
        if self._taken_by != NEVER:
            if now < self._taken_by:
                return False
            if taken - self._taken_before < LEAST_TAKEN_BYTES:
                return True
        self._taken_before, self._taken_by = taken, now + seconds
        return False
