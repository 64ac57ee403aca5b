"""Usage per subscription and key in spans of a minute, an hour and a day, and when each key was last used."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial

from strongroom.runtime.clock import DAY, HOUR, MINUTE
from strongroom.services import pruning
from strongroom.services.usage import Counts
from strongroom.storage import Store, Transaction, Value

KEPT = {MINUTE: DAY, HOUR: 15 * DAY, DAY: 400 * DAY}
"""Width of a span and how long it is kept, in milliseconds."""

ADD = """
INSERT INTO usage_spans (provider_id, subscription_id, width, starts_at, slot, calls, microseconds, within_5_ms,
    within_20_ms, within_100_ms, within_500_ms, slower)
VALUES (:provider_id, :subscription_id, :width, :starts_at, :slot, :calls, :microseconds, :within_5_ms, :within_20_ms,
    :within_100_ms, :within_500_ms, :slower)
ON CONFLICT (provider_id, subscription_id, width, starts_at, slot) DO UPDATE SET
    calls = usage_spans.calls + excluded.calls,
    microseconds = usage_spans.microseconds + excluded.microseconds,
    within_5_ms = usage_spans.within_5_ms + excluded.within_5_ms,
    within_20_ms = usage_spans.within_20_ms + excluded.within_20_ms,
    within_100_ms = usage_spans.within_100_ms + excluded.within_100_ms,
    within_500_ms = usage_spans.within_500_ms + excluded.within_500_ms,
    slower = usage_spans.slower + excluded.slower
"""
ADD_REFUSALS = """
INSERT INTO usage_refusals (provider_id, subscription_id, width, starts_at, slot, code, calls)
VALUES (:provider_id, :subscription_id, :width, :starts_at, :slot, :code, :calls)
ON CONFLICT (provider_id, subscription_id, width, starts_at, slot, code) DO UPDATE SET
    calls = usage_refusals.calls + excluded.calls
"""
SUBSCRIPTION_KEY_USED = """
UPDATE subscription_keys SET last_used_at = :at
WHERE key_hash = :key_hash AND (last_used_at IS NULL OR last_used_at < :at)
"""
PROVIDER_KEY_USED = """
UPDATE provider_api_keys SET last_used_at = :at
WHERE provider_id = :provider_id AND id = :id AND (last_used_at IS NULL OR last_used_at < :at)
"""
READ = """
SELECT starts_at, slot, calls, microseconds, within_5_ms, within_20_ms, within_100_ms, within_500_ms, slower
FROM usage_spans
WHERE provider_id = :provider_id AND subscription_id = :subscription_id AND width = :width AND starts_at >= :since
ORDER BY starts_at, slot
"""
READ_REFUSALS = """
SELECT starts_at, slot, code, calls FROM usage_refusals
WHERE provider_id = :provider_id AND subscription_id = :subscription_id AND width = :width AND starts_at >= :since
"""
CALLS_OF = """
SELECT subscription_id, sum(calls) FROM usage_spans
WHERE provider_id = :provider_id AND width = :width AND starts_at >= :since GROUP BY subscription_id
"""
BUSIEST = """
SELECT max(calls) FROM (
    SELECT sum(calls) AS calls FROM usage_spans
    WHERE provider_id = :provider_id AND subscription_id = :subscription_id AND width = :width AND starts_at >= :since
    GROUP BY starts_at
) AS spans
"""
AT_LEAST = """
SELECT subscriptions.provider_id, subscriptions.id, subscriptions.name, sum(usage_spans.calls)
FROM usage_spans
JOIN subscriptions
  ON subscriptions.provider_id = usage_spans.provider_id AND subscriptions.id = usage_spans.subscription_id
WHERE usage_spans.width = :width AND usage_spans.starts_at >= :since
  AND subscriptions.product = :product AND subscriptions.state = 'active'
GROUP BY subscriptions.provider_id, subscriptions.id, subscriptions.name HAVING sum(usage_spans.calls) >= :least
ORDER BY subscriptions.provider_id, subscriptions.id
"""
PRUNE = """
DELETE FROM usage_spans WHERE (provider_id, subscription_id, width, starts_at, slot) IN (
    SELECT provider_id, subscription_id, width, starts_at, slot FROM usage_spans
    WHERE width = :width AND starts_at < :before LIMIT :limit
)
"""
PRUNE_REFUSALS = """
DELETE FROM usage_refusals WHERE (provider_id, subscription_id, width, starts_at, slot, code) IN (
    SELECT provider_id, subscription_id, width, starts_at, slot, code FROM usage_refusals
    WHERE width = :width AND starts_at < :before LIMIT :limit
)
"""


@dataclass(slots=True)
class Span:
    """The calls of one subscription with one of its keys that were answered within one span of time."""

    starts_at: int
    slot: str
    """`primary` or `secondary`, also for a key in its grace; empty for both `together`."""
    calls: int
    microseconds: int
    """All of them together."""
    within: tuple[int, ...]
    """Calls by how long they took: to 5, 20, 100 and 500 milliseconds, and slower."""
    refused: dict[str, int] = field(default_factory=dict)
    """Refused calls by the code of the refusal."""


@dataclass(frozen=True, slots=True)
class HeavyUse:
    provider_id: bytes
    subscription_id: bytes
    name: str
    calls: int


async def store(tx: Transaction, counts: Counts, at: int) -> None:
    """Add what was counted to the spans that hold the time `at`; other processes may add to the same ones."""
    # In one order everywhere, so that two processes on one server do not wait for each other.
    for (subscription_id, slot), tally in sorted(counts.tallies.items(), key=lambda item: item[0]):
        within_5, within_20, within_100, within_500, slower = tally.within
        for width in KEPT:
            starts_at = at - at % width
            await tx.execute(
                ADD,
                provider_id=tally.provider_id,
                subscription_id=subscription_id,
                width=width,
                starts_at=starts_at,
                slot=slot,
                calls=tally.calls,
                microseconds=int(tally.seconds * 1_000_000),
                within_5_ms=within_5,
                within_20_ms=within_20,
                within_100_ms=within_100,
                within_500_ms=within_500,
                slower=slower,
            )
            for code, calls in sorted(tally.refused.items()):
                await tx.execute(
                    ADD_REFUSALS,
                    provider_id=tally.provider_id,
                    subscription_id=subscription_id,
                    width=width,
                    starts_at=starts_at,
                    slot=slot,
                    code=code,
                    calls=calls,
                )
    for key_hash, used_at in sorted(counts.subscription_keys.items()):
        await tx.execute(SUBSCRIPTION_KEY_USED, key_hash=key_hash, at=used_at)
    for (provider_id, key_id), used_at in sorted(counts.provider_keys.items()):
        await tx.execute(PROVIDER_KEY_USED, provider_id=provider_id, id=key_id, at=used_at)


async def read(tx: Transaction, provider_id: bytes, subscription_id: bytes, width: int, since: int) -> list[Span]:
    """The spans of one width that began at `since` or later and saw a call, oldest first, each key by itself."""
    values: dict[str, Value] = {
        "provider_id": provider_id,
        "subscription_id": subscription_id,
        "width": width,
        "since": since,
    }
    spans = {
        (row[0], row[1]): Span(row[0], row[1], row[2], row[3], tuple(row[4:])) for row in await tx.all(READ, **values)
    }
    for starts_at, slot, code, calls in await tx.all(READ_REFUSALS, **values):
        if (starts_at, slot) in spans:  # another process may have added between the two statements
            spans[starts_at, slot].refused[code] = calls
    return list(spans.values())


def together(spans: Iterable[Span]) -> list[Span]:
    """One span for each time, whichever key was used; its slot is empty."""
    found: dict[int, Span] = {}
    for span in spans:
        whole = found.setdefault(span.starts_at, Span(span.starts_at, "", 0, 0, (0,) * len(span.within)))
        whole.calls += span.calls
        whole.microseconds += span.microseconds
        whole.within = tuple(mine + others for mine, others in zip(whole.within, span.within, strict=True))
        for code, calls in span.refused.items():
            whole.refused[code] = whole.refused.get(code, 0) + calls
    return list(found.values())


async def busiest(tx: Transaction, provider_id: bytes, subscription_id: bytes, width: int, since: int) -> int:
    """The most calls in one span of this width since a time."""
    row = await tx.one(BUSIEST, provider_id=provider_id, subscription_id=subscription_id, width=width, since=since)
    return int(row[0]) if row is not None and row[0] is not None else 0


async def at_least(tx: Transaction, product: str, least: int, width: int, since: int) -> list[HeavyUse]:
    """The active subscriptions of a product with so many calls or more in the spans of one width since a time."""
    rows = await tx.all(AT_LEAST, product=product, least=least, width=width, since=since)
    return [HeavyUse(row[0], row[1], row[2], int(row[3])) for row in rows]


async def calls_of(tx: Transaction, provider_id: bytes, width: int, since: int) -> dict[bytes, int]:
    """How many calls each subscription of a provider made in the spans of one width since a time."""
    rows = await tx.all(CALLS_OF, provider_id=provider_id, width=width, since=since)
    return {row[0]: int(row[1]) for row in rows}


async def prune(access: Store, now: int) -> int:
    """Forget spans that are older than is kept of their width; how many rows."""
    return await pruning.prune(access, *((partial(_forget, width), now - kept) for width, kept in KEPT.items()))


async def _forget(width: int, tx: Transaction, before: int, limit: int) -> int:
    return sum([await tx.run(sql, width=width, before=before, limit=limit) for sql in (PRUNE, PRUNE_REFUSALS)])
