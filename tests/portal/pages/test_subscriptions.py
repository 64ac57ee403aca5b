"""From an organisation to a key that works: subscribe, activate, regenerate, rename, end, cancel."""

import re
from typing import Any

import pytest

from strongroom.access import providers, subscriptions
from strongroom.runtime.clock import DAY, wire_time
from strongroom.runtime.ids import from_text
from strongroom.wire.refusal import Refusal, Refused

pytestmark = pytest.mark.anyio

KEY = re.compile(r"\bsr[kp]_[0-9A-Za-z]{49}\b")


async def organisation(browser: Any, name: str = "Acme") -> str:
    """Create an organisation; the path of its page."""
    await browser.get("/organisations/new")
    await browser.send("/organisations/new", name=name)
    path: str = browser.path
    assert re.fullmatch(r"/organisations/[0-9a-f-]{36}", path), browser.text
    return path


async def subscribe(browser: Any, base: str, product: str = "sandbox", name: str = "app") -> tuple[str, list[str]]:
    """Subscribe; the path of the subscription and its two keys."""
    await browser.get(f"{base}/subscribe/{product}")
    await browser.send(f"{base}/subscribe/{product}", name=name, terms="yes")
    path = browser.path.partition("/keys/")[0]
    keys = list(dict.fromkeys(KEY.findall(browser.text)))
    assert len(keys) == 2, browser.text
    return path, keys


async def opens(site: Any, key: str) -> str:
    """`ok`, or the code of the refusal."""
    try:
        await site.portal.store.read(lambda tx: subscriptions.authenticate(tx, key, site.clock.now()))
    except Refused as refused:
        return refused.refusal.code
    return "ok"


async def test_from_sign_up_to_a_key_that_works(site: Any) -> None:
    browser = await site.sign_up()
    base = await organisation(browser)
    await browser.get("/products")
    assert "Sandbox" in browser.text
    await browser.get("/products/sandbox")
    assert f"{base}/subscribe/sandbox" in browser.text
    path, keys = await subscribe(browser, base)
    shown_at = browser.path
    assert f"export STRONGROOM_SUBSCRIPTION_KEY={keys[0]}" in browser.text
    assert [await opens(site, key) for key in keys] == [Refusal.subscription_key_inactive.code] * 2
    # After the activation the page of the keys is shown again, for a developer who has not copied them yet.
    await browser.send(f"{path}/activate")
    assert browser.path.startswith(f"{path}/keys/")
    assert set(KEY.findall(browser.text)) == set(keys)
    assert [await opens(site, key) for key in keys] == ["ok", "ok"]
    activated_at = browser.path
    await browser.get(activated_at)
    assert browser.path == path
    # Afterwards a key is known by its ends only, and the page that showed it shows it no more.
    assert not KEY.findall(browser.text)
    assert f"srk_...{keys[0][-4:]}" in browser.text
    await browser.get(shown_at)
    assert browser.path == path
    assert not KEY.findall(browser.text)


async def test_new_keys_are_shown_to_the_session_that_made_them_only(site: Any) -> None:
    browser = await site.sign_up()
    base = await organisation(browser)
    await browser.get(f"{base}/subscribe/sandbox")
    browser.http.follow_redirects = False
    answer = await browser.send(f"{base}/subscribe/sandbox", name="app", terms="yes")
    assert answer.status_code == 303
    again = await site.sign_in()
    await again.get(answer.headers["location"])
    assert not KEY.findall(again.text)
    shown = await browser.get(answer.headers["location"])
    assert KEY.findall(shown.text)


async def test_a_key_is_regenerated_without_downtime(site: Any) -> None:
    browser = await site.sign_up()
    path, (primary, secondary) = await subscribe(browser, await organisation(browser))
    await browser.send(f"{path}/activate")
    await browser.get(path)
    await browser.send(f"{path}/keys", slot="primary", grace="hour")
    [new] = dict.fromkeys(KEY.findall(browser.text))
    assert new not in (primary, secondary)
    assert [await opens(site, key) for key in (new, primary, secondary)] == ["ok", "ok", "ok"]
    site.clock.move(3601)
    assert [await opens(site, key) for key in (new, primary, secondary)] == [
        "ok",
        Refusal.subscription_key_invalid.code,
        "ok",
    ]


def days_from(site: Any, days: int) -> str:
    day: str = wire_time(site.clock.now() + days * DAY)[:10]
    return day


async def test_one_key_is_given_an_end_and_the_other_goes_on(site: Any) -> None:
    browser = await site.sign_up()
    path, (primary, secondary) = await subscribe(browser, await organisation(browser))
    await browser.send(f"{path}/activate")
    await browser.get(path)
    await browser.send(f"{path}/key-expiry", slot="primary", key_ends=days_from(site, 2))
    assert f"Ends {days_from(site, 2)} 00:00 UTC" in browser.text
    site.clock.move(2 * 86_400)
    assert await opens(site, primary) == Refusal.subscription_key_expired.code
    assert await opens(site, secondary) == "ok"
    browser = await site.sign_in()
    await browser.get(path)
    assert "expired" in browser.text
    await browser.send(f"{path}/key-expiry", slot="primary", key_ends="")
    assert "expired" not in browser.text
    assert await opens(site, primary) == "ok"
    await browser.get(f"{path.partition('/subscriptions/')[0]}/activity")
    assert "End of a key of the subscription “app” changed" in browser.text
    assert "primary, no end" in browser.text


async def test_new_keys_can_be_made_with_an_end(site: Any) -> None:
    browser = await site.sign_up()
    base = await organisation(browser)
    await browser.get(f"{base}/subscribe/sandbox")
    answer = await browser.send(f"{base}/subscribe/sandbox", name="app", terms="yes", key_ends="2001-01-01")
    assert (answer.status_code, "Choose a day after today" in answer.text) == (422, True)
    await browser.send(f"{base}/subscribe/sandbox", name="app", terms="yes", key_ends=days_from(site, 3))
    path, keys = browser.path.partition("/keys/")[0], list(dict.fromkeys(KEY.findall(browser.text)))
    await browser.send(f"{path}/activate")
    await browser.get(path)
    await browser.send(f"{path}/keys", slot="primary", grace="week", key_ends=days_from(site, 9))
    [new] = dict.fromkeys(KEY.findall(browser.text))
    # The grace is a week, and the end that the old key had comes before it.
    site.clock.move(3 * 86_400)
    assert [await opens(site, key) for key in (new, keys[0], keys[1])] == [
        "ok",
        Refusal.subscription_key_invalid.code,
        Refusal.subscription_key_expired.code,
    ]
    site.clock.move(6 * 86_400)
    assert await opens(site, new) == Refusal.subscription_key_expired.code


@pytest.mark.parametrize(("action", "field"), [("key-expiry", "ends-primary"), ("keys", "new-ends-primary")])
async def test_a_wrong_end_of_a_key_is_reported_at_its_field(site: Any, action: str, field: str) -> None:
    browser = await site.sign_up()
    path, keys = await subscribe(browser, await organisation(browser))
    await browser.send(f"{path}/activate")
    for day in ("2001-01-01", "tomorrow", "9999-01-01"):
        answer = await browser.post(f"{path}/{action}", slot="primary", grace="none", key_ends=day)
        assert (answer.status_code, f'id="{field}-error"' in answer.text) == (422, True)
    assert (await browser.post(f"{path}/key-expiry", slot="tertiary", key_ends="")).status_code == 404
    assert await opens(site, keys[0]) == "ok"


async def test_faults_are_reported_at_their_field(site: Any) -> None:
    browser = await site.sign_up()
    base = await organisation(browser)
    await browser.get("/organisations/new")
    answer = await browser.send("/organisations/new", name="Acme")
    assert (answer.status_code, "This name is taken." in answer.text) == (422, True)
    await browser.get(f"{base}/subscribe/sandbox")
    answer = await browser.send(f"{base}/subscribe/sandbox", name="")
    assert answer.status_code == 422
    assert "Enter a name." in answer.text
    assert "Agree to the terms" in answer.text
    path, _ = await subscribe(browser, base)
    await browser.get(path)
    assert (await browser.send(f"{path}/expiry", ends="2001-01-01")).status_code == 422
    assert (await browser.send(f"{path}/name", name="x" * 81)).status_code == 422
    assert (await browser.get(f"{base}/subscribe/nothing")).status_code == 404


async def test_a_subscription_is_renamed_given_an_end_and_cancelled(site: Any) -> None:
    browser = await site.sign_up()
    path, keys = await subscribe(browser, await organisation(browser))
    await browser.send(f"{path}/activate")
    await browser.get(path)
    await browser.send(f"{path}/name", name="shop")
    assert "<h1>shop</h1>" in browser.text
    await browser.send(f"{path}/expiry", ends=wire_time(site.clock.now() + 2 * DAY)[:10])
    assert await opens(site, keys[0]) == "ok"
    site.clock.move(2 * 86_400)
    assert await opens(site, keys[0]) == Refusal.subscription_key_inactive.code
    browser = await site.sign_in()
    await browser.get(path)
    assert "has ended" in browser.text
    await browser.send(f"{path}/expiry", ends="")
    assert await opens(site, keys[0]) == "ok"
    await browser.get(f"{path}/cancel")
    await browser.send(f"{path}/cancel")
    assert await opens(site, keys[0]) == Refusal.subscription_key_inactive.code


async def test_what_needs_approval_is_activated_after_it(site: Any) -> None:
    operator = await site.operator()
    browser = await site.sign_up()
    path, keys = await subscribe(browser, await organisation(browser), "production", "shop")
    _, _, provider, _, subscription = path.split("/")
    await browser.get(path)
    assert "waits for the operator" in browser.text
    await browser.post(f"{path}/activate")
    assert await opens(site, keys[0]) == Refusal.subscription_key_inactive.code
    await operator.get("/operator")
    await operator.send(f"/operator/subscriptions/{provider}/{subscription}/approve")
    assert "shop" in (await site.mails())[-1].as_string()
    await browser.get(path)
    await browser.send(f"{path}/activate")
    assert await opens(site, keys[0]) == "ok"
    await operator.get("/operator")
    act = f"/operator/subscriptions/{provider}/{subscription}"
    await operator.send(f"{act}/suspend", confirmed="yes", reason="three\u202ebills unpaid")
    text = (await site.mails())[-1].get_body(("plain",)).get_content()
    assert "The operator says: three bills unpaid" in " ".join(text.split())
    assert await opens(site, keys[0]) == Refusal.subscription_key_inactive.code
    await operator.send(f"/operator/subscriptions/{provider}/{subscription}/resume")
    assert await opens(site, keys[0]) == "ok"
    assert (await browser.get("/operator")).status_code == 404


async def test_provider_api_keys_are_created_shown_once_and_revoked(site: Any) -> None:
    browser = await site.sign_up()
    base = await organisation(browser)
    provider_id = from_text(base.rpartition("/")[2])
    assert provider_id is not None

    async def works(key: str) -> bool:
        try:
            await site.portal.store.read(lambda tx: providers.authenticate(tx, provider_id, key, site.clock.now()))
        except Refused:
            return False
        return True

    await browser.get(f"{base}/api-keys")
    await browser.send(f"{base}/api-keys", name="backend")
    shown_at = browser.path
    [key] = dict.fromkeys(KEY.findall(browser.text))
    assert await works(key)
    await browser.get(shown_at)
    assert browser.path == f"{base}/api-keys"
    assert not KEY.findall(browser.text)
    await browser.send(f"{base}/api-keys", name="next")
    await browser.get(f"{base}/api-keys")
    answer = await browser.send(f"{base}/api-keys", name="third")
    assert answer.status_code == 422
    [revoke, *_] = re.findall(r'action="/portal(/[^"]*/revoke)"', browser.text)
    await browser.send(revoke, grace="none", confirmed="yes")
    assert not await works(key)


async def test_the_product_that_was_chosen_outlives_the_making_of_an_organisation(site: Any) -> None:
    browser = await site.sign_up()
    await browser.get("/products/sandbox")
    assert 'href="/portal/organisations/new?for=sandbox"' in browser.text
    await browser.get("/organisations/new?for=sandbox")
    await browser.send("/organisations/new", name="Acme")
    assert re.fullmatch(r"/organisations/[0-9a-f-]{36}/subscribe/sandbox", browser.path)
    await browser.get("/organisations/new?for=//evil.example")
    assert "evil" not in browser.text


async def test_getting_started_says_what_comes_next(site: Any) -> None:
    def next_step() -> str:
        found = re.search(r'<li class="next" aria-current="step"><h3>([^<]+)', browser.text)
        return "" if found is None else found[1].strip()

    browser = await site.sign_up()
    base = await organisation(browser)
    assert next_step() == "Subscribe to a product"
    path, _ = await subscribe(browser, base)
    assert "Next: create a provider API key" in browser.text
    await browser.get(base)
    assert next_step() == "Activate its keys"
    await browser.get(path)
    await browser.send(f"{path}/activate")
    await browser.get(base)
    assert next_step() == "Create a provider API key"
    await browser.get(f"{base}/api-keys")
    await browser.send(f"{base}/api-keys", name="backend")
    [key] = set(KEY.findall(browser.text))
    assert f"export STRONGROOM_PROVIDER_API_KEY={key}\ncurl " in browser.text
    await browser.get(base)
    assert next_step() == "Make a first call"
    await site.portal.store.write(lambda tx: tx.run("UPDATE provider_api_keys SET last_used_at = 1"))
    await browser.get(base)
    assert "Getting started" not in browser.text
