"""What developers are told of key store users, and what suspension does."""

from typing import Any

import pytest

from strongroom.access import providers
from strongroom.keystore import maintenance
from strongroom.keystore.user_directory import KeystoreUsers

pytestmark = pytest.mark.anyio


async def sandbox_id(service: Any) -> bytes:
    found = await service.application.access.read(lambda tx: providers.find(tx, "sandbox"))
    assert found is not None
    return bytes(found)


async def test_users_and_tokens_are_counted_for_their_provider_only(service: Any, login_secret: Any) -> None:
    directory, provider_id = (
        KeystoreUsers(service.application.keystore.store, service.application.keystore.clock),
        await sandbox_id(service),
    )
    await service.user("ada")
    await service.admission_token()
    service.clock.move(86_401)
    await service.admission_token()
    totals = await directory.totals(provider_id)
    assert (totals.users, totals.suspended) == (1, 0)
    assert (totals.issued, totals.used, totals.expired) == (3, 1, 1)
    other = await directory.totals(b"?" * 16)
    assert (other.users, other.issued) == (0, 0)
    assert await directory.some(b"?" * 16, b"", 10) == []
    assert await directory.find(b"?" * 16, "ada") is None


async def test_users_are_listed_in_parts_and_found_by_any_spelling_of_their_name(service: Any) -> None:
    directory, provider_id = (
        KeystoreUsers(service.application.keystore.store, service.application.keystore.clock),
        await sandbox_id(service),
    )
    for name in ("ada", "bob", "cleo"):
        await service.user(name)
    first = await directory.some(provider_id, b"", 2)
    rest = await directory.some(provider_id, first[-1].id, 2)
    assert [len(first), len(rest)] == [2, 1]
    ids = [user.id for user in (*first, *rest)]
    assert ids == sorted(set(ids))
    found = await directory.find(provider_id, "ADA")
    assert found in (*first, *rest)
    assert await directory.find(provider_id, "nobody") is None
    assert await directory.find(provider_id, "") is None


async def test_suspension_ends_every_session_for_good(service: Any) -> None:
    directory, provider_id = (
        KeystoreUsers(service.application.keystore.store, service.application.keystore.clock),
        await sandbox_id(service),
    )
    session = await service.user("ada")
    ada = await directory.find(provider_id, "ada")
    assert ada is not None
    assert not await directory.suspend(b"?" * 16, ada.id)
    assert await directory.suspend(provider_id, ada.id)
    assert not await directory.suspend(provider_id, ada.id)
    assert (await directory.totals(provider_id)).suspended == 1
    assert (await service.call("GET", "/keystore/keypairs", auth=session)).status_code == 401
    assert not await directory.resume(b"?" * 16, ada.id)
    assert await directory.resume(provider_id, ada.id)
    assert not await directory.resume(provider_id, ada.id)
    assert (await service.call("GET", "/keystore/keypairs", auth=session)).status_code == 401
    again = await service.log_in("ada")
    assert (await service.call("GET", "/keystore/keypairs", auth=again)).status_code == 200


async def test_the_last_session_is_known_after_it_is_forgotten(service: Any) -> None:
    keystore = service.application.keystore
    directory, provider_id = KeystoreUsers(keystore.store, keystore.clock), await sandbox_id(service)
    await service.user("ada")
    service.clock.move(60)
    await service.log_in("ada")
    before = await directory.find(provider_id, "ada")
    assert before is not None
    assert before.last_session_at is not None
    assert before.last_session_at >= before.created_at + 60_000
    service.clock.move(2 * 86_400)
    assert await maintenance.prune(keystore) == 2
    after = await directory.find(provider_id, "ada")
    assert after is not None
    assert after.last_session_at == before.last_session_at
