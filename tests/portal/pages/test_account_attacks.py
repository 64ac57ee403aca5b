"""Attacks on an account: by a stolen session, an old mailbox, a link that its owner is made to open, a name."""

from typing import TYPE_CHECKING, Any

import pytest

from strongroom.portal.accounts import developers
from strongroom.portal.web import signing_in
from strongroom.storage import Transaction

if TYPE_CHECKING:
    from tests.portal.conftest import Site

pytestmark = pytest.mark.anyio

EMAIL = "ada@example.com"
NEW_EMAIL = "ada@new.example.com"
OPERATOR = "operator@example.com"
EVE = "eve@example.com"
PASSWORD = "plain words for a portal"
NEW = "quite another password"


async def test_a_link_requested_by_another_account_does_not_move_the_address(site: "Site") -> None:
    eve = await site.sign_up(EVE, name="Eve")
    await eve.get("/account")
    await eve.send("/account/email", email=OPERATOR, password=PASSWORD)
    link = await site.link(OPERATOR)
    # The owner of the mailbox opens it, signed out and signed in with another account: it stays unused.
    stranger = site.browser()
    await stranger.get(link)
    assert stranger.path == "/sign-in"
    ada = await site.sign_up()
    await ada.get(link)
    assert "Another account asked for this link" in ada.text
    await ada.post(link)
    assert (await ada.get("/operator")).status_code == 404
    assert (await eve.get("/operator")).status_code == 404
    assert (await site.sign_in(EVE)).is_signed_in


async def test_the_old_mailbox_opens_nothing_once_the_address_has_changed(site: "Site", link_in: Any) -> None:
    browser = await site.sign_up()
    thief = site.browser()
    await thief.get("/reset")
    await thief.send("/reset", email=EMAIL)
    reset = await site.link()
    assert reset.startswith("/reset/")
    await browser.get("/account")
    await browser.send("/account/email", email=NEW_EMAIL, password=PASSWORD)
    link = await site.link(NEW_EMAIL)
    await browser.get(link)
    await browser.send(link)
    assert "Your e-mail address was changed" in browser.text
    assert (await thief.get(reset)).status_code == 404
    # The mail to the old address offers no reset, which would not find the account.
    notice = (await site.mails())[-1].get_body(("plain",))
    assert notice is not None
    assert "no password can be reset with it" in " ".join(notice.get_content().split())
    assert "http" not in notice.get_content()


async def test_a_reset_wins_over_requests_with_the_old_password(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    thief = await site.sign_up()
    await thief.get("/account/security")
    portal = site.portal
    hashed = await portal.passwords.hash(NEW)

    async def while_a_reset_happens(password: str) -> str:
        async def reset(tx: Transaction) -> None:
            developer = await developers.find(tx, EMAIL)
            assert developer is not None
            await developers.set_password(tx, developer.id, hashed, site.clock.now() + 1)
            await signing_in.after_new_password(tx, developer.id)

        await portal.store.write(reset)
        return hashed

    monkeypatch.setattr(portal.passwords, "hash", while_a_reset_happens)
    answer = await thief.send("/account/password", password=PASSWORD, new_password="the thief's own password")
    assert answer.status_code == 403
    assert (await thief.get("/account")).url.path == "/portal/sign-in"
    assert (await site.sign_in(password=NEW)).is_signed_in


async def test_the_owner_of_a_deleted_account_is_notified(site: "Site") -> None:
    browser = await site.sign_up()
    await browser.get("/account/delete")
    await browser.send("/account/delete", password=PASSWORD)
    assert (await site.mails())[-1]["Subject"] == "Your Strongroom account was deleted"


@pytest.mark.parametrize("name", ["\u202eadA", "Ada\u200b", "A\u00ad"])
async def test_a_name_cannot_hide_characters(site: "Site", name: str) -> None:
    stranger = site.browser()
    await stranger.get("/sign-up")
    assert (await stranger.send("/sign-up", email=EVE, name=name, password=PASSWORD)).status_code == 422
    browser = await site.sign_up()
    await browser.get("/account")
    assert (await browser.send("/account/name", name=name)).status_code == 422


async def test_an_address_has_one_spelling(site: "Site") -> None:
    await site.sign_up()
    stranger = site.browser()
    await stranger.get("/sign-up")
    answer = await stranger.send("/sign-up", email=f"{EMAIL}.", name="Eve", password=PASSWORD)
    assert answer.status_code == 422
