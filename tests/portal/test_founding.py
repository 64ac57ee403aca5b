"""An organisation whose making was interrupted locks nobody's account, and nothing of it stays."""

from typing import TYPE_CHECKING

import pytest

from strongroom.backup.verifying import verify_databases
from strongroom.portal import reminders
from strongroom.runtime.clock import HOUR, MINUTE, SECOND
from strongroom.storage import Unavailable

if TYPE_CHECKING:
    from tests.portal.conftest import Browser, Site

pytestmark = pytest.mark.anyio

PASSWORD = "plain words for a portal"


async def interrupted(site: "Site", browser: "Browser", monkeypatch: pytest.MonkeyPatch) -> None:
    """Try to make an organisation while the second of the two databases cannot be reached."""

    async def gone(work: object) -> None:
        raise Unavailable

    await browser.get("/organisations/new")
    with monkeypatch.context() as patch:
        patch.setattr(site.portal.access, "write", gone)
        assert (await browser.send("/organisations/new", name="Acme")).status_code == 503


async def places(site: "Site") -> int:
    return len(await site.portal.store.read(lambda tx: tx.all("SELECT 1 FROM memberships")))


async def test_what_was_never_made_is_forgotten_after_an_hour(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    browser = await site.sign_up()
    await browser.get("/organisations/new")
    await browser.send("/organisations/new", name="Globex")
    await interrupted(site, browser, monkeypatch)
    settings = site.portal.settings
    assert await verify_databases(settings, lambda *_: None) != []
    site.clock.move((HOUR - MINUTE) // SECOND)
    await reminders.send(site.portal)
    assert await places(site) == 2  # somebody may still be about to make it
    site.clock.move(2 * MINUTE // SECOND)
    await reminders.send(site.portal)
    assert await places(site) == 1
    assert await verify_databases(settings, lambda *_: None) == []


async def test_what_was_never_made_keeps_nobody_from_deleting_an_account(
    site: "Site", monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = await site.sign_up()
    await interrupted(site, browser, monkeypatch)
    await browser.get("/account/delete")
    assert "only owner" in browser.text  # of one that may still be about to be made
    site.clock.move(2 * MINUTE // SECOND)
    await browser.get("/account/delete")
    await browser.send("/account/delete", password=PASSWORD)
    assert "Your account was deleted" in browser.text
    assert await places(site) == 0
