"""Whose subscription key it is: found out once a turn, and never from before the request that asks."""

import asyncio
from typing import Any

import pytest

from strongroom.access import subscriptions
from strongroom.app.credentials import Credentials
from strongroom.services.usage import UsageCounter
from strongroom.storage import T, Work
from strongroom.wire.refusal import Refused

pytestmark = pytest.mark.anyio


class Watched:
    """The store of a service, counting reads; `late` holds back what has been read."""

    def __init__(self, service: Any) -> None:
        self._store = service.application.access
        self.reads = 0
        self.late: asyncio.Event | None = None

    async def read(self, work: Work[T]) -> T:
        self.reads += 1
        found: T = await self._store.read(work)
        if self.late is not None:
            await self.late.wait()
        return found


@pytest.fixture
def store(service: Any) -> Watched:
    return Watched(service)


@pytest.fixture
def credentials(service: Any, store: Watched) -> Credentials:
    application = service.application
    return Credentials(store, service.clock, application.secret, UsageCounter(), None, None)  # type: ignore[arg-type]


async def cancel(service: Any, provider_id: bytes, subscription_id: bytes) -> None:
    now = service.clock.now()
    assert await service.application.access.write(
        lambda tx: subscriptions.cancel(tx, provider_id, subscription_id, now)
    )


async def test_requests_of_one_turn_ask_once(service: Any, store: Watched, credentials: Credentials) -> None:
    key = service.keys.subscription_key
    found = await asyncio.gather(*(credentials.subscription(key) for _ in range(20)))
    assert store.reads == 1
    assert len(set(found)) == 1
    await credentials.subscription(key)
    assert store.reads == 2


async def test_a_cancelled_subscription_is_refused_from_then_on(service: Any, credentials: Credentials) -> None:
    key = service.keys.subscription_key
    found = await credentials.subscription(key)
    await cancel(service, found.provider_id, found.subscription_id)
    with pytest.raises(Refused):
        await credentials.subscription(key)


async def test_what_was_read_before_a_request_came_is_not_used_for_it(
    service: Any, store: Watched, credentials: Credentials
) -> None:
    """Where a database takes its time, the answer to an earlier question may be out of date when it comes."""
    key = service.keys.subscription_key
    store.late = asyncio.Event()
    early = asyncio.create_task(credentials.subscription(key))
    await asyncio.sleep(0)
    assert store.reads == 1
    other = await service.application.access.read(lambda tx: subscriptions.authenticate(tx, key, service.clock.now()))
    await cancel(service, other.provider_id, other.subscription_id)
    late = asyncio.create_task(credentials.subscription(key))
    await asyncio.sleep(0)
    store.late.set()
    assert await early == other
    with pytest.raises(Refused):
        await late
    with pytest.raises(Refused):
        await credentials.subscription(key)


async def test_a_refusal_is_not_remembered_for_another_key(service: Any, credentials: Credentials) -> None:
    outcomes = await asyncio.gather(
        credentials.subscription("srk_nonsense"),
        credentials.subscription(service.keys.subscription_key),
        return_exceptions=True,
    )
    assert isinstance(outcomes[0], Refused)
    assert not isinstance(outcomes[1], Exception)
