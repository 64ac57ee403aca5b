"""The end of keys, usage by key and the end of a provider, with the same answers from every engine."""

import asyncio
from collections.abc import AsyncIterator
from importlib.resources import files
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import pytest

from strongroom.access import closing, key_ends, providers, subscriptions, usage
from strongroom.access.closing import InUse
from strongroom.portal import notifications_sent
from strongroom.runtime.clock import DAY, MINUTE
from strongroom.runtime.principals import Subscription
from strongroom.services.usage import UsageCounter
from strongroom.storage import Store, Value
from strongroom.storage.open import open_store
from strongroom.wire.refusal import Refused

if TYPE_CHECKING:
    from tools.postgres_server import PostgresServer

pytestmark = pytest.mark.anyio
NOW = 20_000 * DAY


async def opened(area: str, engine: str, request: pytest.FixtureRequest, folder: Path) -> Store:
    database = f"sqlite:{folder}/{area}.sqlite"
    if engine == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        database = f"{server.url()}&options=-csearch_path%3Dends_{token_hex(4)}"
    store = open_store(database, area, files(f"strongroom.{area}") / "migrations")
    await store.open()
    return store


@pytest.fixture(params=["sqlite", "postgresql"])
async def access(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    store = await opened("access", request.param, request, tmp_path)
    yield store
    await store.close()


async def acme(access: Store, **given: Any) -> tuple[Subscription, tuple[str, str]]:
    """A provider with an active subscription, and its keys."""

    async def make(tx: Any) -> tuple[Subscription, tuple[str, str]]:
        provider_id = await providers.create(tx, "Acme", NOW)
        new = await subscriptions.create(tx, provider_id, "app", NOW, product="gold", **given)
        assert await subscriptions.activate(tx, provider_id, new.id, NOW)
        return Subscription(provider_id, new.id, False, "primary"), (new.primary, new.secondary)

    return await access.write(make)


async def refusal(access: Store, key: str, now: int) -> str:
    try:
        await access.read(lambda tx: subscriptions.authenticate(tx, key, now))
    except Refused as refused:
        return refused.refusal.code
    return "ok"


async def test_keys_end_one_by_one(access: Store) -> None:
    who, (primary, secondary) = await acme(access, keys_expire_at=NOW + 3 * DAY)
    assert await access.write(
        lambda tx: key_ends.set_expiry(tx, who.provider_id, who.subscription_id, "secondary", None)
    )
    due = await access.read(lambda tx: key_ends.ending(tx, NOW, NOW + 14 * DAY, 10))
    assert [(key.slot, key.name, key.at) for key in due] == [("primary", "app", NOW + 3 * DAY)]
    last = due[0]
    assert await access.read(lambda tx: key_ends.ending(tx, last.at, NOW + 14 * DAY, 10, last.key_hash)) == []
    later = NOW + 3 * DAY
    assert await refusal(access, primary, later - 1) == "ok"
    assert await refusal(access, primary, later) == "subscription_key_expired"
    assert await refusal(access, secondary, later) == "ok"
    # A grace is no way to outlive the end that a key was given.
    new = await access.write(
        lambda tx: subscriptions.regenerate(tx, who.provider_id, who.subscription_id, "primary", NOW, 7 * DAY)
    )
    assert await refusal(access, primary, later) == "subscription_key_invalid"
    assert await refusal(access, new, later) == "ok"
    keys = await access.read(lambda tx: subscriptions.keys_of(tx, who.provider_id, who.subscription_id))
    assert {(key.slot, key.replaced_at, key.expires_at) for key in keys} == {
        ("primary", NOW, later),
        ("primary", None, None),
        ("secondary", None, None),
    }


async def test_old_keys_are_listed_until_a_reminder_was_sent(access: Store) -> None:
    who, _ = await acme(access)
    await access.write(lambda tx: providers.create_key(tx, who.provider_id, "backend", NOW))
    assert await access.read(lambda tx: key_ends.old(tx, NOW - 1, 10)) == []
    found = await access.read(lambda tx: key_ends.old(tx, NOW, 10))
    assert sorted((key.slot, key.name) for key in found) == [
        ("primary", "app"),
        ("provider", "backend"),
        ("secondary", "app"),
    ]
    for first in (True, False):
        for key in found:
            done = await access.write(lambda tx, row=key.key_hash: key_ends.reminded(tx, row, NOW))  # type: ignore[misc]  # bound early
            assert done is first
    assert await access.read(lambda tx: key_ends.old(tx, NOW, 10)) == []


async def test_use_adds_up_over_both_keys(access: Store) -> None:
    who, _ = await acme(access)
    for at, slot, calls in ((NOW, "primary", 3), (NOW, "secondary", 4), (NOW + MINUTE, "primary", 5)):
        counter = UsageCounter()
        for _ in range(calls):
            counter.count(Subscription(who.provider_id, who.subscription_id, False, slot), "not_found", 0.001)
        counts = counter.take()
        await access.write(lambda tx, counts=counts, at=at: usage.store(tx, counts, at))  # type: ignore[misc]  # bound early
    read = await access.read(lambda tx: usage.read(tx, who.provider_id, who.subscription_id, DAY, NOW))
    assert [(span.slot, span.calls, span.refused) for span in read] == [
        ("primary", 8, {"not_found": 8}),
        ("secondary", 4, {"not_found": 4}),
    ]
    [whole] = usage.together(read)
    assert (whole.slot, whole.calls, whole.within, whole.refused) == ("", 12, (12, 0, 0, 0, 0), {"not_found": 12})
    assert await access.read(lambda tx: usage.busiest(tx, who.provider_id, who.subscription_id, MINUTE, NOW)) == 7
    assert await access.read(lambda tx: usage.busiest(tx, who.provider_id, b"x" * 16, MINUTE, NOW)) == 0
    for least, expected in ((12, [12]), (13, [])):
        found = await access.read(lambda tx, least=least: usage.at_least(tx, "gold", least, DAY, NOW))  # type: ignore[misc]  # bound early
        assert [heavy.calls for heavy in found] == expected
    assert await access.read(lambda tx: usage.at_least(tx, "silver", 1, DAY, NOW)) == []


async def test_a_closed_provider_is_closed_for_good(access: Store) -> None:
    who, (primary, _) = await acme(access)
    hashed = subscriptions.key_hash(primary)
    assert hashed is not None
    counter = UsageCounter()
    counter.subscription_key_used(hashed, NOW)
    counts = counter.take()
    await access.write(lambda tx: usage.store(tx, counts, NOW))
    with pytest.raises(InUse) as caught:
        await access.write(lambda tx: closing.close(tx, who.provider_id, NOW + DAY - 1))
    assert caught.value.at == NOW
    # Two concurrent closings close it once.
    answers = await asyncio.gather(
        *(access.write(lambda tx: closing.close(tx, who.provider_id, NOW + DAY)) for _ in range(4))
    )
    assert sorted(answers) == [False, False, False, True]
    assert await refusal(access, primary, NOW + DAY) == "subscription_key_inactive"
    # Nor does a key open anything that was somehow activated afterwards.
    late = await access.write(lambda tx: subscriptions.create(tx, who.provider_id, "late", NOW + DAY))
    await access.write(lambda tx: subscriptions.activate(tx, who.provider_id, late.id, NOW + DAY))
    assert await refusal(access, late.primary, NOW + DAY) == "subscription_key_inactive"
    assert await access.read(lambda tx: providers.find(tx, "Acme")) is None
    assert not await access.write(lambda tx: providers.rename(tx, who.provider_id, "Apex"))
    with pytest.raises(providers.NameTaken):
        await access.write(lambda tx: providers.create(tx, "Acme", NOW))


async def test_of_two_who_want_one_name_one_gets_it(access: Store) -> None:
    first = await access.write(lambda tx: providers.create(tx, "Acme", NOW))
    second = await access.write(lambda tx: providers.create(tx, "Other", NOW))
    answers = await asyncio.gather(
        *(access.write(lambda tx, row=row: providers.rename(tx, row, "Apex")) for row in (first, second)),  # type: ignore[misc]  # bound early
        return_exceptions=True,
    )
    assert sorted(type(answer).__name__ for answer in answers) == ["NameTaken", "bool"]
    winner = (first, second)[answers.index(True)]
    assert await access.read(lambda tx: providers.find(tx, "Apex")) == winner
    free = "Acme" if winner == first else "Other"
    assert await access.read(lambda tx: providers.find(tx, free)) is None
    await access.write(lambda tx: providers.create(tx, free, NOW))


async def test_a_notification_is_noted_once_and_forgotten_by_age(access: Store) -> None:
    values: dict[str, Value] = {"subject_id": b"s" * 16, "kind": "end_14", "occasion": NOW, "now": NOW}
    assert [await access.write(lambda tx: tx.run(notifications_sent.NOTE, **values)) for _ in range(2)] == [1, 0]
    kept = NOW + notifications_sent.KEPT
    assert await access.write(lambda tx: notifications_sent.prune(tx, kept, 10)) == 0
    assert await access.write(lambda tx: notifications_sent.prune(tx, kept + 1, 10)) == 1
