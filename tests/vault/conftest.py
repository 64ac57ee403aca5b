"""A vault on a real store, with a key store that remembers what was claimed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterable
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import pytest

from strongroom.crypto.public_keys import PublicKey
from strongroom.crypto.rsa4096 import PrivateKey
from strongroom.http.answers import Stream
from strongroom.http.call import Call
from strongroom.runtime import ids
from strongroom.runtime.clock import MovableClock
from strongroom.runtime.principals import Provider, Service, Subscription, VaultSession
from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Row, Transaction, Value
from strongroom.storage.sqlite.store import SqliteStore
from strongroom.vault import session
from strongroom.vault.api import VaultApi
from strongroom.vault.area import Vault
from strongroom.wire.refusal import Refusal, Refused
from strongroom.wire.vault import (
    ClassificationNodeQuery,
    ClassificationNodesResponse,
    CreateVaultSession,
    CreateVaultUser,
    IssueExternalAdmissionToken,
    NewVaultUser,
    VaultUserResponse,
)

KEYS = Path(__file__).parents[1] / "keys"
PROVIDER = b"\x01" * 16
OTHER_PROVIDER = b"\x02" * 16
REALM = "https://vault.example"
SOMEBODY = VaultSession(PROVIDER, b"\x02" * 16, b"\x03" * 16)


def public_pem(name: str) -> str:
    return (KEYS / f"{name}.public.pem").read_text()


class Keystore:
    """The other area: one claimant for each of its tokens, as the key store decides it."""

    def __init__(self) -> None:
        self.claims: dict[str, str | None] = {}

    async def claim(self, token_value: str, provider_id: bytes, claimant: str) -> None:
        if token_value not in self.claims or provider_id != PROVIDER:
            raise Refused(Refusal.admission_token_invalid)
        if self.claims[token_value] not in (None, claimant):
            raise Refused(Refusal.admission_token_used)
        self.claims[token_value] = claimant


@dataclass
class World:
    """The vault with everything a test turns."""

    vault: Vault
    api: VaultApi
    clock: MovableClock
    keystore: Keystore
    provider_id: bytes = PROVIDER
    other_provider_id: bytes = OTHER_PROVIDER
    private_keys: dict[str, PrivateKey] = field(default_factory=dict)
    subscription: Subscription = field(default_factory=lambda: Subscription(PROVIDER, b"\x03" * 16, False, "primary"))
    other_subscription: Subscription = field(
        default_factory=lambda: Subscription(OTHER_PROVIDER, b"\x04" * 16, False, "primary")
    )

    def public_pem(self, name: str) -> str:
        return public_pem(name)

    async def token(self, provider_id: bytes = PROVIDER) -> str:
        answer = await self.api.issue_vault_admission_token(Call(Provider(provider_id, b"\x05" * 16)))
        return answer.admission_token.token_value

    async def external_token(self, keystore_user_id: bytes, name: str | None = None) -> str:
        fingerprint = None if name is None else PublicKey.parse(public_pem(name)).fingerprint
        request = IssueExternalAdmissionToken(ids.to_text(PROVIDER), ids.to_text(keystore_user_id), fingerprint)
        return (await self.api.issue_external_admission_token(Call(Service(), body=request))).token_value

    async def create_user(self, name: str, token: str | None = None, pem: str | None = None) -> VaultUserResponse:
        body = NewVaultUser(pem or public_pem(name), await self.token() if token is None else token)
        return await self.api.create_vault_user(Call(self.subscription, body=CreateVaultUser(body)))

    async def octets(self, stream: Stream) -> bytes:
        return b"".join([piece async for piece in stream.read(0, None)])

    async def log_in(self, name: str, who: Subscription | None = None) -> str:
        answer = await self.api.create_vault_session(
            Call(who or self.subscription, body=CreateVaultSession(public_pem(name)))
        )
        return self.decrypt(name, answer.session.encrypted_session_authentication_string)

    def decrypt(self, name: str, encrypted: str) -> str:
        if name not in self.private_keys:
            self.private_keys[name] = PrivateKey.parse((KEYS / f"{name}.private.pem").read_text(), trusted=True)
        return self.private_keys[name].decrypt(encrypted).decode("ascii")

    async def authenticate(self, text: str, provider_id: bytes = PROVIDER) -> VaultSession:
        return await session.authenticate(self.vault, provider_id, text)

    async def list_nodes(self, query: ClassificationNodeQuery) -> ClassificationNodesResponse:
        listing = await self.api.list_classification_nodes(Call(SOMEBODY, query=query))
        return await listing.make()

    async def version(self, query: ClassificationNodeQuery) -> str:
        return (await self.api.list_classification_nodes(Call(SOMEBODY, query=query))).etag

    async def rows(self, sql: str, **values: Value) -> list[Row]:
        async def find(tx: Transaction) -> list[Row]:
            return await tx.all(sql, **values)

        return await self.vault.store.read(find)

    async def run(self, sql: str, **values: Value) -> int:
        async def change(tx: Transaction) -> int:
            return await tx.run(sql, **values)

        return await self.vault.store.write(change)

    async def refused(self, sent: Awaitable[object]) -> Refusal:
        """The refusal of a call that has to be refused."""
        with pytest.raises(Refused) as caught:
            await sent
        return caught.value.refusal

    async def outcomes(self, sent: Iterable[Awaitable[object]]) -> list[object]:
        """Run at the same time; of each its refusal, or what it gave."""
        results = await asyncio.gather(*sent, return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException) and not isinstance(result, Refused):
                raise result
        return [result.refusal if isinstance(result, Refused) else result for result in results]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    store = SqliteStore(tmp_path / "vault.sqlite", files("strongroom.vault") / "migrations")
    clock, keystore = MovableClock(), Keystore()
    vault = Vault(
        store=store,
        clock=clock,
        secret=ServerSecret(b"s" * 32),
        public_url=REALM,
        realm=REALM,
        claim_admission_token=keystore.claim,
    )
    yield World(vault, VaultApi(vault), clock, keystore)
    await store.close()
