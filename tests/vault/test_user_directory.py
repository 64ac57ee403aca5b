"""What developers are told of vault users, and what suspension does."""

from typing import Any

import pytest

from strongroom.access import providers
from strongroom.vault import maintenance
from strongroom.vault.user_directory import VaultUsers

pytestmark = pytest.mark.anyio

NODES = "/vault/classification_nodes"


async def sandbox_id(service: Any) -> bytes:
    found = await service.application.access.read(lambda tx: providers.find(tx, "sandbox"))
    assert found is not None
    return bytes(found)


async def test_users_and_tokens_are_counted_for_their_provider_only(service: Any) -> None:
    directory, provider_id = (
        VaultUsers(service.application.vault.store, service.application.vault.clock),
        await sandbox_id(service),
    )
    await service.vault_session("ada")
    await service.admission_token("/vault/admission_tokens")
    service.clock.move(86_401)
    totals = await directory.totals(provider_id)
    assert (totals.users, totals.suspended, totals.issued, totals.used, totals.expired) == (1, 0, 2, 1, 1)
    assert (await directory.totals(b"?" * 16)).users == 0
    assert await directory.some(b"?" * 16, b"", 10) == []
    assert await directory.find(provider_id, "ada") is None


async def test_suspension_ends_sessions_that_were_never_used_too(service: Any) -> None:
    directory, provider_id = (
        VaultUsers(service.application.vault.store, service.application.vault.clock),
        await sandbox_id(service),
    )
    session = await service.vault_session("ada")
    [ada] = await directory.some(provider_id, b"", 10)
    assert not await directory.suspend(b"?" * 16, ada.id)
    assert await directory.suspend(provider_id, ada.id)
    assert not await directory.suspend(provider_id, ada.id)
    assert (await service.call("GET", NODES, auth=session)).status_code == 401
    assert not await directory.resume(b"?" * 16, ada.id)
    assert await directory.resume(provider_id, ada.id)
    assert (await service.call("GET", NODES, auth=session)).status_code == 401


async def test_the_last_session_is_known_after_it_is_forgotten(service: Any) -> None:
    vault = service.application.vault
    directory, provider_id = VaultUsers(vault.store, vault.clock), await sandbox_id(service)
    session = await service.vault_session("ada")
    assert (await service.call("GET", NODES, auth=session)).status_code == 200
    [before] = await directory.some(provider_id, b"", 10)
    assert before.last_session_at is not None
    service.clock.move(3 * 86_400)
    assert await maintenance.prune(vault) >= 1
    [after] = await directory.some(provider_id, b"", 10)
    assert after.last_session_at == before.last_session_at
