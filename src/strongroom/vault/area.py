"""What every part of the vault works with."""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeAlias

from strongroom.runtime.clock import Clock
from strongroom.runtime.principals import VaultSession
from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Store, T, Transaction
from strongroom.vault import session

ClaimAdmissionToken: TypeAlias = Callable[[bytes, str, str], Awaitable[None]]
"""Provider id, the value of a token of the key store and the fingerprint of the public key that it is used up for.

Raises `Refused` where the key store says no. The same claimant may claim the same token again.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Vault:
    """The vault of one deployment. Lifetimes, and the window of first use, are milliseconds."""

    store: Store
    clock: Clock
    secret: ServerSecret
    public_url: str
    """The `{base_url}` of image URLs, without a slash at the end."""
    realm_tag: str
    """What session strings of this deployment bear."""
    session_lifetime: int
    admission_token_lifetime: int
    first_use_window: int
    claim_admission_token: ClaimAdmissionToken
    """The key store's own function where both areas share a process, a call over HTTP where they do not."""

    async def authenticate(self, provider_id: bytes, text: str) -> VaultSession:
        """Whose session this is; `session_invalid` for anything forged, ended, or of another provider.

        The first use of a string makes its row; later uses only read.
        """
        now = self.clock.now()
        claims = session.parse(self.secret, self.realm_tag, text, now, self.session_lifetime)
        who = VaultSession(provider_id, claims.user_id, claims.session_id)
        if not await self.store.read(lambda tx: session.is_used(tx, who, claims, now)):
            session.check_first_use(claims, now, self.first_use_window)
            await self.store.write(lambda tx: session.use_first(tx, who, claims, now))
        return who

    async def write_for(self, who: VaultSession, work: Callable[[Transaction, int], Coroutine[Any, Any, T]]) -> T:
        """One write transaction for a logged-in user; `work` also gets the time.

        The session is checked again inside it, so that nothing is stored after an acknowledged logout.
        """
        now = self.clock.now()

        async def checked(tx: Transaction) -> T:
            await session.recheck(tx, who, now)
            return await work(tx, now)

        return await self.store.write(checked)
