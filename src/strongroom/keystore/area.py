"""What every part of the key store works with."""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeAlias

from strongroom.keystore import session
from strongroom.runtime.clock import Clock
from strongroom.runtime.principals import KeystoreSession
from strongroom.services.passphrase_hashing import PassphraseHasher
from strongroom.storage import Store, T, Transaction

IssueVaultAdmissionToken: TypeAlias = Callable[[bytes, bytes, str | None], Awaitable[str]]
"""Provider id, user id and the fingerprint of the keypair tagged `vault`, if there is one; the token's value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keystore:
    """The key store of one deployment. Lifetimes are milliseconds."""

    store: Store
    clock: Clock
    passphrases: PassphraseHasher
    session_lifetime: int
    admission_token_lifetime: int
    issue_vault_admission_token: IssueVaultAdmissionToken
    """The vault's own function where both areas share a process, a call over HTTP where they do not."""

    async def authenticate(self, provider_id: bytes, text: str) -> KeystoreSession:
        """Whose session this is; `session_invalid` for anything unknown, ended, or of another provider."""
        parts = session.parse(text)
        now = self.clock.now()
        return await self.store.read(lambda tx: session.authenticate(tx, provider_id, parts, now))

    async def write_for(self, who: KeystoreSession, work: Callable[[Transaction, int], Coroutine[Any, Any, T]]) -> T:
        """One write transaction for a logged-in user; `work` also gets the time.

        The session is checked again inside it, so that nothing is stored after an acknowledged logout.
        """
        now = self.clock.now()

        async def checked(tx: Transaction) -> T:
            await session.recheck(tx, who, now)
            return await work(tx, now)

        return await self.store.write(checked)
