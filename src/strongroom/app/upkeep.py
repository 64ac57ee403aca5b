"""What runs beside the requests: usage is stored, what has expired is removed, reminders are sent."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from strongroom.access import usage as access_usage
from strongroom.runtime.clock import Clock
from strongroom.runtime.logging import LOGGER
from strongroom.services.usage import UsageCounter
from strongroom.storage import Store, Unavailable

PRUNE_SECONDS = 600
STORE_USAGE_SECONDS = 10
FIRST_PRUNE_SECONDS = 30

_logger = logging.getLogger(LOGGER)

Chore = Callable[[], Awaitable[int]]
"""Done again and again; how many rows it changed. `Unavailable` puts it off until the next time."""


class Upkeep:
    """Usage every ten seconds, chores every ten minutes: none in the first half minute, which belongs to the start."""

    def __init__(self, access: Store, clock: Clock, usage: UsageCounter) -> None:
        self._access = access
        self._clock = clock
        self._usage = usage
        self._counted_since = clock.now()
        self._storing: asyncio.Task[None] | None = None
        self._chores: list[Chore] = [self._prune_usage]

    def add(self, *chores: Chore) -> None:
        self._chores += chores

    def start(self) -> list[asyncio.Task[None]]:
        """Two tasks that run until they are cancelled, so that a long chore does not put usage off."""
        return [asyncio.create_task(self._keep_storing_usage()), asyncio.create_task(self._keep_doing_chores())]

    async def store_usage(self) -> None:
        """Put what was counted since the last time into the access database; kept for later if that fails."""
        # Shielded: a stop cancels the task that waits here, and what was taken from the counter must not go with it.
        # The last store of a stop waits for the one under way, before the database is closed.
        while self._storing is not None and not self._storing.done():
            await asyncio.shield(self._storing)
        self._storing = asyncio.create_task(self._store())
        await asyncio.shield(self._storing)

    async def _store(self) -> None:
        counts, since = self._usage.take(), self._counted_since
        self._counted_since = self._clock.now()
        if not counts:
            return
        try:
            await self._access.write(lambda tx: access_usage.store(tx, counts, since))
        except Unavailable as error:
            _logger.warning("usage put off", extra={"cause": type(error.__cause__).__name__})
            self._usage.put_back(counts)
        except Exception:
            # Unforeseen, and no reason to count nothing any more for as long as this process runs.
            _logger.exception("usage not stored")
            self._usage.put_back(counts)

    async def _keep_storing_usage(self) -> None:
        while True:
            await asyncio.sleep(STORE_USAGE_SECONDS)
            await self.store_usage()

    async def _keep_doing_chores(self) -> None:
        await asyncio.sleep(FIRST_PRUNE_SECONDS)
        while True:
            for chore in self._chores:
                await _try(chore)
            await asyncio.sleep(PRUNE_SECONDS)

    async def _prune_usage(self) -> int:
        return await access_usage.prune(self._access, self._clock.now())


async def _try(chore: Chore) -> None:
    try:
        rows = await chore()
    except Unavailable as error:
        _logger.warning("maintenance put off", extra={"cause": type(error.__cause__).__name__})
    except Exception:
        # Unforeseen, and no reason to leave everything else undone for as long as this process runs.
        _logger.exception("maintenance failed")
    else:
        _logger.debug("maintained", extra={"rows": rows})
