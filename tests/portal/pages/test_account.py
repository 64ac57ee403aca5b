"""A developer's own account: name, address, sessions, password, deletion."""

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.portal.conftest import Site

pytestmark = pytest.mark.anyio

EMAIL = "ada@example.com"
NEW_EMAIL = "ada@new.example.com"
PASSWORD = "plain words for a portal"
NEW = "quite another password"


async def test_a_name_is_changed_and_escaped(site: "Site") -> None:
    browser = await site.sign_up()
    await browser.get("/account")
    await browser.send("/account/name", name="<b>Ada</b>")
    assert "&lt;b&gt;Ada&lt;/b&gt;" in browser.text
    assert "<b>Ada" not in browser.text


async def test_an_address_is_changed_by_the_link_that_goes_to_it(site: "Site") -> None:
    browser = await site.sign_up()
    await browser.get("/account")
    await browser.send("/account/email", email=NEW_EMAIL, password=PASSWORD)
    assert "We sent a link" in browser.text
    link = await site.link(NEW_EMAIL)
    assert (await site.sign_in()).is_signed_in
    await browser.get(link)
    await browser.send(link)
    assert "Your e-mail address was changed" in browser.text
    assert not (await site.sign_in()).is_signed_in
    assert (await site.sign_in(NEW_EMAIL)).is_signed_in
    assert (await site.mails(EMAIL))[-1]["Subject"] == "A change to your Strongroom account"


async def test_changing_the_address_asks_for_the_password(site: "Site") -> None:
    browser = await site.sign_up()
    await browser.get("/account")
    answer = await browser.send("/account/email", email=NEW_EMAIL, password="not the password")
    assert answer.status_code == 422
    assert await site.mails(NEW_EMAIL) == []


async def test_a_taken_address_is_neither_revealed_nor_taken_over(site: "Site") -> None:
    await site.sign_up(NEW_EMAIL)
    browser = await site.sign_up()
    await browser.get("/account")
    await browser.send("/account/email", email=NEW_EMAIL, password=PASSWORD)
    assert "We sent a link" in browser.text
    assert (await site.mails(NEW_EMAIL))[-1]["Subject"] == "This address has a Strongroom account"


async def test_an_address_that_was_taken_meanwhile_keeps_its_owner(site: "Site") -> None:
    browser = await site.sign_up()
    await browser.get("/account")
    await browser.send("/account/email", email=NEW_EMAIL, password=PASSWORD)
    link = await site.link(NEW_EMAIL)
    await site.sign_up(NEW_EMAIL, NEW)
    await browser.get(link)
    assert (await browser.send(link)).status_code == 404
    assert (await site.sign_in(NEW_EMAIL, NEW)).is_signed_in
    assert (await site.sign_in()).is_signed_in


async def test_a_new_password_ends_the_other_sessions(site: "Site") -> None:
    other = await site.sign_up()
    browser = await site.sign_in()
    await browser.get("/account/security")
    wrong = await browser.send("/account/password", password="not the password", new_password=NEW)
    assert wrong.status_code == 422
    await browser.send("/account/password", password=PASSWORD, new_password=NEW)
    assert "Your password was changed" in browser.text
    assert browser.is_signed_in
    assert (await other.get("/account")).url.path == "/portal/sign-in"
    assert (await site.sign_in(password=NEW)).is_signed_in


async def test_sessions_are_listed_and_ended(site: "Site") -> None:
    other = await site.sign_up()
    browser = await site.sign_in()
    await browser.get("/account/security")
    assert browser.text.count("this one") == 1
    found = re.search(r'name="session" value="([0-9a-f-]{36})"', browser.text)
    assert found
    stranger = await site.sign_up("eve@example.com")
    await stranger.get("/account/security")
    assert (await stranger.post("/account/sessions/end", session=found[1])).status_code == 404
    await browser.send("/account/sessions/end")
    assert "The session was ended" in browser.text
    assert (await other.get("/account")).url.path == "/portal/sign-in"


async def test_every_other_session_is_ended(site: "Site") -> None:
    others = [await site.sign_up(), await site.sign_in()]
    browser = await site.sign_in()
    await browser.get("/account/security")
    await browser.send("/account/sessions/end-others")
    assert browser.is_signed_in
    for other in others:
        assert (await other.get("/account")).url.path == "/portal/sign-in"


async def test_guessing_the_password_within_a_session_comes_to_an_end(site: "Site") -> None:
    browser = await site.sign_up()
    statuses = set()
    for _ in range(12):
        await browser.get("/account/delete")
        statuses.add((await browser.send("/account/delete", password="not the password")).status_code)
    assert statuses == {422, 429}
    assert (await site.sign_in()).is_signed_in


async def test_deletion_takes_the_password_and_leaves_nothing_to_sign_in_to(site: "Site") -> None:
    browser = await site.sign_up()
    await browser.get("/account/delete")
    await browser.send("/account/delete", password=PASSWORD)
    assert "Your account was deleted" in browser.text
    assert not (await site.sign_in()).is_signed_in
    assert await site.portal.store.read(lambda tx: tx.all("SELECT id FROM developer_sessions")) == []
    assert (await site.sign_up()).is_signed_in


async def test_the_only_owner_cannot_leave_an_organisation_behind(site: "Site") -> None:
    browser, elsewhere = await site.sign_up(), await site.sign_in()
    await browser.get("/account/delete")
    await elsewhere.get("/organisations/new")
    await elsewhere.send("/organisations/new", name="Acme")
    await browser.send("/account/delete", password=PASSWORD)
    assert "only owner" in browser.text
    assert re.search(r'Acme: <a href="/portal/organisations/[0-9a-f-]{36}/people">', browser.text)
    assert (await site.sign_in()).is_signed_in


async def test_a_refused_name_is_filled_in_again(site: "Site") -> None:
    browser = await site.sign_up()
    await browser.get("/account")
    answer = await browser.send("/account/name", name="x" * 81)
    assert answer.status_code == 422
    assert f'value="{"x" * 81}"' in answer.text
