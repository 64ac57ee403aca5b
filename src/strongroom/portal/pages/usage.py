"""The usage of a subscription, with both keys or one of them: calls, latency and refusals."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from starlette.responses import Response

from strongroom.access import subscriptions, usage
from strongroom.access.usage import Span
from strongroom.portal.pages.organisation import provider_of
from strongroom.portal.pages.subscriptions import detail_of
from strongroom.portal.subscriptions import quotas
from strongroom.portal.web import charts
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.services.usage import BOUNDS
from strongroom.storage import Transaction

LATENCIES = (*(f"up to {seconds * 1000:g} ms" for seconds in BOUNDS), "slower")


@dataclass(frozen=True, slots=True)
class Sum:
    """The calls of several spans."""

    calls: int
    refused: int
    mean: str | None
    """Such as `12.3 ms`; None without a call."""


async def show(visit: Visit) -> Response:
    portal, now = visit.portal, visit.now
    detail, provider = await detail_of(visit), await provider_of(visit)
    over = next((one for one in charts.RANGES if one.name == visit.query("range")), charts.RANGES[1])
    key = visit.query("key") if visit.query("key") in subscriptions.SLOTS else ""
    record, since = detail.subscription, over.first(now)
    product = portal.products.find(record.product)

    async def look(tx: Transaction) -> tuple[list[Span], quotas.Used]:
        return (
            await usage.read(tx, record.provider_id, record.id, over.width, since),
            await quotas.read(tx, record.provider_id, record.id, product, now),
        )

    every, used = await visit.read_many(look)
    spans = usage.together(span for span in every if not key or span.slot == key)
    refused: Counter[str] = Counter()
    for span in spans:
        refused.update(span.refused)
    return visit.page(
        "subscription/usage.html",
        provider=provider,
        detail=detail,
        used=used,
        over=over,
        ranges=charts.RANGES,
        key=key,
        keys=[(slot, _sum(span for span in every if span.slot == slot)) for slot in subscriptions.SLOTS],
        whole=_sum(spans),
        refused=refused.most_common(),
        latencies=list(
            zip(LATENCIES, [sum(part) for part in zip(*(s.within for s in spans), strict=True)], strict=False)
        ),
        spans=[(charts.when(span.starts_at, over), _sum([span])) for span in reversed(spans)],
        calls_chart=charts.calls(spans, over, now),
        latency_chart=charts.latency(spans, over, now),
        size=(charts.WIDTH, charts.HEIGHT),
    )


def _sum(spans: Iterable[Span]) -> Sum:
    found = list(spans)
    calls = sum(span.calls for span in found)
    mean = charts.milliseconds(sum(span.microseconds for span in found) / calls / 1000) if calls else None
    return Sum(calls, sum(sum(span.refused.values()) for span in found), mean)


PAGES = (Page("GET", "/organisations/{organisation}/subscriptions/{subscription}/usage", Needs.member, show),)
