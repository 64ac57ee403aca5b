"""Two services on one PostgreSQL server: nothing that has to hold is kept in a process."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from strongroom.app import Application
from strongroom.runtime.settings import load
from strongroom.storage.postgres.store import PostgresStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from tools.postgres_server import PostgresServer

pytestmark = pytest.mark.anyio

_numbers = itertools.count(1)

AREAS_WITH_DATABASE = ("access", "keystore", "vault")
BASE_URL = "http://127.0.0.1:8000"


class Services:
    """Two applications with databases, secret and sandbox in common."""

    def __init__(self, settings: dict[str, str | None]) -> None:
        self.applications = [Application(load({}, settings)) for _ in range(2)]

    async def start(self) -> None:
        # At once, as workers do: one makes the schema and the sandbox, the other finds them.
        await asyncio.gather(*(application.start(warm=False) for application in self.applications))
        keys = await asyncio.gather(*(application.ensure_sandbox() for application in self.applications))
        self.keys = keys[0]
        self._clients = [
            httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url=BASE_URL)
            for application in self.applications
        ]

    async def close(self) -> None:
        for client, application in zip(self._clients, self.applications, strict=True):
            await client.aclose()
            await application.close()

    async def call(self, which: int, method: str, path: str, body: Any = None, auth: str | None = None) -> Any:
        headers = {"Service-Subscription-Key": self.keys.subscription_key}
        if auth is not None:
            headers["Authorization"] = auth
        return await self._clients[which].request(method, path, json=body, headers=headers)

    async def token(self, path: str = "/keystore/admission_tokens") -> str:
        answer = await self.call(0, "POST", path, auth=self.keys.provider_api_key)
        assert answer.status_code == 201
        return str(answer.json()["admission_token"]["token_value"])


@pytest.fixture
async def services(tmp_path: Path, postgres_server: "PostgresServer") -> AsyncIterator[Services]:
    schema = f"app_{next(_numbers)}"
    settings: dict[str, str | None] = {
        "data": str(tmp_path / "data"),
        "areas": "keystore,vault",
        "access_log": "off",
    }
    for area in ("access", "keystore", "vault"):
        settings[f"{area}_database"] = f"{postgres_server.url()}&options=-csearch_path%3D{schema}_{area}"
    both = Services(settings)
    await both.start()
    yield both
    await both.close()


@pytest.fixture
def person(login_secret: "Callable[..., str]") -> dict[str, str]:
    return {"username": "ada", "passphrase": login_secret()}


def test_the_setting_bounds_the_connections_of_every_database(tmp_path: Path) -> None:
    given: dict[str, str | None] = {f"{area}_database": "postgresql:///none" for area in AREAS_WITH_DATABASE}
    settings = load({}, given | {"data": str(tmp_path), "database_connections": "3"})
    stores = Application(settings)._stores
    assert [store._connections for store in stores if isinstance(store, PostgresStore)] == [3] * 3


async def test_a_user_of_one_is_a_user_of_the_other(services: Services, person: dict[str, str]) -> None:
    made = await services.call(0, "POST", "/keystore/users", {"admission_token": await services.token(), **person})
    assert made.status_code == 201
    session = await services.call(1, "POST", "/keystore/session", person)
    text = session.json()["session"]["session_authentication_string"]
    for which in (0, 1):
        assert (await services.call(which, "GET", "/keystore/keypairs", auth=text)).status_code == 200
    assert (await services.call(0, "DELETE", "/keystore/session", auth=text)).status_code == 204
    for which in (0, 1):
        assert (await services.call(which, "GET", "/keystore/keypairs", auth=text)).status_code == 401


async def test_one_token_against_many_requests_has_one_winner(services: Services, person: dict[str, str]) -> None:
    token = await services.token()
    answers = await asyncio.gather(
        *(
            services.call(
                turn % 2,
                "POST",
                "/keystore/users",
                {"admission_token": token, **person, "username": f"user{turn % 5}"},
            )
            for turn in range(16)
        )
    )
    codes = sorted(answer.json().get("code", "made") for answer in answers)
    assert codes == ["admission_token_used"] * 15 + ["made"]


async def test_one_name_against_many_tokens_has_one_winner_and_spends_one(
    services: Services, person: dict[str, str]
) -> None:
    tokens = [await services.token() for _ in range(8)]
    answers = await asyncio.gather(
        *(
            services.call(turn % 2, "POST", "/keystore/users", {"admission_token": token, **person})
            for turn, token in enumerate(tokens)
        )
    )
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 7
    unused = [token for token, answer in zip(tokens, answers, strict=True) if answer.status_code == 409]
    again = await services.call(
        0, "POST", "/keystore/users", {"admission_token": unused[0], **person, "username": "bob"}
    )
    assert again.status_code == 201


async def test_two_key_encryption_keys_have_one_winner(
    services: Services, person: dict[str, str], sealed: "Callable[..., str]"
) -> None:
    await services.call(0, "POST", "/keystore/users", {"admission_token": await services.token(), **person})
    session = await services.call(0, "POST", "/keystore/session", person)
    text = session.json()["session"]["session_authentication_string"]
    values = [sealed(seed=1), sealed(seed=2)]
    answers = await asyncio.gather(
        *(
            services.call(
                turn % 2,
                "POST",
                "/keystore/key_encryption_key",
                {"serialized_key_encryption_key": values[turn % 4 // 2]},
                auth=text,
            )
            for turn in range(16)
        )
    )
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201] + [409] * 8


async def test_shipped_nodes_are_imported_once_and_readiness_is_reported(services: Services) -> None:
    vault = services.applications[0].vault
    assert vault is not None
    counted = await vault.store.read(
        lambda tx: tx.one("SELECT count(*) - count(DISTINCT node_id), count(*) > 20 FROM classification_nodes")
    )
    assert counted == (0, 1)
    assert (await services.call(1, "GET", "/readyz")).status_code == 200
