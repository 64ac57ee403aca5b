"""Usage as a page, and the mail before a subscription ends."""

from typing import Any

import pytest
from msgspec.structs import replace

from strongroom.access import key_ends, providers, subscription_states, subscriptions, usage
from strongroom.portal import notifications_sent, reminders
from strongroom.portal.subscriptions import quotas
from strongroom.portal.web import charts
from strongroom.runtime.clock import DAY, HOUR, MINUTE, wire_time
from strongroom.runtime.ids import from_text, to_text
from strongroom.runtime.principals import Subscription
from strongroom.services.usage import UsageCounter

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
    return browser, path, Subscription(provider_id, subscription_id, False, "primary")


async def test_every_range_shows_calls_and_refusals(site: Any) -> None:
    browser, path, who = await subscribed(site)
    await browser.get(f"{path}/usage")
    assert "no calls" in browser.text
    counter = UsageCounter()
    for _ in range(1234):
        counter.count(who, None, 0.004)
    counter.count(who, "not_found", 0.3)
    counts = counter.take()
    await site.portal.store.write(lambda tx: usage.store(tx, counts, site.clock.now()))
    for over in charts.RANGES:
        await browser.get(f"{path}/usage?range={over.name}")
        assert "1,235" in browser.text
        assert "not_found" in browser.text
        assert browser.text.count("<rect") == 3
    base = path.partition("/subscriptions/")[0]
    await browser.get(base)
    assert ">1,235<" in browser.text


def test_numbers_on_charts_are_in_digits_and_in_words_that_fit() -> None:
    over = charts.RANGES[0]
    now = 10**9 * MINUTE
    drawn = charts.calls([usage.Span(now, "", 900_000, 0, ()), usage.Span(now - MINUTE, "", 1, 0, ())], over, now)
    assert drawn.scale == ("1,000,000", "500,000", "0")
    assert drawn.bars[-1].title.endswith(": 900,000 calls, 0 refused")
    assert drawn.bars[-2].title.endswith(": 1 call, 0 refused")
    slow = charts.latency([usage.Span(now, "", 1, 4_000, ())], over, now)
    assert slow.scale == ("5", "2.5", "0")


async def test_each_key_is_shown_by_itself(site: Any) -> None:
    browser, path, who = await subscribed(site)
    counter = UsageCounter()
    for _ in range(70):
        counter.count(who, None, 0.004)
    for _ in range(31):
        counter.count(replace(who, slot="secondary"), "not_found", 0.3)
    counts = counter.take()
    await site.portal.store.write(lambda tx: usage.store(tx, counts, site.clock.now()))
    await browser.get(f"{path}/usage")
    assert "<dd>101</dd>" in browser.text
    assert "101 in all, 31 of them refused" in browser.text
    await browser.get(f"{path}/usage?key=primary")
    assert "<dd>70</dd>" in browser.text
    assert "not_found" not in browser.text
    await browser.get(f"{path}/usage?key=secondary&range=hour")
    assert "<dd>31</dd>" in browser.text
    assert "300.0 ms" in browser.text
    # The sandbox that ships states 60 calls in a minute.
    await browser.get(path)
    assert "<strong>101 calls</strong>; the product states 60" in browser.text
    assert "<strong>101</strong> of 10,000 calls this month, 1 %" in browser.text
    assert "no call is refused" in browser.text


async def test_owners_are_notified_once_at_80_and_at_100_percent_of_a_quota(site: Any) -> None:
    _, _, who = await subscribed(site)
    subjects: list[str] = []

    async def call(times: int) -> int:
        counter = UsageCounter()
        counter.count(who, None, 0.001)
        counts = counter.take()
        counts.tallies[who.subscription_id, who.slot].calls = times
        await site.portal.store.write(lambda tx: usage.store(tx, counts, site.clock.now()))
        sent: int = await reminders.send(site.portal)
        subjects[:] = [mail["Subject"] for mail in await site.mails() if "quota" in mail["Subject"]]
        return sent

    assert await call(7_999) == 0
    assert await call(1) == 1
    assert await call(1_999) == 0
    assert await call(1) == 1
    assert await call(5_000) == 0
    assert subjects == [f"A Strongroom subscription has used {share} % of its quota" for share in (80, 100)]
    site.clock.move((quotas.next_month(site.clock.now()) - site.clock.now()) / 1000)
    assert await call(10) == 0
    assert await call(9_990) == 1
    assert "100 %" in subjects[-1]


def test_months_begin_and_end_in_utc() -> None:
    december = 1_798_761_599_999  # 2026-12-31 23:59:59.999
    assert quotas.month(december) == 1_796_083_200_000
    assert quotas.next_month(december) == december + 1
    assert quotas.month(december + 1) == december + 1


def test_bars_are_in_proportion() -> None:
    now = 1_000 * DAY + 30 * MINUTE
    over = charts.RANGES[0]
    spans = [
        usage.Span(now, "", 40, 80_000, (40, 0, 0, 0, 0), {"not_found": 10}),
        usage.Span(now - MINUTE, "", 5, 1, (5, 0, 0, 0, 0)),
    ]
    chart = charts.calls(spans, over, now)
    assert (chart.top, len(chart.bars)) == (50, 60)
    last = chart.bars[-1]
    assert (last.height, last.y, last.refused_height) == (128.0, 32.0, 32.0)
    assert chart.bars[-2].height == 16.0
    assert sum(bar.height > 0 for bar in chart.bars) == 2
    assert chart.scale == ("50", "25", "0")
    assert charts.latency(spans, over, now).top == 2
    empty = charts.calls([], charts.RANGES[2], now + HOUR)
    assert (empty.top, empty.scale) == (1, ("1", "", "0"))


def test_a_fast_service_has_bars_too() -> None:
    now = 1_000 * DAY
    chart = charts.latency([usage.Span(now, "", 10, 320, (10, 0, 0, 0, 0))], charts.RANGES[0], now)
    assert chart.scale == ("0.1", "0.05", "0")
    assert chart.bars[-1].height == pytest.approx(0.32 * charts.HEIGHT)
    assert chart.bars[-1].title.endswith("0.03 ms")
    assert charts.milliseconds(1234.56) == "1,234.6 ms"


async def test_owners_are_reminded_once_two_weeks_and_a_day_before_the_end(site: Any) -> None:
    _, _, who = await subscribed(site)
    ends = site.clock.now() + 20 * DAY
    await site.portal.store.write(
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
    await site.portal.store.write(lambda tx: subscriptions.cancel(tx, who.provider_id, who.subscription_id, 1))
    later = site.clock.now() + DAY
    await site.portal.store.write(
        lambda tx: subscription_states.set_expiry(tx, who.provider_id, who.subscription_id, later)
    )
    assert await reminders.send(site.portal) == 0


async def test_owners_are_reminded_of_a_key_before_its_end(site: Any) -> None:
    _, _, who = await subscribed(site)
    ends = site.clock.now() + 20 * DAY

    async def set_end(slot: str, at: int | None) -> None:
        await site.portal.store.write(
            lambda tx: key_ends.set_expiry(tx, who.provider_id, who.subscription_id, slot, at)
        )

    await set_end("secondary", ends)
    assert await reminders.send(site.portal) == 0
    site.clock.move(7 * 86_400)
    assert [await reminders.send(site.portal) for _ in range(2)] == [1, 0]
    mail = (await site.mails())[-1]
    assert mail["Subject"] == "A Strongroom key ends soon"
    assert "The secondary key srk_..." in " ".join(mail.get_body(("plain",)).get_content().split())
    await set_end("secondary", ends + DAY)
    assert [await reminders.send(site.portal) for _ in range(2)] == [1, 0]
    site.clock.move(12.5 * 86_400)
    await set_end("secondary", None)
    assert await reminders.send(site.portal) == 0


async def test_more_than_one_batch_that_ends_at_one_time_is_notified_in_full(
    site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reminders, "BATCH", 2)
    _, _, who = await subscribed(site)
    ends = site.clock.now() + DAY
    for number in range(5):
        new = await site.portal.store.write(
            lambda tx, name=str(number): subscriptions.create(
                tx, who.provider_id, name, site.clock.now(), expires_at=ends, keys_expire_at=ends
            )
        )
        await site.portal.store.write(
            lambda tx, row=new.id: subscriptions.activate(tx, who.provider_id, row, site.clock.now())
        )
    assert await reminders.send(site.portal) == 5 + 10
    assert await reminders.send(site.portal) == 0
    [mail] = [mail for mail in await site.mails() if "Strongroom subscriptions and keys" in mail["Subject"]]
    assert mail["Subject"] == "15 things to know about your Strongroom subscriptions and keys"
    text = " ".join(mail.get_body(("plain",)).get_content().split())
    assert text.count("The subscription “") == 5
    assert text.count("key srk_...") == 10
    assert text.count("refused from its end on") == 1


async def test_changing_ends_repeatedly_causes_no_flood_of_mail(site: Any) -> None:
    browser, _, who = await subscribed(site)
    base = f"/organisations/{to_text(who.provider_id)}"
    before = len(await site.mails())
    for number in range(12):
        ends = wire_time(site.clock.now() + 3 * DAY)[:10]
        await browser.get(f"{base}/subscribe/sandbox")
        await browser.send(f"{base}/subscribe/sandbox", name=f"{number}", terms="yes", key_ends=ends)
        await browser.send(browser.path.partition("/keys/")[0] + "/activate")
    assert await reminders.send(site.portal) == 24
    [mail] = (await site.mails())[before:]
    assert "And 4 more." in mail.get_body(("plain",)).get_content()
    assert mail["Subject"].startswith("24 things")


async def test_owners_are_reminded_once_of_old_keys_without_an_end(site: Any) -> None:
    browser, path, who = await subscribed(site)
    now = site.clock.now()
    await site.portal.store.write(lambda tx: providers.create_key(tx, who.provider_id, "backend", now))
    await site.portal.store.write(
        lambda tx: key_ends.set_expiry(tx, who.provider_id, who.subscription_id, "primary", now + 300 * DAY)
    )
    site.clock.move(179 * 86_400)
    assert await reminders.send(site.portal) == 0
    site.clock.move(86_400)
    # The secondary key and the provider API key: the primary one has an end.
    assert [await reminders.send(site.portal) for _ in range(2)] == [2, 0]
    subjects = [mail["Subject"] for mail in await site.mails()]
    assert subjects.count("2 things to know about your Strongroom subscriptions and keys") == 1
    [mail] = [mail for mail in await site.mails() if mail["Subject"].startswith("2 things")]
    assert "refused from its end on" not in " ".join(mail.get_body(("plain",)).get_content().split())
    browser = await site.sign_in()
    await browser.get(path)
    assert browser.text.count("time to replace") == 1
    await browser.get(f"{path.partition('/subscriptions/')[0]}/api-keys")
    assert browser.text.count("time to replace") == 1


async def test_old_keys_are_noted_together_with_the_mail_about_them(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    await subscribed(site)
    site.clock.move(180 * 86_400)

    async def fail(*_: Any) -> None:
        raise ConnectionError

    with monkeypatch.context() as broken:
        broken.setattr(site.portal.mail, "enqueue", fail)
        with pytest.raises(ConnectionError):
            await reminders.send(site.portal)
    assert [await reminders.send(site.portal) for _ in range(2)] == [2, 0]
    subjects = [mail["Subject"] for mail in await site.mails()]
    assert subjects.count("2 things to know about your Strongroom subscriptions and keys") == 1


async def test_notifications_are_forgotten_when_they_cannot_be_due_again(site: Any) -> None:
    _, _, who = await subscribed(site)
    now = site.clock.now()
    for slot in subscriptions.SLOTS:
        await site.portal.store.write(
            lambda tx, slot=slot: key_ends.set_expiry(tx, who.provider_id, who.subscription_id, slot, now + DAY)
        )
    assert await reminders.send(site.portal) == 2
    for at, forgotten in ((site.clock.now() - HOUR, 0), (site.clock.now() + 1, 2)):
        kept = at + notifications_sent.KEPT
        assert await site.portal.store.write(lambda tx, at=kept: notifications_sent.prune(tx, at, 500)) == forgotten
