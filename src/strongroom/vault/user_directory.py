"""The users of the vault as their provider's developers may see them: counted, dated, suspended. They have no names.

Tokens that the key store issued and the vault took are counted there.
"""

from strongroom.services.user_directory import StoredUsers
from strongroom.storage import Transaction

# Session strings need no row to be good: a new generation also ends those that were never used.
SUSPEND = """
UPDATE users SET suspended_at = :now, session_generation = session_generation + 1
WHERE id = :id AND provider_id = :provider_id AND suspended_at IS NULL
"""


class VaultUsers(StoredUsers):
    async def _suspend(self, tx: Transaction, provider_id: bytes, user_id: bytes, now: int) -> bool:
        return await tx.run(SUSPEND, id=user_id, provider_id=provider_id, now=now) == 1
