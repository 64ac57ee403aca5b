"""The end that a developer gives to a key, and which keys end soon or are so old that they should be replaced."""

from dataclasses import dataclass

from strongroom.storage import Transaction

SET_EXPIRY = """
UPDATE subscription_keys SET expires_at = :at
WHERE provider_id = :provider_id AND subscription_id = :id AND slot = :slot AND replaced_at IS NULL
"""
END_REPLACED = """
UPDATE subscription_keys SET expires_at = :now
WHERE provider_id = :provider_id AND subscription_id = :id AND slot = :slot
  AND replaced_at IS NOT NULL AND (expires_at IS NULL OR expires_at > :now)
"""
ENDING = """
SELECT keys.key_hash, keys.provider_id, subscriptions.id, subscriptions.name, keys.slot, keys.hint, keys.expires_at
FROM subscription_keys AS keys
JOIN subscriptions ON subscriptions.provider_id = keys.provider_id AND subscriptions.id = keys.subscription_id
WHERE (keys.expires_at, keys.key_hash) > (:after, :after_hash) AND keys.expires_at <= :until
  AND keys.replaced_at IS NULL AND subscriptions.state = 'active'
ORDER BY keys.expires_at, keys.key_hash LIMIT :limit
"""
OLD = """
SELECT keys.key_hash, keys.provider_id, subscriptions.id, subscriptions.name, keys.slot, keys.hint, keys.created_at
FROM subscription_keys AS keys
JOIN subscriptions ON subscriptions.provider_id = keys.provider_id AND subscriptions.id = keys.subscription_id
WHERE keys.replaced_at IS NULL AND keys.reminded_at IS NULL AND keys.created_at <= :made_before
  AND keys.expires_at IS NULL AND subscriptions.state = 'active'
ORDER BY keys.created_at LIMIT :limit
"""
OLD_PROVIDER_KEYS = """
SELECT key_hash, provider_id, NULL, name, 'provider', hint, created_at FROM provider_api_keys
WHERE revoked_at IS NULL AND reminded_at IS NULL AND created_at <= :made_before ORDER BY created_at LIMIT :limit
"""
REMINDED = (
    "UPDATE subscription_keys SET reminded_at = :now WHERE key_hash = :key_hash AND reminded_at IS NULL",
    "UPDATE provider_api_keys SET reminded_at = :now WHERE key_hash = :key_hash AND reminded_at IS NULL",
)
_LAST = b"\xff" * 32


@dataclass(frozen=True, slots=True)
class DueKey:
    """A key that its owners are to be reminded of."""

    key_hash: bytes
    provider_id: bytes
    subscription_id: bytes | None
    """None for a provider API key."""
    name: str
    """Of the subscription, or of the provider API key itself."""
    slot: str
    hint: str
    at: int
    """When it ends, or when it was made."""


async def set_expiry(tx: Transaction, provider_id: bytes, subscription_id: bytes, slot: str, at: int | None) -> bool:
    """From then on the key of this slot is refused; None for no end. False where there is no such key in force."""
    return await tx.run(SET_EXPIRY, provider_id=provider_id, id=subscription_id, slot=slot, at=at) == 1


async def end_replaced(tx: Transaction, provider_id: bytes, subscription_id: bytes, slot: str, now: int) -> bool:
    """Refuse the keys of this slot that were replaced and still work; false where there is none."""
    return await tx.run(END_REPLACED, provider_id=provider_id, id=subscription_id, slot=slot, now=now) > 0


async def ending(tx: Transaction, after: int, until: int, limit: int, after_hash: bytes = _LAST) -> list[DueKey]:
    """Keys of active subscriptions that end in a time to come, the nearest first; `after_hash` as the last one seen."""
    rows = await tx.all(ENDING, after=after, after_hash=after_hash, until=until, limit=limit)
    return [DueKey(*row) for row in rows]


async def old(tx: Transaction, made_before: int, limit: int) -> list[DueKey]:
    """Keys without an end that were made before a time, and that were not reminded of yet."""
    rows = await tx.all(OLD, made_before=made_before, limit=limit)
    rows += await tx.all(OLD_PROVIDER_KEYS, made_before=made_before, limit=limit)
    return [DueKey(*row) for row in rows]


async def reminded(tx: Transaction, key_hash: bytes, now: int) -> bool:
    """`old` lists this key no more; false where it was reminded of before."""
    return any([await tx.run(statement, key_hash=key_hash, now=now) for statement in REMINDED])
