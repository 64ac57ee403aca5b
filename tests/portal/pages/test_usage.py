"""Usage as a page, and the mail before a subscription ends."""

from typing import Any

import pytest

from strongroom.access import subscription_states, subscriptions, usage
from strongroom.portal import charts, reminders
from strongroom.server.clock import DAY, HOUR, MINUTE
from strongroom.server.ids import from_text
from strongroom.server.principals import Subscription
from strongroom.server.usage import UsageCounter

pytestmark = pytest.mark.anyio


async def subscribed(site: Any) -> tuple[Any, str, Subscription]:
    browser = await site.sign_up()
    await browser.get("/organisations/new")
    await browser.send("/organisations/new", name="Acme")
    base = browser.path
    await browser.get(f"{base}/subscribe/sandbox")
    await browser.send(f"{base}/subscribe/sandbox", name="app", terms="yes")
    path = browser.path.partition("/keys/")[0]
    await browser.send(f"{path}/activate")
    provider_id, subscription_id = from_text(base.rpartition("/")[2]), from_text(path.rpartition("/")[2])
    assert provider_id is not None
    assert subscription_id is not None
    return browser, path, Subscription(provider_id, subscription_id, False)


async def test_every_range_shows_calls_and_refusals(site: Any) -> None:
    browser, path, who = await subscribed(site)
    await browser.get(f"{path}/usage")
    assert "no calls" in browser.text
    counter = UsageCounter()
    for _ in range(1234):
        counter.count(who, None, 0.004)
    counter.count(who, "not_found", 0.3)
    counts = counter.take()
    await site.portal.access.write(lambda tx: usage.store(tx, counts, site.clock.now()))
    for over in charts.RANGES:
        await browser.get(f"{path}/usage?range={over.name}")
        assert "1,235" in browser.text
        assert "not_found" in browser.text
        assert browser.text.count("<rect") == 3
    base = path.partition("/subscriptions/")[0]
    await browser.get(base)
    assert ">1,235<" in browser.text


def test_bars_are_in_proportion() -> None:
    now = 1_000 * DAY + 30 * MINUTE
    over = charts.RANGES[0]
    spans = [
        usage.Span(now, 40, 80_000, (40, 0, 0, 0, 0), {"not_found": 10}),
        usage.Span(now - MINUTE, 5, 1, (5, 0, 0, 0, 0)),
    ]
    chart = charts.calls(spans, over, now)
    assert (chart.top, len(chart.bars)) == (50, 60)
    last = chart.bars[-1]
    assert (last.height, last.y, last.refused_height) == (128.0, 32.0, 32.0)
    assert chart.bars[-2].height == 16.0
    assert sum(bar.height > 0 for bar in chart.bars) == 2
    assert charts.latency(spans, over, now).top == 2
    assert charts.calls([], charts.RANGES[2], now + HOUR).top == 1


async def test_owners_are_reminded_once_two_weeks_and_a_day_before_the_end(site: Any) -> None:
    _, _, who = await subscribed(site)
    ends = site.clock.now() + 20 * DAY
    await site.portal.access.write(
        lambda tx: subscription_states.set_expiry(tx, who.provider_id, who.subscription_id, ends)
    )
    assert await reminders.send(site.portal) == 0
    site.clock.move(7 * 86_400)
    assert await reminders.send(site.portal) == 1
    assert await reminders.send(site.portal) == 0
    mail = (await site.mails())[-1]
    assert mail["Subject"] == "A Strongroom subscription ends soon"
    site.clock.move(12.5 * 86_400)
    assert await reminders.send(site.portal) == 1
    assert await reminders.send(site.portal) == 0
    await site.portal.access.write(lambda tx: subscriptions.cancel(tx, who.provider_id, who.subscription_id, 1))
    later = site.clock.now() + DAY
    await site.portal.access.write(
        lambda tx: subscription_states.set_expiry(tx, who.provider_id, who.subscription_id, later)
    )
    assert await reminders.send(site.portal) == 0
