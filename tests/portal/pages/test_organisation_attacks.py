"""Attacks from within an organisation: by a member, by a removed owner, by a name, by a leaked key."""

import asyncio
import re
from typing import Any

import pytest

from strongroom.access import subscriptions
from strongroom.portal.web.page import Visit
from strongroom.runtime.ids import from_text
from strongroom.wire.refusal import Refused

pytestmark = pytest.mark.anyio

BOB = "bob@example.com"
ACCOMPLICE = "mallory@example.com"
KEY = re.compile(r"\bsrk_[0-9A-Za-z]{49}\b")


async def organisation(browser: Any) -> str:
    await browser.get("/organisations/new")
    await browser.send("/organisations/new", name="Acme")
    path: str = browser.path
    return path


async def invited(site: Any, owner: Any, base: str, email: str, role: str) -> str:
    """The link of an invitation."""
    await owner.get(f"{base}/people")
    await owner.send(f"{base}/people/invite", email=email, role=role)
    link: str = await site.link(email)
    return link


async def joined(site: Any, owner: Any, base: str, role: str, name: str = "Bob") -> Any:
    link = await invited(site, owner, base, BOB, role)
    bob = await site.sign_up(BOB, name=name)
    await bob.get(link)
    await bob.send(link)
    assert bob.path == base, bob.text
    return bob


async def subscribed(browser: Any, base: str) -> tuple[str, str]:
    """The path of an active subscription, and its primary key."""
    await browser.get(f"{base}/subscribe/sandbox")
    await browser.send(f"{base}/subscribe/sandbox", name="app", terms="yes")
    path = browser.path.partition("/keys/")[0]
    primary = KEY.findall(browser.text)[0]
    await browser.send(f"{path}/activate")
    return path, primary


async def opens(site: Any, key: str) -> bool:
    try:
        await site.portal.store.read(lambda tx: subscriptions.authenticate(tx, key, site.clock.now()))
    except Refused:
        return False
    return True


@pytest.mark.parametrize("act", ["remove", "role"])
async def test_a_removed_owner_does_not_come_back_by_an_own_invitation(site: Any, act: str) -> None:
    ada = await site.sign_up()
    base = await organisation(ada)
    bob = await joined(site, ada, base, "owner")
    link = await invited(site, bob, base, ACCOMPLICE, "owner")
    await ada.get(f"{base}/people")
    [path] = [action.removeprefix("/portal") for action, _ in ada._forms if action.endswith(f"/{act}")]
    await ada.send(path, confirmed="yes")
    accomplice = await site.sign_up(ACCOMPLICE, name="Mallory")
    assert (await accomplice.get(link)).status_code == 404
    await accomplice.post(link)
    assert (await accomplice.get(base)).status_code == 404


async def test_a_removed_member_finds_nothing_from_then_on(site: Any) -> None:
    ada = await site.sign_up()
    base = await organisation(ada)
    bob = await joined(site, ada, base, "member")
    path, _ = await subscribed(bob, base)
    await bob.get(path)
    await ada.get(f"{base}/people")
    [remove] = [action.removeprefix("/portal") for action, _ in ada._forms if action.endswith("/remove")]
    await ada.send(remove, confirmed="yes")
    # With the form that was on the page before.
    assert (await bob.send(f"{path}/keys", slot="primary", grace="none")).status_code == 404
    assert (await bob.get(path)).status_code == 404


async def test_one_invitation_accepted_many_times_at_once_is_joined_once(site: Any) -> None:
    ada = await site.sign_up()
    base = await organisation(ada)
    link = await invited(site, ada, base, BOB, "member")
    bob = await site.sign_up(BOB, name="Bob")
    await bob.get(link)
    answers = await asyncio.gather(*(bob.post(link) for _ in range(8)))
    assert {answer.status_code for answer in answers} <= {200, 404}
    await ada.get(f"{base}/activity")
    assert ada.text.count(" joined") == 1


async def test_members_cannot_act_in_the_name_of_the_operator(site: Any) -> None:
    ada = await site.sign_up()
    base = await organisation(ada)
    bob = await joined(site, ada, base, "member", name="the operator")
    path, _ = await subscribed(bob, base)
    await bob.get(path)
    await bob.send(f"{path}/name", name="operator")
    await ada.get(f"{base}/activity")
    rows = re.findall(
        r'data-label="Who">([^<]*)<.*?data-label="What">([^<]*)<.*?data-label="Detail">([^<]*)<', ada.text
    )
    assert (f"the operator ({BOB})", "Subscription “operator” renamed", "operator") in rows


async def test_an_invitation_names_its_sender(site: Any) -> None:
    ada = await site.sign_up(name="The Strongroom team")
    base = await organisation(ada)
    await invited(site, ada, base, BOB, "member")
    body = (await site.mails(BOB))[-1].get_body(("plain",))
    assert "The Strongroom team (ada@example.com) invites you" in " ".join(body.get_content().split())


async def test_a_key_that_leaked_can_be_ended_while_it_is_in_its_grace(site: Any) -> None:
    ada = await site.sign_up()
    path, leaked = await subscribed(ada, await organisation(ada))
    await ada.get(path)
    await ada.send(f"{path}/keys", slot="primary", grace="week")
    second = KEY.findall(ada.text)[0]
    assert await opens(site, leaked)
    await ada.get(path)
    await ada.send(f"{path}/keys", slot="primary", grace="none")
    third = KEY.findall(ada.text)[0]
    assert [await opens(site, key) for key in (leaked, second, third)] == [False, False, True]


async def test_a_later_regeneration_gives_no_old_key_more_time(site: Any) -> None:
    ada = await site.sign_up()
    path, first = await subscribed(ada, await organisation(ada))
    await ada.get(path)
    await ada.send(f"{path}/keys", slot="primary", grace="hour")
    await ada.get(path)
    await ada.send(f"{path}/keys", slot="primary", grace="week")
    site.clock.move(3601)
    assert not await opens(site, first)


async def test_keys_regenerated_many_times_at_once_leave_one_in_force(site: Any) -> None:
    ada = await site.sign_up()
    path, _ = await subscribed(ada, await organisation(ada))
    await ada.get(path)
    ada.http.follow_redirects = False
    await asyncio.gather(*(ada.post(f"{path}/keys", slot="primary", grace="none") for _ in range(8)))
    parts = path.split("/")
    provider_id, subscription_id = from_text(parts[2]), from_text(parts[4])
    assert provider_id is not None
    assert subscription_id is not None
    keys = await site.portal.store.read(lambda tx: subscriptions.keys_of(tx, provider_id, subscription_id))
    now = site.clock.now()
    assert len([key for key in keys if key.slot == "primary" and (key.expires_at is None or key.expires_at > now)]) == 1


async def test_activation_and_cancellation_at_once_end_cancelled(site: Any) -> None:
    ada = await site.sign_up()
    base = await organisation(ada)
    for name in ("one", "two", "three"):
        await ada.get(f"{base}/subscribe/sandbox")
        await ada.send(f"{base}/subscribe/sandbox", name=name, terms="yes")
        path, key = ada.path.partition("/keys/")[0], KEY.findall(ada.text)[0]
        await asyncio.gather(*(ada.post(f"{path}/{act}") for act in ("activate", "cancel", "activate")))
        assert not await opens(site, key)


@pytest.mark.parametrize("put_out", ["DELETE FROM memberships", "UPDATE memberships SET role = 'member'"])
async def test_a_member_removed_during_the_request_makes_no_key(
    site: Any, monkeypatch: pytest.MonkeyPatch, put_out: str
) -> None:
    ada = await site.sign_up()
    page = f"{await organisation(ada)}/api-keys"
    await ada.get(page)
    write = site.portal.store.write

    async def late(work: Any) -> Any:
        await write(lambda tx: tx.run(put_out))
        return await write(work)

    async def count(*_: Any) -> None:
        """The frame's last look before the act."""
        monkeypatch.setattr(site.portal.store, "write", late)

    monkeypatch.setattr(Visit, "count", count)
    assert (await ada.send(page, name="backend")).status_code == 403
    assert await site.portal.store.read(lambda tx: tx.all("SELECT 1 FROM provider_api_keys")) == []
