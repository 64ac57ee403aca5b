"""The users of the vault as their provider's developers may see them: counted, dated, suspended."""

from strongroom.services.user_metadata import Totals, UserMetadata
from strongroom.storage import Transaction
from strongroom.vault.area import Vault

COUNT_USERS = "SELECT count(*), count(suspended_at) FROM users WHERE provider_id = :provider_id"
# What the key store issued and the vault took is counted there.
COUNT_TOKENS = """
SELECT count(*), count(used_at), count(CASE WHEN used_at IS NULL AND expires_at <= :now THEN 1 END)
FROM admission_tokens WHERE provider_id = :provider_id
"""
SOME = """
SELECT user_id, created_at,
       coalesce((SELECT max(first_used_at) FROM sessions WHERE sessions.user_id = users.user_id), last_session_at),
       suspended_at
FROM users WHERE provider_id = :provider_id AND user_id > :after ORDER BY user_id LIMIT :limit
"""
READ = """
SELECT user_id, created_at,
       coalesce((SELECT max(first_used_at) FROM sessions WHERE sessions.user_id = users.user_id), last_session_at),
       suspended_at
FROM users WHERE provider_id = :provider_id AND user_id = :user_id
"""
# Session strings need no row to be good: a new generation ends those that nobody has used yet too.
SUSPEND = """
UPDATE users SET suspended_at = :now, session_generation = session_generation + 1
WHERE user_id = :user_id AND provider_id = :provider_id AND suspended_at IS NULL
"""
RESUME = """
UPDATE users SET suspended_at = NULL
WHERE user_id = :user_id AND provider_id = :provider_id AND suspended_at IS NOT NULL
"""


class VaultUsers:
    """A `UserDirectory` of the vault."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    async def totals(self, provider_id: bytes) -> Totals:
        now = self._vault.clock.now()

        async def count(tx: Transaction) -> Totals:
            users = await tx.one(COUNT_USERS, provider_id=provider_id)
            tokens = await tx.one(COUNT_TOKENS, provider_id=provider_id, now=now)
            assert users is not None
            assert tokens is not None
            return Totals(*users, *tokens)

        return await self._vault.store.read_many(count)

    async def some(self, provider_id: bytes, after: bytes, limit: int) -> list[UserMetadata]:
        rows = await self._vault.store.read_many(
            lambda tx: tx.all(SOME, provider_id=provider_id, after=after, limit=limit)
        )
        return [UserMetadata(*row) for row in rows]

    async def find(self, provider_id: bytes, username: str) -> UserMetadata | None:
        return None  # vault users are known by a public key and have no names

    async def read(self, provider_id: bytes, user_id: bytes) -> UserMetadata | None:
        row = await self._vault.store.read(lambda tx: tx.one(READ, provider_id=provider_id, user_id=user_id))
        return None if row is None else UserMetadata(*row)

    async def suspend(self, provider_id: bytes, user_id: bytes) -> bool:
        now = self._vault.clock.now()
        return (
            await self._vault.store.write(lambda tx: tx.run(SUSPEND, user_id=user_id, provider_id=provider_id, now=now))
            == 1
        )

    async def resume(self, provider_id: bytes, user_id: bytes) -> bool:
        return await self._vault.store.write(lambda tx: tx.run(RESUME, user_id=user_id, provider_id=provider_id)) == 1
