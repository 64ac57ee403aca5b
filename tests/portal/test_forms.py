"""Forms: only ours, only from the browser they were shown to, only within limits."""

from typing import TYPE_CHECKING

import pytest

from strongroom.portal.web.forms import MAX_BODY

if TYPE_CHECKING:
    from tests.portal.conftest import Site

pytestmark = pytest.mark.anyio

EMAIL = "ada@example.com"
PASSWORD = "plain words for a portal"


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://localhost:9000"},
        {"origin": "http://evil.localhost:8000"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
async def test_a_form_of_another_site_does_nothing(site: "Site", headers: dict[str, str]) -> None:
    await site.sign_up()
    browser = site.browser()
    await browser.get("/sign-in")
    answer = await browser.send("/sign-in", headers, email=EMAIL, password=PASSWORD)
    assert answer.status_code == 403
    assert not browser.is_signed_in


@pytest.mark.parametrize(
    "headers", [{"origin": "http://localhost:8000", "sec-fetch-site": "same-origin"}, {"sec-fetch-site": "none"}]
)
async def test_a_form_of_ours_is_taken(site: "Site", headers: dict[str, str]) -> None:
    await site.sign_up()
    browser = site.browser()
    await browser.get("/sign-in")
    await browser.send("/sign-in", headers, email=EMAIL, password=PASSWORD)
    assert browser.is_signed_in


async def test_the_machine_may_be_called_by_another_of_its_names(site: "Site") -> None:
    await site.sign_up()
    browser = site.browser()
    browser.http.base_url = "http://127.0.0.1:8000"
    await browser.get("/sign-in")
    await browser.send("/sign-in", {"origin": "http://127.0.0.1:8000"}, email=EMAIL, password=PASSWORD)
    assert browser.is_signed_in


async def test_a_token_is_good_for_its_own_browser_alone(site: "Site") -> None:
    first, second = site.browser(), site.browser()
    await first.get("/sign-in")
    await second.get("/sign-in")
    answer = await first.http.post("/portal/sign-in", data={"csrf_token": "", "email": EMAIL, "password": PASSWORD})
    assert answer.status_code == 403
    second.http.cookies = first.http.cookies
    assert (await second.post("/sign-in", email=EMAIL, password=PASSWORD)).status_code == 403


async def test_without_a_cookie_no_form_is_ours(site: "Site") -> None:
    browser = site.browser()
    await browser.get("/sign-in")
    browser.http.cookies.clear()
    assert (await browser.post("/sign-in", email=EMAIL, password=PASSWORD)).status_code == 403


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (b"a=" + b"x" * MAX_BODY, "application/x-www-form-urlencoded"),
        (b"&".join(b"f%d=1" % number for number in range(100)), "application/x-www-form-urlencoded"),
        (b"email=1&email=2", "application/x-www-form-urlencoded"),
        (b"email=%00", "application/x-www-form-urlencoded"),
        (b"email=%ff", "application/x-www-form-urlencoded"),
        (b"\xff", "application/x-www-form-urlencoded"),
        (b"{}", "application/json"),
        (b"--x", "multipart/form-data; boundary=x"),
    ],
)
async def test_what_is_no_form_is_refused(site: "Site", content: bytes, media_type: str) -> None:
    browser = site.browser()
    await browser.get("/sign-in")
    answer = await browser.http.post("/portal/sign-in", content=content, headers={"content-type": media_type})
    assert answer.status_code == 403
    assert "Please try that again" in answer.text


@pytest.mark.parametrize(
    ("method", "path"), [("PUT", "/sign-in"), ("POST", "/"), ("GET", "/x"), ("GET", "/static/..%2fpage.py")]
)
async def test_other_methods_and_paths_find_nothing(site: "Site", method: str, path: str) -> None:
    answer = await site.browser().http.request(method, f"/portal{path}")
    assert answer.status_code in (404, 405)


async def test_head_is_answered_like_get(site: "Site") -> None:
    assert (await site.browser().http.head("/portal/sign-in")).status_code == 200
