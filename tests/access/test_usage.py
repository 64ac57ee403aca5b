"""Usage as it is stored: spans, refusals, the last use of keys, and what is forgotten."""

from typing import Any

import pytest

from strongroom.access import providers, subscriptions, usage
from strongroom.runtime.clock import DAY, HOUR, MINUTE
from strongroom.runtime.principals import Subscription
from strongroom.services.usage import UsageCounter
from strongroom.storage import Unavailable

pytestmark = pytest.mark.anyio
NOW = 1_000 * DAY + 5 * HOUR + 7 * MINUTE
WHO = Subscription(b"p" * 16, b"s" * 16, False, "primary")


async def put(access: Any, at: int, *codes: str | None) -> None:
    counter = UsageCounter()
    for code in codes:
        counter.count(WHO, code, 0.002)
    counts = counter.take()
    await access.write(lambda tx: usage.store(tx, counts, at))


async def spans(access: Any, width: int, since: int = 0) -> list[usage.Span]:
    found: list[usage.Span] = await access.read(
        lambda tx: usage.read(tx, WHO.provider_id, WHO.subscription_id, width, since)
    )
    return found


async def test_counts_add_up_in_spans_of_each_width(service: Any) -> None:
    access = service.application.access
    await put(access, NOW, None, "not_found")
    await put(access, NOW + 1, "not_found", None)
    await put(access, NOW + MINUTE, None)
    minutes = await spans(access, MINUTE)
    assert [(span.starts_at, span.calls, span.refused) for span in minutes] == [
        (NOW, 4, {"not_found": 2}),
        (NOW + MINUTE, 1, {}),
    ]
    assert minutes[0].within == (4, 0, 0, 0, 0)
    assert minutes[0].microseconds == 8000
    assert [(span.starts_at, span.calls) for span in await spans(access, HOUR)] == [(NOW - 7 * MINUTE, 5)]
    assert [(span.starts_at, span.calls) for span in await spans(access, DAY)] == [(1_000 * DAY, 5)]
    assert [span.calls for span in await spans(access, MINUTE, NOW + 1)] == [1]
    calls = await access.read(lambda tx: usage.calls_of(tx, WHO.provider_id, DAY, 0))
    assert calls == {WHO.subscription_id: 5}


async def test_spans_are_forgotten_by_their_width(service: Any) -> None:
    access = service.application.access
    await put(access, NOW, "not_found")
    assert await usage.prune(access, NOW + DAY) == 0
    assert await usage.prune(access, NOW + DAY + 1) == 2
    assert await spans(access, MINUTE) == []
    assert len(await spans(access, HOUR)) == len(await spans(access, DAY)) == 1
    assert await usage.prune(access, NOW + 500 * DAY) == 4
    assert await usage.prune(access, NOW + 500 * DAY) == 0


async def test_the_service_counts_calls_and_the_last_use_of_keys(service: Any) -> None:
    application = service.application
    await application.upkeep.store_usage()
    await service.admission_token()
    assert (await service.call("GET", "/keystore/keypairs", auth="nothing")).status_code == 401
    assert (await service.call("GET", "/keystore/keypairs", key="nothing")).status_code == 401
    assert (await service.call("GET", "/nowhere")).status_code == 404
    await application.upkeep.store_usage()

    async def look(tx: Any) -> Any:
        provider_id = await providers.find(tx, "sandbox")
        assert provider_id is not None
        # Made in the same millisecond: which comes first is chance.
        by_name = {record.name: record for record in await subscriptions.list_of(tx, provider_id)}
        used, unused = by_name["sandbox"], by_name["sandbox, inactive"]
        return (
            await usage.read(tx, provider_id, used.id, DAY, 0),
            await usage.read(tx, provider_id, unused.id, DAY, 0),
            {key.slot: key.last_used_at for key in await subscriptions.keys_of(tx, provider_id, used.id)},
            [key.last_used_at for key in await providers.keys_of(tx, provider_id)],
        )

    [span], nothing, last_used, provider_keys = await application.access.read(look)
    # Only calls whose subscription is known can be counted for one.
    assert (span.calls, span.refused, sum(span.within)) == (2, {"session_invalid": 1}, 2)
    assert nothing == []
    assert last_used["primary"] > 0
    assert last_used["secondary"] is None
    assert provider_keys[0] > 0


async def test_counts_wait_for_a_database_that_cannot_answer(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    application = service.application
    await application.upkeep.store_usage()
    await service.admission_token()

    async def unavailable(work: Any) -> None:
        raise Unavailable from OSError()

    with monkeypatch.context() as patched:
        patched.setattr(application.access, "write", unavailable)
        await application.upkeep.store_usage()
    await service.admission_token()
    counts = application.usage.take()
    assert [tally.calls for tally in counts.tallies.values()] == [2]
