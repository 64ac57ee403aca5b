"""Chores: each has its turn whatever became of the others, and none stops what comes after it."""

import asyncio
import logging
from typing import Any

import pytest

from strongroom.app import upkeep
from strongroom.server.db import Unavailable

pytestmark = pytest.mark.anyio


async def test_a_chore_that_fails_keeps_no_other_from_its_turn(
    service: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(upkeep, "FIRST_PRUNE_SECONDS", 0)
    monkeypatch.setattr(upkeep, "PRUNE_SECONDS", 0)
    application = service.application
    done: list[str] = []
    thrice = asyncio.Event()

    async def put_off() -> int:
        done.append("put off")
        raise Unavailable from OSError()

    async def unforeseen() -> int:
        done.append("unforeseen")
        raise ZeroDivisionError

    async def good() -> int:
        done.append("good")
        if done.count("good") == 3:
            thrice.set()
        return 1

    chores = upkeep.Upkeep(application.access, application.clock, application.usage)
    chores.add(put_off, unforeseen, good)
    with caplog.at_level(logging.WARNING, logger="strongroom"):
        tasks = chores.start()
        await asyncio.wait_for(thrice.wait(), 5)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    assert done[:9] == ["put off", "unforeseen", "good"] * 3
    told = {record.getMessage(): record.exc_info is not None for record in caplog.records}
    assert told == {"maintenance put off": False, "maintenance failed": True}
