"""Time: milliseconds since 1970 in UTC inside the service, ISO 8601 with `Z` on the wire."""

import time
from datetime import UTC, datetime
from typing import Protocol

SECOND = 1000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


class Clock(Protocol):
    def now(self) -> int:
        """Milliseconds since 1970, UTC."""
        ...


class SystemClock:
    """Wall-clock time that never runs backwards within the process, so that no session revives."""

    def __init__(self) -> None:
        self._latest = 0

    def now(self) -> int:
        now = time.time_ns() // 1_000_000
        if now > self._latest:
            self._latest = now
        return self._latest


class MovableClock:
    """A clock for tests: it runs with real time and `move` makes it jump."""

    def __init__(self) -> None:
        self._ahead = 0

    def now(self) -> int:
        return time.time_ns() // 1_000_000 + self._ahead

    def move(self, seconds: float) -> None:
        """Jump by so many seconds; negative jumps back."""
        self._ahead += int(seconds * SECOND)


def wire_time(milliseconds: int) -> str:
    """`2026-01-31T12:00:00.000Z`"""
    moment = datetime.fromtimestamp(milliseconds // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}Z"


def duration(milliseconds: int) -> str:
    """The largest whole unit: `2 days`, `1 hour`, `5 minutes`."""
    for size, unit in ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute")):
        if milliseconds >= size:
            number = milliseconds // size
            return f"{number} {unit}{'' if number == 1 else 's'}"
    return "less than a minute"
