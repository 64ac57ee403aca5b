"""The rules around subscriptions: how many, how long, who decides, and who is notified."""

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.portal.furnished import Organisation, furnish, operator, subscribe

from strongroom.access import subscription_states, subscriptions
from strongroom.access.subscriptions import SubscriptionRecord
from strongroom.portal import reminders
from strongroom.portal.membership import organisations
from strongroom.portal.subscriptions import subscribing
from strongroom.portal.subscriptions.products import Product
from strongroom.portal.subscriptions.subscribing import MAX_EXPIRY, WrongExpiry, expiry
from strongroom.runtime.clock import DAY, wire_time
from strongroom.runtime.ids import from_text
from strongroom.wire.refusal import Refused

if TYPE_CHECKING:
    from tests.portal.conftest import Site

pytestmark = pytest.mark.anyio

OWNER, MEMBER = "olga@example.com", "max@example.com"
NOON = 1_000 * DAY + DAY // 2


def day(number: int) -> str:
    return wire_time(number * DAY)[:10]


def record(created_at: int) -> SubscriptionRecord:
    return SubscriptionRecord(b"p" * 16, b"s" * 16, "app", "active", created_at, None, None, "gold", None, None)


@pytest.mark.parametrize(
    ("text", "end"),
    [(day(1001), 1001 * DAY), (day(1010), 1010 * DAY), ("", 1010 * DAY + DAY // 2)],
)
def test_an_end_within_what_the_product_allows(text: str, end: int) -> None:
    product = Product("gold", "Gold", "The best.", approval=False, lifetime_days=10)
    assert expiry(text, record(NOON), product, NOON) == end


@pytest.mark.parametrize("text", [day(999), day(1000), day(1011), "soon", "1972-13-01"])
def test_no_end_that_has_passed_or_is_later_than_the_product_allows(text: str) -> None:
    product = Product("gold", "Gold", "The best.", approval=False, lifetime_days=10)
    with pytest.raises(WrongExpiry):
        expiry(text, record(NOON), product, NOON)


def test_no_end_in_another_century() -> None:
    latest = (NOON + MAX_EXPIRY) // DAY
    assert expiry(day(latest), record(NOON), None, NOON) == latest * DAY
    assert expiry("", record(NOON), None, NOON) is None
    with pytest.raises(WrongExpiry):
        expiry(day(latest + 1), record(NOON), None, NOON)


def test_the_end_does_not_fall_with_the_product() -> None:
    ends = replace(record(NOON), expires_at=1010 * DAY)
    assert expiry("", ends, None, NOON) == 1010 * DAY
    assert expiry(day(1005), ends, None, NOON) == 1005 * DAY
    with pytest.raises(WrongExpiry):
        expiry(day(1011), ends, None, NOON)
    assert expiry("", replace(ends, product=None), None, NOON) is None


async def test_subscriptions_of_an_organisation_are_limited(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    assert subscribing.MAX_IN_FORCE == 50
    monkeypatch.setattr(subscribing, "MAX_IN_FORCE", 2)
    browser = await site.sign_up()
    await browser.get("/organisations/new")
    await browser.send("/organisations/new", name="Acme")
    base = browser.path
    first, _ = await subscribe(browser, base, "sandbox")
    await subscribe(browser, base, "sandbox")
    await browser.get(f"{base}/subscribe/sandbox")
    answer = await browser.send(f"{base}/subscribe/sandbox", name="third", terms="yes")
    assert answer.status_code == 422
    await browser.post(f"{base}/subscriptions/{first}/cancel")
    await subscribe(browser, base, "sandbox")


async def test_organisations_of_a_developer_are_limited(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    assert organisations.MAX_OWNED == 20
    monkeypatch.setattr(organisations, "MAX_OWNED", 1)
    browser = await site.sign_up()
    for name, status in (("Acme", 200), ("Globex", 422), ("Globex", 422)):
        await browser.get("/organisations/new")
        assert (await browser.send("/organisations/new", name=name)).status_code == status
    other = await site.sign_up("eve@example.com")
    await other.get("/organisations/new")
    assert (await other.send("/organisations/new", name="Globex")).status_code == 200


async def state(site: "Site", acme: Organisation, name: str) -> str:
    provider_id, row = from_text(acme.ids["organisation"]), from_text(acme.ids[name])
    assert provider_id is not None
    assert row is not None
    found = await site.portal.store.read(lambda tx: subscriptions.read(tx, provider_id, row))
    assert found is not None
    return found.state_at(site.clock.now())


async def test_a_decision_of_the_operator_takes_effect_and_owners_are_notified(site: "Site") -> None:
    acme = await furnish(site, "Acme", OWNER, MEMBER)
    chief = await operator(site)
    acme.ids["rejected"], key = await subscribe(acme.owner, acme.base, "production")
    mails = len(await site.mails(OWNER)), len(await site.mails(MEMBER))
    for act, name, outcome in (
        ("approve", "waiting", "submitted"),
        ("reject", "rejected", "cancelled"),
        ("suspend", "subscription", "suspended"),
        ("resume", "subscription", "active"),
    ):
        await chief.post(f"/operator/subscriptions/{acme.ids['organisation']}/{acme.ids[name]}/{act}")
        assert await state(site, acme, name) == outcome
        assert (len(await site.mails(OWNER)), len(await site.mails(MEMBER))) == (mails[0] + 1, mails[1])
        mails = mails[0] + 1, mails[1]
    await acme.owner.post(f"{acme.base}/subscriptions/{acme.ids['waiting']}/activate")
    assert await state(site, acme, "waiting") == "active"
    await acme.owner.post(f"{acme.base}/subscriptions/{acme.ids['rejected']}/activate")
    assert await state(site, acme, "rejected") == "cancelled"
    with pytest.raises(Refused):
        await site.portal.store.read(lambda tx: subscriptions.authenticate(tx, key, site.clock.now()))


async def test_nothing_is_decided_twice_or_too_late(site: "Site") -> None:
    acme = await furnish(site, "Acme", OWNER, MEMBER)
    chief = await operator(site)
    mails = len(await site.mails(OWNER))
    for act, name, stays in (
        ("approve", "subscription", "active"),
        ("reject", "subscription", "active"),
        ("resume", "subscription", "active"),
        ("suspend", "waiting", "submitted"),
        ("reject", "inactive", "submitted"),
    ):
        await chief.post(f"/operator/subscriptions/{acme.ids['organisation']}/{acme.ids[name]}/{act}")
        assert await state(site, acme, name) == stays, (act, name)
    assert len(await site.mails(OWNER)) == mails


async def test_owners_alone_are_reminded(site: "Site") -> None:
    acme = await furnish(site, "Acme", OWNER, MEMBER)
    mails = len(await site.mails(OWNER)), len(await site.mails(MEMBER))
    provider_id, row = from_text(acme.ids["organisation"]), from_text(acme.ids["subscription"])
    assert provider_id is not None
    assert row is not None
    ends = site.clock.now() + DAY // 2
    await site.portal.store.write(lambda tx: subscription_states.set_expiry(tx, provider_id, row, ends))
    assert await reminders.send(site.portal) == 1
    assert (len(await site.mails(OWNER)), len(await site.mails(MEMBER))) == (mails[0] + 1, mails[1])


def test_no_end_where_the_latest_one_has_passed() -> None:
    product = Product("gold", "Gold", "The best.", approval=False, lifetime_days=10)
    with pytest.raises(WrongExpiry):
        expiry("", record(NOON), product, NOON + 10 * DAY)
