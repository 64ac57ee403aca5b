"""Who calls: each kind of credential is looked up in the area that made it, and its use is counted."""

from strongroom.access import providers, subscriptions
from strongroom.http import peer
from strongroom.http.door import Authenticate
from strongroom.keystore.area import Keystore
from strongroom.runtime.clock import Clock
from strongroom.runtime.loop_tick import LoopTick
from strongroom.runtime.principals import KeystoreSession, Provider, Service, Subscription, VaultSession
from strongroom.runtime.secret import ServerSecret
from strongroom.services.usage import UsageCounter
from strongroom.storage import Store
from strongroom.vault.area import Vault
from strongroom.wire.endpoint import Credential


class Credentials:
    """Authentication as the door asks for it. An area that is not served here has no endpoints that could ask."""

    def __init__(
        self,
        access: Store,
        clock: Clock,
        secret: ServerSecret,
        usage: UsageCounter,
        keystore: Keystore | None,
        vault: Vault | None,
    ) -> None:
        self._access = access
        self._clock = clock
        self._secret = secret
        self._usage = usage
        self._keystore = keystore
        self._vault = vault
        self._seen: dict[str, Subscription] = {}
        self._loop_tick = LoopTick(self._forget)

    def by_kind(self) -> dict[Credential, Authenticate]:
        return {
            Credential.provider: self._provider,
            Credential.keystore_session: self._keystore_session,
            Credential.vault_session: self._vault_session,
            Credential.service: self._service,
        }

    async def subscription(self, key: str) -> Subscription:
        """Whose subscription key this is: read once for all requests of a turn, for most of them bring the same."""
        if not self._loop_tick.is_on:
            self._loop_tick.begin()
        seen = self._seen  # another one as soon as the turn is over, also while we wait
        found = seen.get(key)
        if found is None:
            now = self._clock.now()
            found = seen[key] = await self._access.read(lambda tx: subscriptions.authenticate(tx, key, now))
            hashed = subscriptions.key_hash(key)
            if hashed is not None:
                self._usage.subscription_key_used(hashed, now)
        return found

    def _forget(self) -> None:
        self._seen = {}

    async def _provider(self, who: Subscription | None, value: str) -> Provider:
        assert who is not None
        now = self._clock.now()
        found = await self._access.read(lambda tx: providers.authenticate(tx, who.provider_id, value, now))
        self._usage.provider_key_used(found.provider_id, found.provider_key_id, now)
        return found

    async def _keystore_session(self, who: Subscription | None, value: str) -> KeystoreSession:
        assert who is not None
        assert self._keystore is not None
        return await self._keystore.authenticate(who.provider_id, value)

    async def _vault_session(self, who: Subscription | None, value: str) -> VaultSession:
        assert who is not None
        assert self._vault is not None
        return await self._vault.authenticate(who.provider_id, value)

    async def _service(self, _: Subscription | None, value: str) -> Service:
        return peer.authenticate(self._secret, value)
