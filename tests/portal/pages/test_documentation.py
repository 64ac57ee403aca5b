"""The documentation in process: every page of it, and what Try it may speak to."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from strongroom.app import Application
from strongroom.portal.documentation.reference import reference
from strongroom.portal.pages.static import MODULES
from strongroom.runtime.settings import load
from strongroom.wire.refusal import Refusal

pytestmark = pytest.mark.anyio


async def test_every_endpoint_and_every_code_has_a_page(site: Any) -> None:
    browser = site.browser()
    for operation in reference(site.portal.api_url).operations:
        answer = await browser.get(f"/docs/api/{operation.slug}")
        assert answer.status_code == 200
        assert operation.path in answer.text
    for refusal in Refusal:
        answer = await browser.get(f"/docs/errors/{refusal.code}")
        assert answer.status_code == 200
        assert f"{site.portal.api_url}/refusals/{refusal.code}" in answer.text


@pytest.mark.parametrize("path", ["/docs/api/nothing", "/docs/errors/nothing", "/static/strongroom/nothing.js"])
async def test_what_is_not_there_is_absent(site: Any, path: str) -> None:
    assert (await site.browser().get(path)).status_code == 404


async def test_words_in_backticks_are_shown_as_code(site: Any) -> None:
    answer = await site.browser().get("/docs/api")
    assert "`" not in answer.text
    assert "<code>passphrase</code>" in answer.text


async def test_the_module_is_cached_and_revalidated(site: Any) -> None:
    browser = site.browser()
    for file in MODULES.iterdir():
        answer = await browser.get(f"/static/strongroom/{file.name}")
        assert answer.content == file.read_bytes()
        assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
        held = {"If-None-Match": answer.headers["etag"]}
        again = await browser.http.get(f"/portal/static/strongroom/{file.name}", headers=held)
        assert (again.status_code, again.content) == (304, b"")


async def test_only_try_it_may_speak_to_a_service_elsewhere(tmp_path: Path) -> None:
    given = {"data": str(tmp_path), "areas": "portal", "api_url": "https://vault.example:8443", "access_log": "off"}
    application = Application(load({}, given))
    await application.start(warm=False)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url="http://127.0.0.1:8000") as http:
        policies = {
            path: (await http.get(f"/portal{path}")).headers["content-security-policy"]
            for path in ("/try", "/inspect", "/docs", "/sign-in")
        }
    await application.close()
    assert "connect-src 'self' https://vault.example:8443;" in policies.pop("/try")
    assert all("connect-src 'self';" in policy for policy in policies.values())
    assert all("unsafe" not in policy for policy in policies.values())
