"""Session rows as key store and vault both keep them: one for each session, until some time after its end.

An area with sessions has tables `users` and `sessions` among its migrations with the columns named here.
"""

from strongroom.runtime.principals import KeystoreSession, VaultSession
from strongroom.storage import Transaction

REVOKE = "UPDATE sessions SET revoked_at = :now WHERE user_id = :user_id AND id = :id AND revoked_at IS NULL"
REVOKE_ALL = "UPDATE sessions SET revoked_at = :now WHERE revoked_at IS NULL"
# Of the sessions that are about to be forgotten the users keep the time of the newest.
KEEP_LAST = """
UPDATE users SET last_session_at =
    coalesce((SELECT max(valid_from) FROM sessions WHERE sessions.user_id = users.id), last_session_at)
WHERE id IN (SELECT user_id FROM sessions WHERE valid_till < :before ORDER BY valid_till, user_id, id LIMIT :limit)
"""
PRUNE = """
DELETE FROM sessions WHERE (user_id, id) IN
    (SELECT user_id, id FROM sessions WHERE valid_till < :before ORDER BY valid_till, user_id, id LIMIT :limit)
"""


async def revoke(tx: Transaction, who: KeystoreSession | VaultSession, now: int) -> None:
    """Log out: the session string is refused from now on, by every process."""
    await tx.execute(REVOKE, user_id=who.user_id, id=who.session_id, now=now)


async def prune(tx: Transaction, before: int, limit: int) -> int:
    """Delete some sessions that expired before a time; how many."""
    await tx.execute(KEEP_LAST, before=before, limit=limit)
    return await tx.run(PRUNE, before=before, limit=limit)
