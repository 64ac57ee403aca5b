"""The structured log: one line for each event of any logger; of exceptions only their type and place."""

import asyncio
import io
import json
import logging
import select
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from strongroom.runtime.logging import AccessLog, configure, redact
from strongroom.wire import keystore, vault

NAMES = ("strongroom", "asyncio")


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    loggers = [logging.getLogger(name) for name in NAMES]
    before = [(logger.handlers, logger.level, logger.propagate) for logger in loggers]
    stream = io.StringIO()
    configure("info", stream)
    yield stream
    for logger, (handlers, level, propagate) in zip(loggers, before, strict=True):
        logger.handlers, logger.level, logger.propagate = handlers, level, propagate


def test_what_the_event_loop_reports_shows_no_exception_text(log: io.StringIO) -> None:
    async def fails() -> None:
        raise ValueError("correct horse battery staple")

    async def main() -> None:
        task = asyncio.create_task(fails())
        await asyncio.wait({task})
        asyncio.get_running_loop().call_exception_handler(
            {"message": "Task exception was never retrieved", "exception": task.exception(), "task": task}
        )

    asyncio.run(main())
    (line,) = log.getvalue().splitlines()
    said = json.loads(line)
    assert (said["event"], said["exception"]) == ("Task exception was never retrieved", "ValueError")
    assert "correct horse" not in line


def test_an_exception_is_logged_by_type_and_place(log: io.StringIO) -> None:
    try:
        raise KeyError("correct horse battery staple")
    except KeyError:
        logging.getLogger("strongroom").exception("failed", extra={"request_id": "1"})
    said = json.loads(log.getvalue())
    assert (said["event"], said["exception"], said["request_id"]) == ("failed", "KeyError", "1")
    assert any("test_logging.py" in place for place in said["at"])
    assert "correct horse" not in log.getvalue()


def test_what_looks_like_a_credential_is_starred() -> None:
    for credential in ("srk_0123456789", "srp_0123456789", "srs_ab.0123456789", "srl1_0123456789", "sri_0123456789"):
        assert redact(f'{{"a":"{credential}"}}') == '{"a":"***"}'


class Writes(io.StringIO):
    """How much was written at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def write(self, text: str) -> int:
        self.sizes.append(len(text))
        return super().write(text)


def test_the_access_log_has_a_line_for_each_request_written_once_a_tick() -> None:
    stream = Writes()
    access_log = AccessLog(stream)

    async def two_turns() -> None:
        for turn in range(2):
            for number in range(3):
                access_log.write("GET", "/path", 200, 0.0125, f"{turn}-{number}")
            await asyncio.sleep(0)

    asyncio.run(two_turns())
    said = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [line["request_id"] for line in said] == ["0-0", "0-1", "0-2", "1-0", "1-1", "1-2"]
    assert said[0] | {"time": ""} == {
        "time": "",
        "level": "info",
        "event": "request",
        "method": "GET",
        "path": "/path",
        "status": 200,
        "ms": 12.5,
        "request_id": "0-0",
    }
    assert len(stream.sizes) == 2


def test_the_access_log_tells_the_time_to_the_millisecond() -> None:
    stream = io.StringIO()
    access_log = AccessLog(stream)
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    for number in range(2):
        access_log.write("GET", "/path", 200, 0, str(number))
        time.sleep(0.005)
    first, second = (datetime.fromisoformat(json.loads(line)["time"]) for line in stream.getvalue().splitlines())
    assert before <= first < second <= datetime.now(UTC)


def test_what_the_access_log_writes_at_once_is_not_mixed_with_what_other_workers_write() -> None:
    stream = Writes()
    access_log = AccessLog(stream)
    longest = max((path for endpoint in keystore.ENDPOINTS + vault.ENDPOINTS for path in endpoint.paths), key=len)

    async def one_turn() -> None:
        for _ in range(30):
            access_log.write("DELETE", longest, 200, 99, "x" * 64)

    asyncio.run(one_turn())
    assert len(stream.getvalue().splitlines()) == 30
    assert max(stream.sizes) <= select.PIPE_BUF


def test_the_access_log_writes_at_once_where_no_loop_runs() -> None:
    stream = io.StringIO()
    AccessLog(stream).write("GET", "/path", 200, 0, "1")
    assert json.loads(stream.getvalue())["request_id"] == "1"
