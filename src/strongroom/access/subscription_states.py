"""What becomes of a subscription beside its keys: approved, suspended, renamed, given an end."""

from strongroom.access.subscriptions import COLUMNS, SubscriptionRecord
from strongroom.storage import Transaction

# Approval belongs to the operator, activation to the developer; either can be missing.
APPROVE = """
UPDATE subscriptions SET approved_at = :now
WHERE provider_id = :provider_id AND id = :id AND state = 'submitted' AND approved_at IS NULL
"""
SUSPEND = """
UPDATE subscriptions SET state = 'suspended'
WHERE provider_id = :provider_id AND id = :id AND state = 'active' AND (expires_at IS NULL OR expires_at > :now)
"""
RESUME = """
UPDATE subscriptions SET state = 'active'
WHERE provider_id = :provider_id AND id = :id AND state = 'suspended' AND (expires_at IS NULL OR expires_at > :now)
"""
RENAME = """
UPDATE subscriptions SET name = :name WHERE provider_id = :provider_id AND id = :id AND state <> 'cancelled'
"""
SET_EXPIRY = """
UPDATE subscriptions SET expires_at = :at WHERE provider_id = :provider_id AND id = :id AND state <> 'cancelled'
"""
_WITH_PROVIDERS = f"""
SELECT {", ".join(f"subscriptions.{column}" for column in COLUMNS.split(", "))}, providers.name
FROM subscriptions JOIN providers ON providers.id = subscriptions.provider_id
"""  # noqa: S608  # constants
ALL = f"""{_WITH_PROVIDERS}
WHERE subscriptions.state <> 'cancelled' AND subscriptions.id < :before
ORDER BY subscriptions.id DESC LIMIT :limit
"""
WAITING = f"""{_WITH_PROVIDERS}
WHERE subscriptions.state = 'submitted' AND subscriptions.approved_at IS NULL AND subscriptions.id > :after
ORDER BY subscriptions.id LIMIT :limit
"""
ENDING = f"""
SELECT {COLUMNS} FROM subscriptions
WHERE state = 'active' AND (expires_at, id) > (:after, :after_id) AND expires_at <= :until
ORDER BY expires_at, id LIMIT :limit
"""  # noqa: S608  # constants
_LAST = b"\xff" * 16


async def approve(tx: Transaction, provider_id: bytes, subscription_id: bytes, now: int) -> bool:
    """Let a subscription be activated; false unless it was waiting for this."""
    return await tx.run(APPROVE, provider_id=provider_id, id=subscription_id, now=now) == 1


async def suspend(tx: Transaction, provider_id: bytes, subscription_id: bytes, now: int) -> bool:
    """Refuse both keys for the time being; false unless the subscription was active at `now`."""
    return await tx.run(SUSPEND, provider_id=provider_id, id=subscription_id, now=now) == 1


async def resume(tx: Transaction, provider_id: bytes, subscription_id: bytes, now: int) -> bool:
    """End a suspension; false where there is none, or where the subscription has expired in the meantime."""
    return await tx.run(RESUME, provider_id=provider_id, id=subscription_id, now=now) == 1


async def rename(tx: Transaction, provider_id: bytes, subscription_id: bytes, name: str) -> bool:
    """False where the provider has no such subscription in force."""
    return await tx.run(RENAME, provider_id=provider_id, id=subscription_id, name=name) == 1


async def set_expiry(tx: Transaction, provider_id: bytes, subscription_id: bytes, at: int | None) -> bool:
    """From then on both keys are refused; None for no end. False where there is no such subscription in force."""
    return await tx.run(SET_EXPIRY, provider_id=provider_id, id=subscription_id, at=at) == 1


async def all_in_force(
    tx: Transaction, limit: int, before: bytes | None = None
) -> list[tuple[SubscriptionRecord, str]]:
    """Subscriptions of every provider with its name, newest first; `before` is the id of the last one seen."""
    rows = await tx.all(ALL, limit=limit, before=before or _LAST)
    return [(SubscriptionRecord(*row[:-1]), row[-1]) for row in rows]


async def waiting(tx: Transaction, limit: int, after: bytes = b"") -> list[tuple[SubscriptionRecord, str]]:
    """What waits for the operator's approval, with the provider's name, oldest first; `after` as the last one seen."""
    return [(SubscriptionRecord(*row[:-1]), row[-1]) for row in await tx.all(WAITING, limit=limit, after=after)]


async def ending(
    tx: Transaction, after: int, until: int, limit: int, after_id: bytes = _LAST
) -> list[SubscriptionRecord]:
    """Active subscriptions that end in a time to come, the nearest first; `after_id` as the last one seen."""
    rows = await tx.all(ENDING, after=after, after_id=after_id, until=until, limit=limit)
    return [SubscriptionRecord(*row) for row in rows]
