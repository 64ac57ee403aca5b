"""A provider that is closed for good: its keys open nothing any more, and its users' data stays where it is."""

from strongroom.access import providers
from strongroom.runtime.clock import DAY
from strongroom.storage import Transaction

LAST_USE = """
SELECT max(keys.last_used_at) FROM subscription_keys AS keys
JOIN subscriptions ON subscriptions.provider_id = keys.provider_id AND subscriptions.id = keys.subscription_id
WHERE keys.provider_id = :provider_id AND subscriptions.state = 'active'
"""
CLOSE = "UPDATE providers SET closed_at = :now WHERE id = :provider_id AND closed_at IS NULL"
CANCEL_ALL = """
UPDATE subscriptions SET state = 'cancelled', ended_at = :now WHERE provider_id = :provider_id AND state <> 'cancelled'
"""
REVOKE_ALL = """
UPDATE provider_api_keys SET revoked_at = :now
WHERE provider_id = :provider_id AND (revoked_at IS NULL OR revoked_at > :now)
"""

QUIET = DAY
"""How long no key may have been used before."""


class InUse(Exception):
    """Requests still come with a key of an active subscription: `at` is the last time."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at


async def close(tx: Transaction, provider_id: bytes, now: int) -> bool:
    """Cancel every subscription, revoke every provider API key and let no new one be made; false where it was closed.

    `InUse` where a key of an active subscription was used within a day: cancel that one first. The
    name stays taken, so that no other provider can use it.
    """
    # First, so that a request that makes a subscription or a key at the same time waits, and finds it closed.
    await tx.execute(providers.TAKE_TURN, provider_id=provider_id)
    row = await tx.one(LAST_USE, provider_id=provider_id)
    last_used_at = row[0] if row is not None else None
    if last_used_at is not None and last_used_at > now - QUIET:
        raise InUse(last_used_at)
    if not await tx.run(CLOSE, provider_id=provider_id, now=now):
        return False
    await tx.execute(CANCEL_ALL, provider_id=provider_id, now=now)
    await tx.execute(REVOKE_ALL, provider_id=provider_id, now=now)
    return True
