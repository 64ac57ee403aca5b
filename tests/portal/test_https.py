"""A whole visit over TLS: what its cookies are bound to, and that every answer insists on TLS."""

from typing import TYPE_CHECKING

import httpx
import pytest

if TYPE_CHECKING:
    from tests.portal.conftest import Site

pytestmark = pytest.mark.anyio


async def test_every_cookie_of_a_visit_is_bound_to_the_host_and_to_tls(https_site: "Site") -> None:
    answers: list[httpx.Response] = []
    browser = https_site.browser()

    async def note(answer: httpx.Response) -> None:
        answers.append(answer)

    await https_site.sign_up()
    browser.http.event_hooks = {"response": [note]}
    await browser.get("/sign-in")
    await browser.send("/sign-in", email="ada@example.com", password="plain words for a portal")
    assert browser.is_signed_in
    await browser.get("/nothing-here")
    await browser.get("/account")
    await browser.send("/sign-out")
    cookies = [cookie for answer in answers for cookie in answer.headers.get_list("set-cookie")]
    assert {cookie.partition("=")[0] for cookie in cookies} >= {"__Host-strongroom_session", "__Host-strongroom_form"}
    for cookie in cookies:
        name, _, attributes = cookie.partition(";")
        given = {attribute.strip().lower() for attribute in attributes.split(";")}
        assert name.startswith("__Host-")
        assert {"secure", "httponly", "samesite=lax", "path=/"} <= given
        assert not any(attribute.startswith("domain") for attribute in given)
    assert {"max-age=63072000" in answer.headers.get("strict-transport-security", "") for answer in answers} == {True}


async def test_without_tls_nothing_is_promised_that_would_shut_the_browser_out(site: "Site") -> None:
    browser = site.browser()
    await browser.get("/sign-in")
    assert browser.seen is not None
    assert "strict-transport-security" not in browser.seen.headers
    assert "httponly" in browser.seen.headers["set-cookie"].lower()
    assert "samesite=lax" in browser.seen.headers["set-cookie"].lower()
