"""The users of the key store as their provider's developers may see them: counted, dated, suspended, never named."""

from strongroom.crypto.errors import UsernameRefused
from strongroom.crypto.names import canonical_username
from strongroom.keystore.area import Keystore
from strongroom.services.user_metadata import Totals, UserMetadata
from strongroom.storage import Transaction

COUNT_USERS = "SELECT count(*), count(suspended_at) FROM users WHERE provider_id = :provider_id"
COUNT_TOKENS = """
SELECT count(*), count(used_at), count(CASE WHEN used_at IS NULL AND expires_at <= :now THEN 1 END)
FROM admission_tokens WHERE provider_id = :provider_id
"""
SOME = """
SELECT id, created_at,
       coalesce((SELECT max(valid_from) FROM sessions WHERE sessions.user_id = users.id), last_session_at), suspended_at
FROM users WHERE provider_id = :provider_id AND id > :after ORDER BY id LIMIT :limit
"""
READ = """
SELECT id, created_at,
       coalesce((SELECT max(valid_from) FROM sessions WHERE sessions.user_id = users.id), last_session_at), suspended_at
FROM users WHERE provider_id = :provider_id AND id = :id
"""
FIND = """
SELECT users.id, users.created_at,
       coalesce((SELECT max(valid_from) FROM sessions WHERE sessions.user_id = users.id), users.last_session_at),
       users.suspended_at
FROM usernames JOIN users ON users.id = usernames.user_id
WHERE usernames.provider_id = :provider_id AND usernames.canonical_username = :canonical
"""
SUSPEND = "UPDATE users SET suspended_at = :now WHERE id = :id AND provider_id = :provider_id AND suspended_at IS NULL"
END_SESSIONS = "UPDATE sessions SET revoked_at = :now WHERE user_id = :id AND revoked_at IS NULL"
RESUME = """
UPDATE users SET suspended_at = NULL WHERE id = :id AND provider_id = :provider_id AND suspended_at IS NOT NULL
"""


class KeystoreUsers:
    """A `UserDirectory` of the key store."""

    def __init__(self, keystore: Keystore) -> None:
        self._keystore = keystore

    async def totals(self, provider_id: bytes) -> Totals:
        now = self._keystore.clock.now()

        async def count(tx: Transaction) -> Totals:
            users = await tx.one(COUNT_USERS, provider_id=provider_id)
            tokens = await tx.one(COUNT_TOKENS, provider_id=provider_id, now=now)
            assert users is not None
            assert tokens is not None
            return Totals(*users, *tokens)

        return await self._keystore.store.read_many(count)

    async def some(self, provider_id: bytes, after: bytes, limit: int) -> list[UserMetadata]:
        rows = await self._keystore.store.read_many(
            lambda tx: tx.all(SOME, provider_id=provider_id, after=after, limit=limit)
        )
        return [UserMetadata(*row) for row in rows]

    async def find(self, provider_id: bytes, username: str) -> UserMetadata | None:
        try:
            canonical = canonical_username(username)
        except UsernameRefused:
            return None
        row = await self._keystore.store.read(lambda tx: tx.one(FIND, provider_id=provider_id, canonical=canonical))
        return None if row is None else UserMetadata(*row)

    async def read(self, provider_id: bytes, user_id: bytes) -> UserMetadata | None:
        row = await self._keystore.store.read(lambda tx: tx.one(READ, provider_id=provider_id, id=user_id))
        return None if row is None else UserMetadata(*row)

    async def suspend(self, provider_id: bytes, user_id: bytes) -> bool:
        now = self._keystore.clock.now()

        async def work(tx: Transaction) -> bool:
            if not await tx.run(SUSPEND, id=user_id, provider_id=provider_id, now=now):
                return False
            # Otherwise the sessions of before would be good again once the user is resumed.
            await tx.execute(END_SESSIONS, id=user_id, now=now)
            return True

        return await self._keystore.store.write(work)

    async def resume(self, provider_id: bytes, user_id: bytes) -> bool:
        return await self._keystore.store.write(lambda tx: tx.run(RESUME, id=user_id, provider_id=provider_id)) == 1
