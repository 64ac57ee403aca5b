"""The client against the service in process, with real keys: registration, another device, interruption, compat."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from strongroom import AsyncStrongroom, UnlockRefused, UsernameTaken
from strongroom.client.observing import Exchange

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

PASSPHRASE = "Pässword ☃ horse battery"
ELEVEN_STEPS = [
    ("POST", "/keystore/admission_tokens"),
    ("POST", "/keystore/users"),
    ("POST", "/keystore/session"),
    ("POST", "/keystore/passphrase_derivation_artefact"),
    ("POST", "/keystore/key_encryption_key"),
    ("POST", "/keystore/data_encryption_keys"),
    ("POST", "/keystore/keypairs"),
    ("GET", "/keystore/external_admission_tokens"),
    ("POST", "/vault/me"),
]


def client(service: Any, transport: httpx.AsyncBaseTransport | None = None, **options: Any) -> AsyncStrongroom:
    return AsyncStrongroom(
        "http://127.0.0.1:8000",
        subscription_key=service.keys.subscription_key,
        provider_api_key=service.keys.provider_api_key,
        transport=transport or httpx.ASGITransport(service.application),
        **options,
    )


async def test_eleven_steps_then_another_device(service: Any) -> None:
    seen: list[Exchange] = []
    async with client(service, observer=seen.append) as here:
        account = await here.register("Ada", PASSPHRASE)
        sealed = await account.seal(b"my passport", context="documents")
        nodes = await account.classification_nodes(scheme_name="esafe_tags")
    steps = [(exchange.method, exchange.path) for exchange in seen]
    assert [step for step in steps if step in ELEVEN_STEPS] == ELEVEN_STEPS
    assert all(exchange.status < 300 for exchange in seen)
    assert {node.name for node in nodes} >= {"family", "work", "health", "warranty"}
    for exchange in seen:
        for form in (PASSPHRASE, json.dumps(PASSPHRASE)[1:-1], PASSPHRASE.encode().hex()):
            assert form.encode() not in exchange.request_body

    async with client(service) as there:
        again = await there.unlock("ADA", PASSPHRASE)
        assert await again.open(sealed, context="documents") == b"my passport"
        assert again.data_encryption_keys == ("data",)
        assert await again.classification_nodes(by_name="fam")
        await again.log_out()
        with pytest.raises(UnlockRefused):
            await there.unlock("ada", PASSPHRASE + "x")
        with pytest.raises(UsernameTaken):
            await there.register("aDa", "another passphrase")


class Cut(httpx.AsyncBaseTransport):
    """A connection that breaks once: before or after the request at `place` has reached the service."""

    def __init__(self, inner: httpx.AsyncBaseTransport, place: int, after: bool) -> None:
        self.inner, self.place, self.after, self.count = inner, place, after, 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.count += 1
        if self.count == self.place and not self.after:
            raise httpx.ConnectError("cut")
        response = await self.inner.handle_async_request(request)
        if self.count == self.place:
            await response.aread()
            raise httpx.ReadError("cut")
        return response


@pytest.mark.parametrize(("place", "after"), [(2, True), (5, True), (5, False), (7, True), (9, True)])
async def test_an_interrupted_registration_is_finished_by_the_same_call(
    service: Any, place: int, after: bool, stored_rows: Callable[..., Any]
) -> None:
    transport = Cut(httpx.ASGITransport(service.application), place, after)
    async with client(service, transport) as service_client:
        token = await service.admission_token()
        try:
            account = await service_client.register("ada", PASSPHRASE, admission_token=token)
        except Exception as error:
            assert type(error).__name__ == "ServiceUnavailable"  # noqa: PT017
            account = await service_client.register("ada", PASSPHRASE, admission_token=token)
        sealed = await account.seal(b"x")
    async with client(service) as there:
        again = await there.unlock("ada", PASSPHRASE)
        assert await again.open(sealed) == b"x"
    assert await stored_rows("users", "key_encryption_keys", "data_encryption_keys", "keypairs") == [1, 1, 1, 1]


@pytest.fixture
def stored_rows(service: Any) -> Callable[..., Any]:
    async def count(*tables: str) -> list[int]:
        store = service.application.keystore.store
        return [
            (await store.read(lambda tx, table=table: tx.one(f"SELECT count(*) FROM {table}")))[0] for table in tables
        ]

    return count


async def test_a_changed_key_and_a_wrong_passphrase_are_refused_alike(service: Any, sealed: Any) -> None:
    async with client(service) as here:
        account = await here.register("ada", PASSPHRASE)
        account.close()

        async def damage(tx: Any) -> None:
            await tx.run("UPDATE key_encryption_keys SET serialized_key_encryption_key = :other", other=sealed(32))

        await service.application.keystore.store.write(damage)
        with pytest.raises(UnlockRefused):
            await here.unlock("ada", PASSPHRASE)
