"""The structured log: one line an event, whoever logs it, and nothing of what failed but its type and place."""

import asyncio
import io
import json
import logging
from collections.abc import Iterator

import pytest

from strongroom.server.logging import configure, redact

NAMES = ("strongroom", "uvicorn", "asyncio")


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


def test_an_exception_is_told_by_type_and_place(log: io.StringIO) -> None:
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
