"""Keys of either slot and of the provider: regenerated, replaced, revoked, and how long old ones work."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import pytest
from tests.portal.furnished import KEY

from strongroom.access import providers, subscriptions
from strongroom.portal.subscriptions import subscribing
from strongroom.portal.subscriptions.subscribing import GRACES
from strongroom.runtime.clock import DAY, SECOND, wire_time
from strongroom.runtime.ids import from_text, to_text
from strongroom.wire.refusal import Refused

if TYPE_CHECKING:
    from tests.portal.conftest import Browser, Site

pytestmark = pytest.mark.anyio


async def organisation(browser: "Browser") -> str:
    await browser.get("/organisations/new")
    await browser.send("/organisations/new", name="Acme")
    return browser.path


async def subscribed(browser: "Browser") -> tuple[str, list[str]]:
    """The path of an active subscription, its primary and its secondary key."""
    base = await organisation(browser)
    await browser.get(f"{base}/subscribe/sandbox")
    await browser.send(f"{base}/subscribe/sandbox", name="app", terms="yes")
    path, keys = browser.path.partition("/keys/")[0], list(dict.fromkeys(KEY.findall(browser.text)))
    await browser.post(f"{path}/activate")
    return path, keys


async def opens(site: "Site", key: str) -> bool:
    try:
        await site.portal.store.read(lambda tx: subscriptions.authenticate(tx, key, site.clock.now()))
    except Refused:
        return False
    return True


async def goes_on_for(site: "Site", grace: str, works: Callable[[], Awaitable[bool]]) -> None:
    """The old key works until the end of its grace, and not after it."""
    seconds = GRACES[grace] / SECOND
    if seconds:
        site.clock.move(seconds - 60)
        assert await works()
        site.clock.move(61)
    assert not await works()


@pytest.mark.parametrize(("slot", "number"), [("primary", 0), ("secondary", 1)])
async def test_the_key_of_one_slot_alone_is_regenerated(site: "Site", slot: str, number: int) -> None:
    browser = await site.sign_up()
    path, keys = await subscribed(browser)
    await browser.get(path)
    await browser.send(f"{path}/keys", slot=slot, grace="none")
    [new] = dict.fromkeys(KEY.findall(browser.text))
    assert await opens(site, new)
    assert [await opens(site, key) for key in keys] == [number != 0, number != 1]


@pytest.mark.parametrize("grace", GRACES)
async def test_a_replaced_key_works_until_its_grace_ends(site: "Site", grace: str) -> None:
    browser = await site.sign_up()
    path, (old, _) = await subscribed(browser)
    await browser.get(path)
    await browser.send(f"{path}/keys", slot="primary", grace=grace)
    await goes_on_for(site, grace, lambda: opens(site, old))


@pytest.mark.parametrize("grace", GRACES)
async def test_a_revoked_provider_key_works_until_its_grace_ends(site: "Site", grace: str) -> None:
    browser = await site.sign_up()
    base = await organisation(browser)
    provider_id = from_text(base.rpartition("/")[2])
    assert provider_id is not None
    await browser.get(f"{base}/api-keys")
    await browser.send(f"{base}/api-keys", name="backend")
    [key] = dict.fromkeys(KEY.findall(browser.text))
    [record] = await site.portal.store.read(lambda tx: providers.keys_of(tx, provider_id))
    await browser.post(f"{base}/api-keys/{to_text(record.id)}/revoke", grace=grace)

    async def works() -> bool:
        try:
            await site.portal.store.read(lambda tx: providers.authenticate(tx, provider_id, key, site.clock.now()))
        except Refused:
            return False
        return True

    await goes_on_for(site, grace, works)


async def test_an_unknown_grace_is_refused(site: "Site") -> None:
    browser = await site.sign_up()
    path, keys = await subscribed(browser)
    await browser.get(path)
    assert (await browser.post(f"{path}/keys", slot="primary", grace="year")).status_code == 404
    assert (await browser.post(f"{path}/keys", slot="tertiary", grace="none")).status_code == 404
    assert [await opens(site, key) for key in keys] == [True, True]


async def test_a_replaced_key_is_ended_before_its_grace(site: "Site") -> None:
    browser = await site.sign_up()
    path, keys = await subscribed(browser)
    await browser.get(path)
    assert "End the old key now" not in browser.text
    for slot in ("primary", "secondary"):
        await browser.get(path)
        await browser.send(f"{path}/keys", slot=slot, grace="week")
    new = [KEY.findall(browser.text)[0]]
    await browser.get(path)
    await browser.send(f"{path}/replaced-keys")  # the form of the first slot
    assert "End the old key now?" in browser.text
    assert [await opens(site, key) for key in keys] == [True, True]
    await browser.send(f"{path}/replaced-keys")
    assert "The old key was ended" in browser.text
    assert [await opens(site, key) for key in keys + new] == [False, True, True]
    answer = await browser.post(f"{path}/replaced-keys", slot="primary")
    assert "nothing_changed" in answer.headers.get("set-cookie", "") or "Nothing was changed" in answer.text
    await browser.get(f"{path.partition('/subscriptions/')[0]}/activity")
    assert browser.text.count("Replaced key of the subscription “app” ended") == 1


async def test_the_latest_end_of_a_product_is_named(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    browser = await site.sign_up()
    path, _ = await subscribed(browser)
    latest = subscribing.latest_end
    monkeypatch.setattr(subscribing, "latest_end", lambda record, product: record.created_at + 30 * DAY)
    await browser.get(path)
    await browser.send(f"{path}/expiry", ends=wire_time(site.clock.now() + 40 * DAY)[:10])
    assert f"no later than {wire_time(site.clock.now() + 30 * DAY)[:10]}" in browser.text
    monkeypatch.setattr(subscribing, "latest_end", latest)
    await browser.send(f"{path}/expiry", ends="2001-01-31")
    assert "at most ten years" in browser.text


async def test_a_subscription_that_can_have_no_later_end_offers_none(
    site: "Site", monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = await site.sign_up()
    path, _ = await subscribed(browser)
    await browser.get(path)
    ends = wire_time(site.clock.now() + 2 * DAY)[:10]
    await browser.send(f"{path}/expiry", ends=ends)
    monkeypatch.setattr(subscribing, "latest_end", lambda record, product: record.expires_at)
    assert f'action="/portal{path}/expiry"' in browser.text
    site.clock.move(2 * DAY // SECOND)
    browser = await site.sign_in()
    await browser.get(path)
    assert "has ended" in browser.text
    assert "The product allows no later end." in browser.text
    assert f'action="/portal{path}/expiry"' not in browser.text
    answer = await browser.post(f"{path}/expiry", ends="")
    assert answer.status_code == 422
    assert "no later than" not in answer.text


async def test_a_wrong_date_leaves_the_grace_as_it_was_chosen(site: "Site") -> None:
    browser = await site.sign_up()
    path, _ = await subscribed(browser)
    await browser.get(path)
    assert " selected" not in browser.text
    answer = await browser.post(f"{path}/keys", slot="secondary", grace="none", key_ends="2001-01-01")
    assert answer.status_code == 422
    assert answer.text.count(" selected") == 1
    _, _, secondary = answer.text.partition('id="grace-secondary"')
    assert '<option value="none" selected>' in secondary


@pytest.mark.parametrize(("minutes", "in_sight"), [(4, True), (6, False)])
async def test_keys_stay_in_sight_for_five_minutes(site: "Site", minutes: int, in_sight: bool) -> None:
    browser = await site.sign_up()
    base = await organisation(browser)
    await browser.get(f"{base}/subscribe/sandbox")
    await browser.send(f"{base}/subscribe/sandbox", name="app", terms="yes")
    assert "within five minutes" in browser.text
    path = browser.path.partition("/keys/")[0]
    site.clock.move(minutes * 60)
    await browser.send(f"{path}/activate")
    assert "The subscription is active" in browser.text
    assert (browser.path == path) is not in_sight
    assert bool(KEY.findall(browser.text)) is in_sight
