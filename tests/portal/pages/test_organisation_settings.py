"""An organisation is renamed, and closed for good: what happens to its keys, its people and its name."""

import re
from typing import Any

import pytest
from tests.portal.pages.test_subscriptions import opens, organisation, subscribe

from strongroom.access import closing as access_closing
from strongroom.access import providers, subscriptions, usage
from strongroom.portal import limits
from strongroom.portal.accounts import developers
from strongroom.portal.membership import organisations
from strongroom.runtime.clock import DAY
from strongroom.runtime.ids import from_text
from strongroom.services.passphrase_hashing import PassphraseHasher
from strongroom.services.usage import UsageCounter
from strongroom.wire.refusal import Refusal, Refused

pytestmark = pytest.mark.anyio
PASSWORD = "plain words for a portal"
BOB = "bob@example.com"


async def acme(site: Any) -> tuple[Any, str, bytes, list[str]]:
    """An organisation with a member, an invitation, an active subscription and a provider API key."""
    browser = await site.sign_up()
    base = await organisation(browser)
    provider_id = from_text(base.rpartition("/")[2])
    assert provider_id is not None
    path, keys = await subscribe(browser, base)
    await browser.send(f"{path}/activate")
    now = site.clock.now()
    keys.append(await site.portal.store.write(lambda tx: providers.create_key(tx, provider_id, "backend", now)))
    bob = await site.sign_up(BOB)
    await browser.get(f"{base}/people")
    await browser.send(f"{base}/people/invite", email=BOB, role="member")
    link = await site.link(BOB)
    await bob.get(link)
    await bob.send(link)
    await browser.send(f"{base}/people/invite", email="eve@example.com", role="member")
    await browser.get(f"{base}/settings")
    return browser, base, provider_id, keys


async def test_owners_rename_and_the_old_name_is_free(site: Any) -> None:
    browser, base, provider_id, keys = await acme(site)
    await browser.send(f"{base}/settings/name", name="Apex")
    assert "<h1>Apex</h1>" in browser.text
    assert await opens(site, keys[0]) == "ok"
    assert await site.portal.store.read(lambda tx: providers.find(tx, "Apex")) == provider_id
    other = await organisation(browser, "Acme")
    await browser.get(f"{other}/settings")
    for name in (
        "Apex",
        "sandbox",
        "",
        "x" * 81,
        "\u3164",
        "\u2800",
        "Apex\ufe0f",
        "Ap\u034fex",
        "Apex\U000e0100",
        "\u202exepA",
    ):
        assert (await browser.send(f"{other}/settings/name", name=name)).status_code == 422
    await browser.send(f"{other}/settings/name", name="Acme")
    assert "Nothing was changed" in browser.text
    await browser.get(f"{base}/activity")
    assert "Organisation renamed" in browser.text


async def test_keys_and_pages_of_a_closed_organisation_are_refused(site: Any) -> None:
    browser, base, provider_id, keys = await acme(site)
    await browser.send(f"{base}/settings/close", confirmation="Acme", password=PASSWORD)
    assert "The organisation was closed" in browser.text
    assert base not in browser.text
    assert [await opens(site, key) for key in keys[:2]] == [Refusal.subscription_key_inactive.code] * 2
    with pytest.raises(Refused):
        await site.portal.store.read(lambda tx: providers.authenticate(tx, provider_id, keys[2], site.clock.now()))
    for to in (BOB, "ada@example.com"):
        assert (await site.mails(to))[-1]["Subject"] == "A Strongroom organisation was closed"
    for path in ("", "/people", "/settings", "/subscribe/sandbox"):
        assert (await browser.get(base + path)).status_code == 404
    eve = await site.sign_up("eve@example.com")
    invitation = next(mail for mail in await site.mails("eve@example.com") if "Join" in mail["Subject"])
    link = invitation.get_body(("plain",)).get_content().partition("/portal")[2].split()[0]
    assert (await eve.get(link)).status_code == 404
    # Its name stays taken, and the former only owner may delete the account now.
    await browser.get("/organisations/new")
    assert "This name is taken." in (await browser.send("/organisations/new", name="Acme")).text
    assert (await browser.send("/organisations/new", name="sandbox")).status_code == 422
    assert "only owner" not in (await browser.get("/account/delete")).text
    assert await site.portal.store.read(lambda tx: providers.find(tx, "Acme")) is None
    with pytest.raises(providers.TooManyKeys):
        await site.portal.store.write(lambda tx: providers.create_key(tx, provider_id, "late", site.clock.now()))


@pytest.mark.parametrize(
    ("confirmation", "password", "field"),
    [("acme", PASSWORD, "confirmation"), ("", PASSWORD, "confirmation"), ("Acme", "not the password", "password")],
)
async def test_a_mistake_or_a_stolen_session_does_not_close_it(
    site: Any, confirmation: str, password: str, field: str
) -> None:
    browser, base, _, keys = await acme(site)
    answer = await browser.send(f"{base}/settings/close", confirmation=confirmation, password=password)
    assert (answer.status_code, f'id="{field}-error"' in answer.text) == (422, True)
    assert await opens(site, keys[0]) == "ok"


async def test_a_password_that_changes_while_it_is_verified_closes_nothing(
    site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, base, _, keys = await acme(site)
    developer = await site.portal.store.read(lambda tx: developers.find(tx, "ada@example.com"))
    verify = PassphraseHasher.verify

    async def slow(self: PassphraseHasher, password: str, hashed: str) -> bool:
        right = await verify(self, password, hashed)
        later = site.clock.now() + 1
        await site.portal.store.write(lambda tx: developers.set_password(tx, developer.id, hashed, later))
        return right

    monkeypatch.setattr(PassphraseHasher, "verify", slow)
    answer = await browser.send(f"{base}/settings/close", confirmation="Acme", password=PASSWORD)
    assert answer.status_code == 403
    assert await opens(site, keys[0]) == "ok"


async def test_an_owner_removed_while_the_password_is_verified_closes_nothing(
    site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser, base, provider_id, keys = await acme(site)
    verify = PassphraseHasher.verify

    async def slow(self: PassphraseHasher, password: str, hashed: str) -> bool:
        right = await verify(self, password, hashed)
        await site.portal.store.write(lambda tx: tx.run("UPDATE memberships SET role = 'member'"))
        return right

    monkeypatch.setattr(PassphraseHasher, "verify", slow)
    answer = await browser.send(f"{base}/settings/close", confirmation="Acme", password=PASSWORD)
    assert answer.status_code == 403
    assert await opens(site, keys[0]) == "ok"
    provider = await site.portal.store.read(lambda tx: providers.read(tx, provider_id))
    assert provider is not None
    assert provider.closed_at is None


async def test_it_is_refused_while_a_key_is_in_use(site: Any) -> None:
    browser, base, provider_id, keys = await acme(site)
    hashed = subscriptions.key_hash(keys[1])
    assert hashed is not None
    counter = UsageCounter()
    counter.subscription_key_used(hashed, site.clock.now())
    counts = counter.take()
    await site.portal.store.write(lambda tx: usage.store(tx, counts, site.clock.now()))
    answer = await browser.send(f"{base}/settings/close", confirmation="Acme", password=PASSWORD)
    assert (answer.status_code, "A key was used just now" in answer.text) == (422, True)
    assert await opens(site, keys[0]) == "ok"
    later = site.clock.now() + DAY + 1000
    assert await site.portal.store.write(lambda tx: access_closing.close(tx, provider_id, later))


async def test_cancelled_subscriptions_do_not_prevent_closing(site: Any) -> None:
    browser, base, provider_id, keys = await acme(site)
    hashed = subscriptions.key_hash(keys[1])
    assert hashed is not None
    now = site.clock.now()
    counter = UsageCounter()
    counter.subscription_key_used(hashed, now)
    counts = counter.take()
    await site.portal.store.write(lambda tx: usage.store(tx, counts, now))
    [record] = await site.portal.store.read(lambda tx: subscriptions.list_of(tx, provider_id))
    await site.portal.store.write(lambda tx: subscriptions.cancel(tx, provider_id, record.id, now))
    await browser.send(f"{base}/settings/close", confirmation="Acme", password=PASSWORD)
    assert "The organisation was closed" in browser.text


async def test_an_invitation_that_came_too_late_is_not_shown(site: Any) -> None:
    browser, base, provider_id, _ = await acme(site)
    eve = await site.sign_up("eve@example.com")
    await eve.get("/")
    assert "Acme" in eve.text
    [path] = re.findall(r"/invitations/[0-9a-f-]{36}/join", eve.text)
    await browser.send(f"{base}/settings/close", confirmation="Acme", password=PASSWORD)
    assert (await eve.post(path)).status_code == 404
    await eve.get("/")
    assert "Acme" not in eve.text
    assert await site.portal.store.read(lambda tx: organisations.members_of(tx, provider_id)) == []


async def test_closing_is_limited_so_that_names_are_not_used_up(site: Any) -> None:
    browser = await site.sign_up()
    for number in range(limits.CLOSINGS.times + 1):
        base = await organisation(browser, f"Acme {number}")
        await browser.get(f"{base}/settings")
        answer = await browser.send(f"{base}/settings/close", confirmation=f"Acme {number}", password=PASSWORD)
    assert answer.status_code == 429
    await browser.get("/")
    assert f"Acme {number}" in browser.text
    site.clock.move(DAY // 1000 + 1)
    browser = await site.sign_in()
    await browser.get(f"{base}/settings")
    answer = await browser.send(f"{base}/settings/close", confirmation=f"Acme {number}", password=PASSWORD)
    assert answer.status_code == 200
