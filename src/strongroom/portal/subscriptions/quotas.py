"""The quota and the rate of a product compared with the usage: shown, never enforced by a refusal."""

from dataclasses import dataclass
from datetime import UTC, datetime

from strongroom.access import usage
from strongroom.portal.subscriptions.products import Product
from strongroom.runtime.clock import DAY, MINUTE
from strongroom.storage import Transaction

SHARES = (100, 80)
"""Percent of the quota at which the owners are notified, the higher one first."""


@dataclass(frozen=True, slots=True)
class Used:
    calls: int
    """In this month."""
    quota: int | None
    busiest: int
    """Calls in the busiest minute of the last day."""
    rate: int | None
    next_month: int
    """When the count starts again."""

    @property
    def percent(self) -> int:
        """Of the quota, rounded down, so that 100 is never said too early."""
        return self.calls * 100 // self.quota if self.quota else 0


async def read(tx: Transaction, provider_id: bytes, subscription_id: bytes, product: Product | None, now: int) -> Used:
    """What one subscription used, beside what its product states."""
    calls = await usage.calls_of(tx, provider_id, DAY, month(now))
    return Used(
        calls=calls.get(subscription_id, 0),
        quota=product.quota if product else None,
        busiest=await usage.busiest(tx, provider_id, subscription_id, MINUTE, now - DAY),
        rate=product.rate if product else None,
        next_month=next_month(now),
    )


def month(now: int) -> int:
    """The beginning of the month in UTC."""
    return _begins(datetime.fromtimestamp(now // 1000, UTC))


def next_month(now: int) -> int:
    return _begins(datetime.fromtimestamp(month(now) // 1000 + 32 * 86_400, UTC))


def _begins(moment: datetime) -> int:
    return int(moment.replace(day=1, hour=0, minute=0, second=0, microsecond=0).timestamp()) * 1000
