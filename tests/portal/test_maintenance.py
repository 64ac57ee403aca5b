"""Regular maintenance continues after any failure."""

import asyncio
from typing import TYPE_CHECKING

import pytest

from strongroom.app import upkeep
from strongroom.portal import assembly
from strongroom.portal.area import Portal

if TYPE_CHECKING:
    from tests.portal.conftest import Running

pytestmark = pytest.mark.anyio


async def test_what_fails_once_is_done_the_next_time(running: "Running", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "FIRST_PRUNE_SECONDS", 0)
    monkeypatch.setattr(upkeep, "PRUNE_SECONDS", 0)
    times = 0
    done = asyncio.Event()

    async def remind(portal: Portal) -> int:
        nonlocal times
        times += 1
        if times == 1:
            raise RecursionError
        done.set()
        return 0

    monkeypatch.setattr(assembly, "remind", remind)
    async with running():
        await asyncio.wait_for(done.wait(), 10)
    assert times > 1
