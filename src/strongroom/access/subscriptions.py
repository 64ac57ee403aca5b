"""Subscriptions: a primary and a secondary key, activated before use, each regenerated alone."""

from dataclasses import dataclass
from functools import lru_cache

from strongroom.runtime import tokens
from strongroom.runtime.ids import new_row_id
from strongroom.runtime.principals import Subscription
from strongroom.storage import Transaction
from strongroom.wire.refusal import Refusal, Refused

SLOTS = ("primary", "secondary")

INSERT = """
INSERT INTO subscriptions
    (provider_id, id, name, state, created_at, activated_at, ended_at, product, approved_at, expires_at)
VALUES (:provider_id, :id, :name, 'submitted', :now, NULL, NULL, :product, :approved_at, :expires_at)
"""
INSERT_KEY = """
INSERT INTO subscription_keys (key_hash, provider_id, subscription_id, slot, hint, created_at, expires_at)
VALUES (:key_hash, :provider_id, :subscription_id, :slot, :hint, :now, :expires_at)
"""
ACTIVATE = """
UPDATE subscriptions SET state = 'active', activated_at = :now
WHERE provider_id = :provider_id AND id = :id AND state = 'submitted' AND approved_at IS NOT NULL
"""
CANCEL = """
UPDATE subscriptions SET state = 'cancelled', ended_at = :now
WHERE provider_id = :provider_id AND id = :id AND state <> 'cancelled'
"""
# Changing the subscription's row makes a second regeneration wait, so that it retires the key the first one made.
TAKE_TURN = "UPDATE subscriptions SET name = name WHERE provider_id = :provider_id AND id = :id"
# No old key of the slot goes on for longer than asked for, one in an earlier grace or with an end of its own included:
# a key that has leaked can be ended whenever that is noticed.
RETIRE_KEY = """
UPDATE subscription_keys
SET replaced_at = coalesce(replaced_at, :now), expires_at = CASE WHEN expires_at < :at THEN expires_at ELSE :at END
WHERE provider_id = :provider_id AND subscription_id = :id AND slot = :slot
  AND (replaced_at IS NULL OR expires_at > :at)
"""
AUTHENTICATE = """
SELECT subscriptions.provider_id, subscriptions.id, subscriptions.state, subscription_keys.expires_at,
       providers.login_policy, subscriptions.expires_at, subscription_keys.slot, subscription_keys.replaced_at,
       providers.closed_at
FROM subscription_keys
JOIN subscriptions
  ON subscriptions.provider_id = subscription_keys.provider_id AND subscriptions.id = subscription_keys.subscription_id
JOIN providers ON providers.id = subscriptions.provider_id
WHERE subscription_keys.key_hash = :key_hash
"""
COLUMNS = "provider_id, id, name, state, created_at, activated_at, ended_at, product, approved_at, expires_at"
"""In the order of `SubscriptionRecord`."""
LIST = f"SELECT {COLUMNS} FROM subscriptions WHERE provider_id = :provider_id ORDER BY id"  # noqa: S608  # constants
READ = f"SELECT {COLUMNS} FROM subscriptions WHERE provider_id = :provider_id AND id = :id"  # noqa: S608  # constants
KEYS_OF = """
SELECT slot, hint, created_at, expires_at, replaced_at, last_used_at FROM subscription_keys
WHERE provider_id = :provider_id AND subscription_id = :id ORDER BY slot, created_at
"""


@dataclass(frozen=True, slots=True)
class SubscriptionRecord:
    provider_id: bytes
    id: bytes
    name: str
    state: str
    created_at: int
    activated_at: int | None
    ended_at: int | None
    product: str | None
    """None where it was made on the command line."""
    approved_at: int | None
    """None while the operator's approval is missing."""
    expires_at: int | None

    def state_at(self, now: int) -> str:
        """`submitted`, `active`, `suspended`, `cancelled` or `expired`."""
        if self.state != "cancelled" and self.expires_at is not None and self.expires_at <= now:
            return "expired"
        return self.state


@dataclass(frozen=True, slots=True)
class SubscriptionKeyRecord:
    slot: str
    hint: str
    created_at: int
    expires_at: int | None
    """The end a developer gave it, or that of the grace of a key that was regenerated; None for no end."""
    replaced_at: int | None
    """When it was regenerated; None for the key in force."""
    last_used_at: int | None
    """To within the time between two stores of what was counted."""


@dataclass(frozen=True, slots=True, repr=False)
class NewSubscription:
    """What is shown this once: both keys, which open nothing until the subscription is activated."""

    id: bytes
    primary: str
    secondary: str


async def create(
    tx: Transaction,
    provider_id: bytes,
    name: str,
    now: int,
    keys: tuple[str, str] | None = None,
    *,
    product: str | None = None,
    approved: bool = True,
    expires_at: int | None = None,
    keys_expire_at: int | None = None,
) -> NewSubscription:
    """A subscription in state `submitted` with its two keys, stored as their hashes.

    Unless it is `approved`, it cannot be activated before the operator has approved it. `keys_expire_at` is the end of
    both keys, None for no end.
    """
    subscription_id = new_row_id(now)
    await tx.execute(
        INSERT,
        provider_id=provider_id,
        id=subscription_id,
        name=name,
        now=now,
        product=product,
        approved_at=now if approved else None,
        expires_at=expires_at,
    )
    primary, secondary = keys or (
        tokens.mint(tokens.Prefix.subscription_key),
        tokens.mint(tokens.Prefix.subscription_key),
    )
    for slot, key in zip(SLOTS, (primary, secondary), strict=True):
        await _insert_key(tx, provider_id, subscription_id, slot, key, now, keys_expire_at)
    return NewSubscription(subscription_id, primary, secondary)


async def activate(tx: Transaction, provider_id: bytes, subscription_id: bytes, now: int) -> bool:
    """Open the subscription for use; false unless it is approved and was waiting for this."""
    return await tx.run(ACTIVATE, provider_id=provider_id, id=subscription_id, now=now) == 1


async def cancel(tx: Transaction, provider_id: bytes, subscription_id: bytes, now: int) -> bool:
    """End the subscription and both its keys for good; false where it had ended before."""
    return await tx.run(CANCEL, provider_id=provider_id, id=subscription_id, now=now) == 1


async def regenerate(
    tx: Transaction,
    provider_id: bytes,
    subscription_id: bytes,
    slot: str,
    now: int,
    grace: int = 0,
    expires_at: int | None = None,
) -> str:
    """A new key for one slot, returned this once; no old one works for more than `grace` milliseconds.

    `expires_at` is the end of the new one, None for no end.
    """
    await tx.execute(TAKE_TURN, provider_id=provider_id, id=subscription_id)
    await tx.execute(RETIRE_KEY, provider_id=provider_id, id=subscription_id, slot=slot, now=now, at=now + grace)
    key = tokens.mint(tokens.Prefix.subscription_key)
    await _insert_key(tx, provider_id, subscription_id, slot, key, now, expires_at)
    return key


async def list_of(tx: Transaction, provider_id: bytes) -> list[SubscriptionRecord]:
    return [SubscriptionRecord(*row) for row in await tx.all(LIST, provider_id=provider_id)]


async def read(tx: Transaction, provider_id: bytes, subscription_id: bytes) -> SubscriptionRecord | None:
    row = await tx.one(READ, provider_id=provider_id, id=subscription_id)
    return None if row is None else SubscriptionRecord(*row)


async def keys_of(tx: Transaction, provider_id: bytes, subscription_id: bytes) -> list[SubscriptionKeyRecord]:
    rows = await tx.all(KEYS_OF, provider_id=provider_id, id=subscription_id)
    return [SubscriptionKeyRecord(*row) for row in rows]


async def authenticate(tx: Transaction, key: str, now: int) -> Subscription:
    """The subscription of a key that is known, in force and active; else a `subscription_key_...` refusal."""
    hashed = key_hash(key) if len(key) == tokens.LENGTH else None
    row = None if hashed is None else await tx.one(AUTHENTICATE, key_hash=hashed)
    if row is None:
        raise Refused(Refusal.subscription_key_invalid)
    provider_id, subscription_id, state, key_expires_at, login_policy, expires_at, slot, replaced_at, closed_at = row
    if key_expires_at is not None and key_expires_at <= now:
        # One that was regenerated is gone; one whose end came can be given a later one.
        raise Refused(Refusal.subscription_key_expired if replaced_at is None else Refusal.subscription_key_invalid)
    if state != "active" or closed_at is not None or (expires_at is not None and expires_at <= now):
        raise Refused(Refusal.subscription_key_inactive)
    return Subscription(provider_id, subscription_id, login_policy == "derived_only", slot)


# Every request brings a key and there are few of them. What is kept follows from the text alone and decides nothing:
# whether a key is in force is read in every turn of the loop (`app/credentials.py`).
@lru_cache(maxsize=1024)
def key_hash(key: str) -> bytes | None:
    """What a key is found by; None for what can be no subscription key."""
    return tokens.digest(key) if tokens.well_formed(tokens.Prefix.subscription_key, key) else None


async def _insert_key(
    tx: Transaction,
    provider_id: bytes,
    subscription_id: bytes,
    slot: str,
    key: str,
    now: int,
    expires_at: int | None,
) -> None:
    await tx.execute(
        INSERT_KEY,
        key_hash=tokens.digest(key),
        provider_id=provider_id,
        subscription_id=subscription_id,
        slot=slot,
        hint=tokens.hint(key),
        now=now,
        expires_at=expires_at,
    )
