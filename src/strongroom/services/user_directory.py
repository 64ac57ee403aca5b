"""The `UserDirectory` of an area, over the tables that every area with users has."""

from abc import abstractmethod

from strongroom.runtime.clock import Clock
from strongroom.services.user_metadata import Totals, UserDirectory, UserMetadata
from strongroom.storage import Store, Transaction

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
PROVIDERS = """
SELECT provider_id FROM users UNION SELECT provider_id FROM admission_tokens ORDER BY provider_id
"""
RESUME = """
UPDATE users SET suspended_at = NULL WHERE id = :id AND provider_id = :provider_id AND suspended_at IS NOT NULL
"""


class StoredUsers(UserDirectory):
    """The area's database has tables `users`, `sessions` and `admission_tokens` with the columns named here."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def totals(self, provider_id: bytes) -> Totals:
        now = self._clock.now()

        async def count(tx: Transaction) -> Totals:
            users = await tx.one(COUNT_USERS, provider_id=provider_id)
            tokens = await tx.one(COUNT_TOKENS, provider_id=provider_id, now=now)
            assert users is not None
            assert tokens is not None
            return Totals(*users, *tokens)

        return await self._store.read_many(count)

    async def some(self, provider_id: bytes, after: bytes, limit: int) -> list[UserMetadata]:
        rows = await self._store.read_many(lambda tx: tx.all(SOME, provider_id=provider_id, after=after, limit=limit))
        return [UserMetadata(*row) for row in rows]

    async def find(self, provider_id: bytes, username: str) -> UserMetadata | None:
        return None  # an area without names

    async def read(self, provider_id: bytes, user_id: bytes) -> UserMetadata | None:
        row = await self._store.read(lambda tx: tx.one(READ, provider_id=provider_id, id=user_id))
        return None if row is None else UserMetadata(*row)

    async def suspend(self, provider_id: bytes, user_id: bytes) -> bool:
        now = self._clock.now()
        return await self._store.write(lambda tx: self._suspend(tx, provider_id, user_id, now))

    async def resume(self, provider_id: bytes, user_id: bytes) -> bool:
        return await self._store.write(lambda tx: tx.run(RESUME, id=user_id, provider_id=provider_id)) == 1

    @abstractmethod
    async def _suspend(self, tx: Transaction, provider_id: bytes, user_id: bytes, now: int) -> bool:
        """`suspend`, inside its transaction."""
