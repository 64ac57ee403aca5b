"""Chores: each has its turn whatever became of the others, and none stops what comes after it."""

import asyncio
import logging
from typing import Any

import pytest

from strongroom.access import usage as access_usage
from strongroom.app import upkeep
from strongroom.runtime.principals import Subscription
from strongroom.services.usage import Counts, UsageCounter
from strongroom.storage import Transaction, Unavailable

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


WHO = Subscription(b"p" * 16, b"s" * 16, derived_only=False, slot="primary")


async def test_usage_that_cannot_be_stored_is_kept_and_the_next_time_comes(
    service: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(upkeep, "STORE_USAGE_SECONDS", 0)
    application = service.application
    stored: list[int] = []
    done = asyncio.Event()

    async def store(tx: Transaction, counts: Counts, at: int) -> None:
        stored.append(sum(tally.calls for tally in counts.tallies.values()))
        if len(stored) == 1:
            raise ZeroDivisionError
        done.set()

    monkeypatch.setattr(access_usage, "store", store)
    counter = UsageCounter()
    counter.count(WHO, None, 0.001)
    keeping = upkeep.Upkeep(application.access, application.clock, counter)
    with caplog.at_level(logging.WARNING, logger="strongroom"):
        tasks = keeping.start()
        await asyncio.wait_for(done.wait(), 5)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    assert stored[:2] == [1, 1]
    assert [record.getMessage() for record in caplog.records] == ["usage not stored"]


async def test_a_stop_waits_for_usage_that_is_being_stored(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "STORE_USAGE_SECONDS", 0)
    application = service.application
    stored: list[int] = []
    begun, go = asyncio.Event(), asyncio.Event()

    class Slow:
        async def write(self, work: Any) -> None:
            begun.set()
            await go.wait()
            stored.append(1)

    counter = UsageCounter()
    counter.count(WHO, None, 0.001)
    slow: Any = Slow()
    keeping = upkeep.Upkeep(slow, application.clock, counter)
    tasks = keeping.start()
    await asyncio.wait_for(begun.wait(), 5)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    last = asyncio.create_task(keeping.store_usage())
    await asyncio.sleep(0)
    assert not last.done()
    go.set()
    await last
    assert stored == [1]
