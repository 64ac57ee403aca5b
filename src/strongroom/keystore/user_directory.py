"""The users of the key store as their provider's developers may see them: counted, dated, suspended, never named."""

from strongroom.crypto.errors import UsernameRefused
from strongroom.crypto.names import canonical_username
from strongroom.services.user_directory import StoredUsers
from strongroom.services.user_metadata import UserMetadata
from strongroom.storage import Transaction

FIND = "SELECT user_id FROM usernames WHERE provider_id = :provider_id AND canonical_username = :canonical"
SUSPEND = "UPDATE users SET suspended_at = :now WHERE id = :id AND provider_id = :provider_id AND suspended_at IS NULL"
END_SESSIONS = "UPDATE sessions SET revoked_at = :now WHERE user_id = :id AND revoked_at IS NULL"


class KeystoreUsers(StoredUsers):
    async def find(self, provider_id: bytes, username: str) -> UserMetadata | None:
        try:
            canonical = canonical_username(username)
        except UsernameRefused:
            return None
        row = await self._store.read(lambda tx: tx.one(FIND, provider_id=provider_id, canonical=canonical))
        return None if row is None else await self.read(provider_id, row[0])

    async def _suspend(self, tx: Transaction, provider_id: bytes, user_id: bytes, now: int) -> bool:
        if not await tx.run(SUSPEND, id=user_id, provider_id=provider_id, now=now):
            return False
        # Otherwise the sessions of before would be good again once the user is resumed.
        await tx.execute(END_SESSIONS, id=user_id, now=now)
        return True
