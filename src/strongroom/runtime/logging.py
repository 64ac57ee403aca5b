"""Structured logs: one JSON object a line, with nothing in it that a caller sent and no secret."""

import json
import logging
import re
import sys
import time
import traceback
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, TextIO

from strongroom.runtime.loop_tick import LoopTick

LOGGER = "strongroom"
LINES_AT_ONCE = 12
"""Lines of the access log in one write: below the 4096 bytes that a pipe takes at once, as workers share it."""

# Every credential of the protocol starts like this; the filter is the second line, not the first.
_CREDENTIAL = re.compile(r"\bsr[a-z]{1,2}\d?_[0-9A-Za-z_.-]{8,}")
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName", "color_message"}


def redact(text: str) -> str:
    """Replaces everything that looks like one of our credentials by stars."""
    return _CREDENTIAL.sub("***", text)


class JsonFormatter(logging.Formatter):
    """`time`, `level`, `event` and the fields given as `extra`. Exceptions: type and places, never their text."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            # asyncio adds lines about what a failed task held, the text of its exception included.
            "event": record.getMessage().partition("\n")[0],
        }
        line.update((name, value) for name, value in vars(record).items() if name not in _STANDARD)
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
            line["at"] = _places(record.exc_info[2])
        return redact(json.dumps(line, default=lambda value: type(value).__name__))


def _places(trace: TracebackType | None) -> list[str]:
    # The text of an exception, and the source lines of a traceback, may show values; file and line never do.
    return [f"{frame.f_code.co_filename}:{number} {frame.f_code.co_name}" for frame, number in traceback.walk_tb(trace)]


def configure(level: str = "info", stream: TextIO | None = None) -> None:
    """Send the log of the service and of the event loop to `stream` (standard error)."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in (LOGGER, "asyncio"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level.upper())
        logger.propagate = False


class AccessLog:
    """One line for each request, written without the `logging` package: this is on the hot path.

    The lines of one tick of the event loop are made and written together at its end, or at once where no loop runs.
    Every field comes from our own tables or has a fixed grammar, so nothing needs redacting.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._second = -1
        self._time = ""
        self._waiting: list[tuple[str, str, int, float, str]] = []
        self._loop_tick = LoopTick(self.flush)

    def write(self, method: str, path: str, status: int, seconds: float, request_id: str) -> None:
        """`path` is the endpoint's pattern, never the requested path: identifiers do not belong in a log."""
        self._waiting.append((method, path, status, seconds * 1000, request_id))
        if not self._loop_tick.is_on:
            try:
                self._loop_tick.begin()
            except RuntimeError:
                self.flush()

    def flush(self) -> None:
        """Write the lines that wait."""
        waiting, self._waiting = self._waiting, []
        start = f'{{"time":"{self._now()}","level":"info","event":"request","method":"'
        lines = [
            f'{start}{method}","path":"{path}","status":{status},"ms":{ms:.1f},"request_id":"{request_id}"}}\n'
            for method, path, status, ms, request_id in waiting
        ]
        for first in range(0, len(lines), LINES_AT_ONCE):
            self._stream.write("".join(lines[first : first + LINES_AT_ONCE]))

    def _now(self) -> str:
        second, milliseconds = divmod(time.time_ns() // 1_000_000, 1000)
        if second != self._second:
            self._second, self._time = second, f"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}"
        return f"{self._time}.{milliseconds:03d}+00:00"
