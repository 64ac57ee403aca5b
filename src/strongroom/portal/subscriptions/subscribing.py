"""Acts on subscriptions, by page and command line: the portal's rules on top of `access`, and the audit."""

from dataclasses import dataclass
from datetime import UTC, date, datetime

from strongroom.access import key_ends, providers, subscription_states, subscriptions
from strongroom.access.subscriptions import NewSubscription, SubscriptionKeyRecord, SubscriptionRecord
from strongroom.portal.refusals import Absent
from strongroom.portal.subscriptions.products import Product
from strongroom.runtime.clock import DAY, HOUR, duration
from strongroom.services import audit
from strongroom.services.audit import Action
from strongroom.storage import Transaction

MAX_IN_FORCE = 50
GRACES = {"none": 0, "hour": HOUR, "day": DAY, "week": 7 * DAY}
"""How long the old key may go on after a new one was made."""
MAX_EXPIRY = 10 * 366 * DAY


class TooManySubscriptions(Exception):
    """An organisation has at most fifty subscriptions that were not cancelled."""


class WrongExpiry(Exception):
    """Not a date, not in the future, or later than the product allows."""


@dataclass(frozen=True, slots=True)
class Detail:
    subscription: SubscriptionRecord
    keys: list[SubscriptionKeyRecord]
    """The current keys, expired ones included, and replaced keys in their grace."""


async def subscribe(
    tx: Transaction,
    provider_id: bytes,
    product: Product,
    name: str,
    actor_id: bytes,
    now: int,
    keys_expire_at: int | None = None,
) -> NewSubscription:
    """A new subscription; the audit records who accepted the terms of which product. `TooManySubscriptions`."""
    await tx.execute(providers.TAKE_TURN, provider_id=provider_id)
    provider = await providers.read(tx, provider_id)
    if provider is None or provider.closed_at is not None:
        raise Absent
    records = await subscriptions.list_of(tx, provider_id)
    if sum(record.state != "cancelled" for record in records) >= MAX_IN_FORCE:
        raise TooManySubscriptions
    new = await subscriptions.create(
        tx,
        provider_id,
        name,
        now,
        product=product.id,
        approved=not product.approval,
        expires_at=None if product.lifetime_days is None else now + product.lifetime_days * DAY,
        keys_expire_at=keys_expire_at,
    )
    detail = f"{name}: {product.id}{', terms accepted' if product.terms else ''}"
    await _note(tx, Action.subscription_created, provider_id, new.id, actor_id, now, detail)
    return new


async def read(tx: Transaction, provider_id: bytes, subscription_id: bytes | None, now: int) -> Detail:
    """`Absent` where the provider has no such subscription."""
    if subscription_id is None:
        raise Absent
    found = await subscriptions.read(tx, provider_id, subscription_id)
    if found is None:
        raise Absent
    keys = await subscriptions.keys_of(tx, provider_id, subscription_id)
    return Detail(found, [key for key in keys if key.replaced_at is None or (key.expires_at or 0) > now])


async def activate(
    tx: Transaction, provider_id: bytes, subscription_id: bytes, actor_id: bytes | None, now: int
) -> bool:
    """False unless it is approved, waits for this and has not expired."""
    found = await subscriptions.read(tx, provider_id, subscription_id)
    if found is None or found.state_at(now) != "submitted":
        return False
    if not await subscriptions.activate(tx, provider_id, subscription_id, now):
        return False
    await _note(tx, Action.subscription_activated, provider_id, subscription_id, actor_id, now)
    return True


async def cancel(tx: Transaction, provider_id: bytes, subscription_id: bytes, actor_id: bytes | None, now: int) -> bool:
    if not await subscriptions.cancel(tx, provider_id, subscription_id, now):
        return False
    await _note(tx, Action.subscription_cancelled, provider_id, subscription_id, actor_id, now)
    return True


async def rename(
    tx: Transaction, provider_id: bytes, subscription_id: bytes, name: str, actor_id: bytes, now: int
) -> bool:
    if not await subscription_states.rename(tx, provider_id, subscription_id, name):
        return False
    await _note(tx, Action.subscription_renamed, provider_id, subscription_id, actor_id, now, name)
    return True


async def regenerate(
    tx: Transaction,
    provider_id: bytes,
    subscription_id: bytes,
    slot: str,
    grace: int,
    actor_id: bytes | None,
    now: int,
    expires_at: int | None = None,
) -> str | None:
    """The new key of one slot, with or without an end; None where the subscription was cancelled or has expired.

    The old key works for the `grace`, in milliseconds. No `actor_id` is the operator's command line.
    """
    found = await subscriptions.read(tx, provider_id, subscription_id)
    if found is None or found.state_at(now) in ("cancelled", "expired"):
        return None
    key = await subscriptions.regenerate(tx, provider_id, subscription_id, slot, now, grace, expires_at)
    old = f"works for {duration(grace)} more" if grace else "ended at once"
    detail = f"{slot}, the old key {old}, the new one: {_end(expires_at)}"
    await _note(tx, Action.key_regenerated, provider_id, subscription_id, actor_id, now, detail)
    return key


async def set_expiry(
    tx: Transaction, provider_id: bytes, subscription_id: bytes, at: int | None, actor_id: bytes, now: int
) -> bool:
    if not await subscription_states.set_expiry(tx, provider_id, subscription_id, at):
        return False
    await _note(tx, Action.expiry_changed, provider_id, subscription_id, actor_id, now, _end(at))
    return True


async def set_key_expiry(
    tx: Transaction, provider_id: bytes, subscription_id: bytes, slot: str, at: int | None, actor_id: bytes, now: int
) -> bool:
    """Give the key in force an end, move it or take it away; false where the subscription was cancelled."""
    found = await subscriptions.read(tx, provider_id, subscription_id)
    if found is None or found.state == "cancelled":
        return False
    if not await key_ends.set_expiry(tx, provider_id, subscription_id, slot, at):
        return False
    await _note(tx, Action.key_expiry_changed, provider_id, subscription_id, actor_id, now, f"{slot}, {_end(at)}")
    return True


async def end_replaced_keys(
    tx: Transaction, provider_id: bytes, subscription_id: bytes, slot: str, actor_id: bytes, now: int
) -> bool:
    """End what is left of the grace of this slot's old keys; false where none still works."""
    if not await key_ends.end_replaced(tx, provider_id, subscription_id, slot, now):
        return False
    await _note(tx, Action.key_ended, provider_id, subscription_id, actor_id, now, slot)
    return True


def latest_end(record: SubscriptionRecord, product: Product | None) -> int | None:
    """The latest end that the product allows; None for any.

    The limit of a product that was withdrawn is unknown: the current end is then the latest one.
    """
    if product is None:
        return None if record.product is None else record.expires_at
    return None if product.lifetime_days is None else record.created_at + product.lifetime_days * DAY


def expiry(text: str, record: SubscriptionRecord, product: Product | None, now: int) -> int | None:
    """The beginning of a day in UTC, written `2026-01-31`; empty text for as long as the product allows."""
    latest = latest_end(record, product)
    at = key_expiry(text, now)
    if at is None:
        at = latest
    if at is not None and latest is not None and not now < at <= latest:
        raise WrongExpiry
    return at


def key_expiry(text: str, now: int) -> int | None:
    """The beginning of a day to come in UTC, written `2026-01-31`; None for empty text. `WrongExpiry`."""
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise WrongExpiry from None
    at = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) * 1000
    if not now < at <= now + MAX_EXPIRY:
        raise WrongExpiry
    return at


def _end(at: int | None) -> str:
    return "no end" if at is None else f"ends {datetime.fromtimestamp(at // 1000, UTC):%Y-%m-%d}"


async def _note(
    tx: Transaction,
    action: Action,
    provider_id: bytes,
    object_id: bytes,
    actor_id: bytes | None,
    now: int,
    detail: str = "",
) -> None:
    await audit.record(tx, provider_id, action, now, actor_id=actor_id, object_id=object_id, detail=detail)
