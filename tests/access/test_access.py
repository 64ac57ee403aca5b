"""Providers, subscriptions and their keys."""

from pathlib import Path
from typing import Any

import pytest

from strongroom.access import closing, providers, sandbox, subscriptions
from strongroom.runtime.ids import new_row_id
from strongroom.runtime.secret import ServerSecret
from strongroom.wire.refusal import Refusal, Refused

pytestmark = pytest.mark.anyio
NOW = 1_000_000


@pytest.fixture
async def access(service: Any) -> Any:
    return service.application.access


async def subscription_of(access: Any, key: str, now: int = NOW) -> Any:
    try:
        return await access.read(lambda tx: subscriptions.authenticate(tx, key, now))
    except Refused as refused:
        return refused.refusal


async def make(access: Any) -> tuple[bytes, subscriptions.NewSubscription]:
    async def work(tx: Any) -> tuple[bytes, subscriptions.NewSubscription]:
        provider_id = await providers.create(tx, "acme", NOW)
        return provider_id, await subscriptions.create(tx, provider_id, "app", NOW)

    made: tuple[bytes, subscriptions.NewSubscription] = await access.write(work)
    return made


async def test_keys_open_from_activation_to_cancellation(access: Any) -> None:
    provider_id, made = await make(access)
    for key in (made.primary, made.secondary):
        assert await subscription_of(access, key) is Refusal.subscription_key_inactive
    assert await access.write(lambda tx: subscriptions.activate(tx, provider_id, made.id, NOW))
    assert not await access.write(lambda tx: subscriptions.activate(tx, provider_id, made.id, NOW))
    for key in (made.primary, made.secondary):
        assert (await subscription_of(access, key)).provider_id == provider_id
    assert await access.write(lambda tx: subscriptions.cancel(tx, provider_id, made.id, NOW))
    assert not await access.write(lambda tx: subscriptions.cancel(tx, provider_id, made.id, NOW))
    assert not await access.write(lambda tx: subscriptions.activate(tx, provider_id, made.id, NOW))
    for key in (made.primary, made.secondary):
        assert await subscription_of(access, key) is Refusal.subscription_key_inactive


async def test_one_key_is_regenerated_while_the_other_goes_on(access: Any) -> None:
    provider_id, made = await make(access)
    await access.write(lambda tx: subscriptions.activate(tx, provider_id, made.id, NOW))
    new = await access.write(lambda tx: subscriptions.regenerate(tx, provider_id, made.id, "primary", NOW, grace=1000))
    for key in (new, made.primary, made.secondary):
        assert (await subscription_of(access, key, NOW + 999)).subscription_id == made.id
    assert await subscription_of(access, made.primary, NOW + 1000) is Refusal.subscription_key_invalid
    records = await access.read(lambda tx: subscriptions.keys_of(tx, provider_id, made.id))
    assert sorted(record.slot for record in records) == ["primary", "primary", "secondary"]
    assert all(key not in repr(records) for key in (new, made.primary, made.secondary))


async def test_keys_are_stored_as_hashes_only(access: Any, tmp_path: Path) -> None:
    _, made = await make(access)
    stored = b"".join(file.read_bytes() for file in (tmp_path / "data").glob("access.sqlite*"))
    assert made.primary.encode() not in stored
    assert made.primary[-20:].encode() not in stored
    assert made.primary not in repr(made)


async def test_a_provider_has_at_most_two_active_api_keys(access: Any) -> None:
    provider_id, _ = await make(access)
    first = await access.write(lambda tx: providers.create_key(tx, provider_id, "one", NOW))
    second = await access.write(lambda tx: providers.create_key(tx, provider_id, "two", NOW))
    with pytest.raises(providers.TooManyKeys):
        await access.write(lambda tx: providers.create_key(tx, provider_id, "three", NOW))
    for key in (first, second):
        assert (await access.read(lambda tx, key=key: providers.authenticate(tx, provider_id, key, NOW))).provider_id
    records = await access.read(lambda tx: providers.keys_of(tx, provider_id))
    (key_id,) = [record.id for record in records if record.name == "one"]
    assert await access.write(lambda tx: providers.revoke_key(tx, provider_id, key_id, NOW))
    assert not await access.write(lambda tx: providers.revoke_key(tx, provider_id, key_id, NOW))
    with pytest.raises(Refused):
        await access.read(lambda tx: providers.authenticate(tx, provider_id, first, NOW))
    await access.write(lambda tx: providers.create_key(tx, provider_id, "three", NOW))


async def test_a_key_of_one_provider_is_nothing_to_another(access: Any) -> None:
    provider_id, _ = await make(access)
    key = await access.write(lambda tx: providers.create_key(tx, provider_id, "one", NOW))
    with pytest.raises(Refused) as caught:
        await access.read(lambda tx: providers.authenticate(tx, new_row_id(NOW), key, NOW))
    assert caught.value.refusal is Refusal.provider_key_invalid


async def test_names_of_providers_are_unique(access: Any) -> None:
    await make(access)
    with pytest.raises(providers.NameTaken):
        await access.write(lambda tx: providers.create(tx, "acme", NOW))
    assert [record.name for record in await access.read(providers.list_all)] == ["acme", "sandbox"]


async def test_a_sandbox_whose_keys_would_be_refused_is_refused(service: Any) -> None:
    access = service.application.access
    own, other = service.application.secret, ServerSecret(bytes(32))
    first = await access.write(lambda tx: sandbox.ensure(tx, own, NOW))
    assert await access.write(lambda tx: sandbox.ensure(tx, own, NOW)) == first
    with pytest.raises(sandbox.NotOurs):
        await access.write(lambda tx: sandbox.ensure(tx, other, NOW))
    provider_id = await access.read(lambda tx: providers.find(tx, sandbox.NAME))
    assert provider_id is not None
    assert await access.write(lambda tx: closing.close(tx, provider_id, NOW))
    with pytest.raises(sandbox.NotOurs):
        await access.write(lambda tx: sandbox.ensure(tx, own, NOW))


async def test_sandbox_keys_are_the_same_at_every_start(access: Any) -> None:
    secret = ServerSecret(bytes(32))
    first, second = sandbox.keys(secret), sandbox.keys(secret)
    assert first == second
    assert sandbox.keys(ServerSecret(bytes([1] * 32))) != first
    assert first.subscription_key not in repr(first)
