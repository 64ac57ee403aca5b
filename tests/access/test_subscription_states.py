"""What becomes of a subscription: approval, suspension, expiry, renaming."""

from typing import Any

import pytest

from strongroom.access import providers, subscription_states, subscriptions
from strongroom.wire.refusal import Refusal, Refused

pytestmark = pytest.mark.anyio
NOW = 1_000_000


@pytest.fixture
async def access(service: Any) -> Any:
    return service.application.access


async def make(access: Any, **values: Any) -> tuple[bytes, subscriptions.NewSubscription]:
    async def work(tx: Any) -> tuple[bytes, subscriptions.NewSubscription]:
        provider_id = await providers.create(tx, "acme", NOW)
        return provider_id, await subscriptions.create(tx, provider_id, "app", NOW, **values)

    made: tuple[bytes, subscriptions.NewSubscription] = await access.write(work)
    return made


async def refusal_of(access: Any, key: str, now: int = NOW) -> Refusal | None:
    try:
        await access.read(lambda tx: subscriptions.authenticate(tx, key, now))
    except Refused as refused:
        return refused.refusal
    return None


async def state_of(access: Any, provider_id: bytes, subscription_id: bytes, now: int = NOW) -> str:
    record = await access.read(lambda tx: subscriptions.read(tx, provider_id, subscription_id))
    state: str = record.state_at(now)
    return state


async def test_without_approval_nothing_is_activated(access: Any) -> None:
    provider_id, made = await make(access, product="standard", approved=False)
    assert not await access.write(lambda tx: subscriptions.activate(tx, provider_id, made.id, NOW))
    [(waiting, name)] = await access.read(lambda tx: subscription_states.waiting(tx, 10))
    assert (waiting.id, waiting.product, waiting.approved_at, name) == (made.id, "standard", None, "acme")
    assert await access.write(lambda tx: subscription_states.approve(tx, provider_id, made.id, NOW))
    assert not await access.write(lambda tx: subscription_states.approve(tx, provider_id, made.id, NOW))
    assert await access.read(lambda tx: subscription_states.waiting(tx, 10)) == []
    assert await refusal_of(access, made.primary) is Refusal.subscription_key_inactive
    assert await access.write(lambda tx: subscriptions.activate(tx, provider_id, made.id, NOW))
    assert await refusal_of(access, made.primary) is None


async def test_a_suspended_subscription_opens_nothing_until_it_is_resumed(access: Any) -> None:
    provider_id, made = await make(access)
    assert not await access.write(lambda tx: subscription_states.suspend(tx, provider_id, made.id, NOW))
    await access.write(lambda tx: subscriptions.activate(tx, provider_id, made.id, NOW))
    assert await access.write(lambda tx: subscription_states.suspend(tx, provider_id, made.id, NOW))
    assert await refusal_of(access, made.primary) is Refusal.subscription_key_inactive
    assert not await access.write(lambda tx: subscriptions.activate(tx, provider_id, made.id, NOW))
    assert await access.write(lambda tx: subscription_states.resume(tx, provider_id, made.id, NOW))
    assert await refusal_of(access, made.secondary) is None


async def test_a_subscription_ends_when_it_expires(access: Any) -> None:
    provider_id, made = await make(access, expires_at=NOW + 10)
    await access.write(lambda tx: subscriptions.activate(tx, provider_id, made.id, NOW))
    assert await refusal_of(access, made.primary, NOW + 9) is None
    assert await refusal_of(access, made.primary, NOW + 10) is Refusal.subscription_key_inactive
    assert await state_of(access, provider_id, made.id, NOW + 10) == "expired"
    assert not await access.write(lambda tx: subscription_states.suspend(tx, provider_id, made.id, NOW + 10))
    ending = await access.read(lambda tx: subscription_states.ending(tx, NOW, NOW + 10, 5))
    assert [record.id for record in ending] == [made.id]
    assert await access.read(lambda tx: subscription_states.ending(tx, NOW + 10, NOW + 99, 5)) == []
    assert await access.write(lambda tx: subscription_states.set_expiry(tx, provider_id, made.id, None))
    assert await refusal_of(access, made.primary, NOW + 10) is None


async def test_only_what_is_in_force_and_ones_own_is_changed(access: Any) -> None:
    provider_id, made = await make(access)
    stranger = b"?" * 16
    assert not await access.write(lambda tx: subscription_states.rename(tx, stranger, made.id, "mine"))
    assert not await access.write(lambda tx: subscription_states.set_expiry(tx, stranger, made.id, NOW))
    assert await access.write(lambda tx: subscription_states.rename(tx, provider_id, made.id, "shop"))
    in_force = await access.read(lambda tx: subscription_states.all_in_force(tx, 10))
    assert [(record.name, owner) for record, owner in in_force if record.id == made.id] == [("shop", "acme")]
    await access.write(lambda tx: subscriptions.cancel(tx, provider_id, made.id, NOW))
    assert not await access.write(lambda tx: subscription_states.rename(tx, provider_id, made.id, "late"))
    assert await state_of(access, provider_id, made.id, NOW) == "cancelled"
    left = await access.read(lambda tx: subscription_states.all_in_force(tx, 10))
    assert made.id not in [record.id for record, _ in left]
