"""The outbox of development: shown to this machine alone, and never where mail is sent."""

from dataclasses import replace
from typing import TYPE_CHECKING

import httpx
import pytest

if TYPE_CHECKING:
    from tests.portal.conftest import Site

pytestmark = pytest.mark.anyio


async def test_the_newest_message_and_its_link_are_shown(site: "Site") -> None:
    await site.sign_up("eve@example.com")
    browser = site.browser()
    await browser.get("/reset")
    await browser.send("/reset", email="eve@example.com")
    link = await site.link("eve@example.com")
    page = (await browser.get("/outbox")).text
    assert page.index("Reset your Strongroom password") < page.index("Confirm your Strongroom account")
    assert f'href="http://localhost:8000/portal{link}"' in page


async def test_other_machines_see_nothing(site: "Site") -> None:
    transport = httpx.ASGITransport(site.application, client=("192.0.2.7", 4000))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost:8000") as http:
        assert (await http.get("/portal/outbox")).status_code == 404


@pytest.mark.parametrize("changed", [{"smtp_url": "smtps://mail.example"}, {"host": "0.0.0.0"}])
async def test_nothing_is_shown_where_other_machines_have_access(site: "Site", changed: dict[str, str]) -> None:
    object.__setattr__(site.portal, "settings", replace(site.portal.settings, **changed))  # type: ignore[arg-type]  # texts
    assert (await site.browser().get("/outbox")).status_code == 404


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.example:8000", 404),
        ("localhost.evil.example", 404),
        ("[", 404),
        ("", 404),
        ("127.0.0.1:8000", 200),
        ("[::1]:8000", 200),
        ("localhost", 200),
    ],
)
async def test_dns_rebinding_does_not_read_the_outbox(site: "Site", host: str, status: int) -> None:
    answer = await site.browser().http.get("/portal/outbox", headers={"Host": host})
    assert answer.status_code == status
