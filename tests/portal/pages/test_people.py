"""Colleagues: invited, joining, changing roles, handing over, leaving; and the note of all of it."""

from typing import Any

import pytest

pytestmark = pytest.mark.anyio

ADA, BOB = "ada@example.com", "bob@example.com"


async def organisation(browser: Any) -> str:
    await browser.get("/organisations/new")
    await browser.send("/organisations/new", name="Acme")
    path: str = browser.path
    return path


async def joined(site: Any, ada: Any, base: str, role: str = "member") -> Any:
    """Bob, who has accepted an invitation."""
    await ada.get(f"{base}/people")
    await ada.send(f"{base}/people/invite", email=BOB, role=role)
    link = await site.link(BOB)
    bob = await site.sign_up(BOB, name="Bob")
    await bob.get(link)
    await bob.send(link)
    assert bob.path == base, bob.text
    return bob


def path_of(browser: Any, act: str) -> str:
    """The action on the one colleague of the page."""
    [found] = [action for action, _ in browser._forms if action.endswith(act) and "/people/" in action]
    path: str = found.removeprefix("/portal")
    return path


async def test_an_invitation_is_for_its_address_and_for_once(site: Any) -> None:
    ada = await site.sign_up()
    base = await organisation(ada)
    await ada.get(f"{base}/people")
    await ada.send(f"{base}/people/invite", email=BOB, role="member")
    assert BOB in ada.text
    link = await site.link(BOB)
    stranger = site.browser()
    await stranger.get(link)
    assert "Sign in with the address" in stranger.text
    eve = await site.sign_up("eve@example.com", name="Eve")
    await eve.get(link)
    await eve.post(link)
    assert (await eve.get(base)).status_code == 404
    bob = await site.sign_up(BOB, name="Bob")
    await bob.get(link)
    await bob.send(link)
    assert bob.path == base
    assert (await bob.get(link)).status_code == 404


async def test_an_invitation_waits_until_its_address_signs_up(site: Any) -> None:
    ada = await site.sign_up()
    base = await organisation(ada)
    await ada.get(f"{base}/people")
    await ada.send(f"{base}/people/invite", email=BOB, role="member")
    eve = await site.sign_up("eve@example.com", name="Eve")
    await eve.get("/")
    assert "invited" not in eve.text.replace("ask to be invited", "")
    bob = await site.sign_up(BOB, name="Bob")
    await bob.get("/")
    assert "You are invited to join <strong>Acme</strong>" in bob.text
    [join] = [action.removeprefix("/portal") for action, _ in bob._forms if action.endswith("/join")]
    assert (await eve.post(join)).status_code == 404
    assert (await eve.get(base)).status_code == 404
    await bob.send(join)
    assert bob.path == base
    assert (await bob.post(join)).status_code == 404
    await bob.get("/")
    assert "You are invited" not in bob.text


async def test_a_withdrawn_or_old_invitation_opens_nothing(site: Any) -> None:
    ada = await site.sign_up()
    base = await organisation(ada)
    await ada.get(f"{base}/people")
    await ada.send(f"{base}/people/invite", email=BOB, role="member")
    first = await site.link(BOB)
    [withdraw] = [action.removeprefix("/portal") for action, _ in ada._forms if action.endswith("/withdraw")]
    await ada.send(withdraw)
    assert (await site.browser().get(first)).status_code == 404
    await ada.send(f"{base}/people/invite", email=BOB, role="member")
    second = await site.link(BOB)
    assert second != first
    site.clock.move(7 * 86_400)
    assert (await site.browser().get(second)).status_code == 404


async def test_a_member_is_not_an_owner(site: Any) -> None:
    ada = await site.sign_up()
    base = await organisation(ada)
    bob = await joined(site, ada, base)
    await bob.get(f"{base}/people")
    assert "Invite a colleague" not in bob.text
    assert (await bob.post(f"{base}/people/invite", email="eve@example.com", role="owner")).status_code == 403
    await ada.get(f"{base}/people")
    await ada.send(path_of(ada, "/role"), role="owner")
    await bob.get(f"{base}/people")
    assert "Invite a colleague" in bob.text


async def test_an_organisation_keeps_an_owner(site: Any) -> None:
    ada = await site.sign_up()
    base = await organisation(ada)
    await ada.get(f"{base}/people")
    await ada.send(f"{base}/people/leave", confirmed="yes")
    assert "needs an owner" in ada.text
    bob = await joined(site, ada, base)
    await ada.get(f"{base}/people")
    await ada.send(path_of(ada, "/hand-over"), confirmed="yes")
    assert "You are a member now" in ada.text
    assert (await ada.post(f"{base}/people/invite", email="eve@example.com", role="owner")).status_code == 403
    await ada.send(f"{base}/people/leave", confirmed="yes")
    assert ada.path == "/"
    assert (await ada.get(base)).status_code == 404
    await bob.get(f"{base}/activity")
    for act in (
        "A colleague invited",
        "Bob (bob@example.com) joined",
        "Role of Ada (ada@example.com) changed",
        "Ada (ada@example.com) left",
    ):
        assert act in bob.text


async def test_the_colleague_whose_role_changes_is_notified(site: Any) -> None:
    ada = await site.sign_up()
    base = await organisation(ada)
    bob = await joined(site, ada, base)

    async def notices(to: str) -> list[str]:
        mails = [mail for mail in await site.mails(to) if mail["Subject"] == "A change to your Strongroom organisation"]
        return [mail.get_body(("plain",)).get_content().splitlines()[0] for mail in mails]

    for role in ("owner", "member"):
        await ada.get(f"{base}/people")
        await ada.send(path_of(ada, "/role"), role=role)
    await ada.send(path_of(ada, "/hand-over"), confirmed="yes")
    roles = ("an owner", "a member", "an owner")
    assert await notices(BOB) == [f"You are now {role} of the organisation “Acme”." for role in roles]
    assert await notices(ADA) == ["You handed over, and are now a member of the organisation “Acme”."]
    await bob.get(f"{base}/people")
    await bob.send(path_of(bob, "/remove"), confirmed="yes")
    assert (await notices(ADA))[1:] == ["You were removed from the organisation “Acme”."]


async def test_at_most_ten_changes_an_hour_are_notified(site: Any) -> None:
    ada = await site.sign_up()
    base = await organisation(ada)
    await joined(site, ada, base)
    before = len(await site.mails(BOB))
    for number in range(15):
        await ada.get(f"{base}/people")
        await ada.send(path_of(ada, "/role"), role="member" if number % 2 else "owner")
    assert "The role was changed" in ada.text
    assert len(await site.mails(BOB)) == before + 10


async def test_a_removed_member_loses_access_at_once(site: Any) -> None:
    ada = await site.sign_up()
    base = await organisation(ada)
    bob = await joined(site, ada, base)
    assert (await bob.get(base)).status_code == 200
    await ada.get(f"{base}/people")
    await ada.send(path_of(ada, "/remove"), confirmed="yes")
    assert (await bob.get(base)).status_code == 404


async def test_an_invitation_that_was_not_sent_is_not_announced(site: Any) -> None:
    ada = await site.sign_up()
    base = await organisation(ada)
    await ada.get(f"{base}/people")
    for _ in range(3):
        answer = await ada.send(f"{base}/people/invite", email=BOB, role="member")
        assert "on its way" in answer.text
    answer = await ada.send(f"{base}/people/invite", email=BOB, role="member")
    assert answer.status_code == 422
    assert "Try again later" in answer.text
    assert "on its way" not in answer.text
    assert len(await site.mails(BOB)) == 3


@pytest.mark.parametrize("act", ["/remove", "/hand-over", "/leave"])
async def test_irreversible_acts_ask_for_confirmation(site: Any, act: str) -> None:
    ada = await site.sign_up()
    base = await organisation(ada)
    bob = await joined(site, ada, base)
    await ada.get(f"{base}/people")
    path = f"{base}/people/leave" if act == "/leave" else path_of(ada, act)
    answer = await ada.send(path)
    assert answer.status_code == 200
    assert "?</h1>" in ada.text
    for browser in (ada, bob):
        assert (await browser.get(f"{base}/people")).status_code == 200
    assert ada.text.count('<span class="badge">owner') == 1
    await ada.send(path)
    await ada.send(path)  # the button of the page that asks
    said = "needs an owner" if act == "/leave" else "was handed over" if act == "/hand-over" else "was removed"
    assert said in ada.text
