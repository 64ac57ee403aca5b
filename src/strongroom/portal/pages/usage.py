"""What a subscription calls: how often, how fast, and what was refused."""

from collections import Counter

from starlette.responses import Response

from strongroom.access import usage
from strongroom.portal import charts
from strongroom.portal.page import Needs, Page, Visit
from strongroom.portal.pages.organisation import provider_of
from strongroom.portal.pages.subscriptions import detail_of

LATENCIES = ("up to 5 ms", "up to 20 ms", "up to 100 ms", "up to 500 ms", "slower")


async def show(visit: Visit) -> Response:
    detail, provider, now = await detail_of(visit), await provider_of(visit), visit.now
    over = next((one for one in charts.RANGES if one.name == visit.query("range")), charts.RANGES[1])
    record, since = detail.subscription, over.first(now)
    spans = await visit.portal.access.read_many(
        lambda tx: usage.read(tx, record.provider_id, record.id, over.width, since)
    )
    refused: Counter[str] = Counter()
    for span in spans:
        refused.update(span.refused)
    calls = sum(span.calls for span in spans)
    return visit.page(
        "subscription/usage.html",
        provider=provider,
        detail=detail,
        over=over,
        ranges=charts.RANGES,
        calls=calls,
        mean=round(sum(span.microseconds for span in spans) / calls / 1000, 1) if calls else None,
        refused=refused.most_common(),
        latencies=list(
            zip(LATENCIES, [sum(part) for part in zip(*(s.within for s in spans), strict=True)], strict=False)
        ),
        calls_chart=charts.calls(spans, over, now),
        latency_chart=charts.latency(spans, over, now),
        size=(charts.WIDTH, charts.HEIGHT),
    )


PAGES = (Page("GET", "/organisations/{organisation}/subscriptions/{subscription}/usage", Needs.member, show),)
