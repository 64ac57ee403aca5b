"""Requests that no browser sends: the frame answers them like all others, and never with a 500."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from tests.portal.furnished import token_of

from strongroom.portal.web.security_headers import HEADERS

if TYPE_CHECKING:
    from tests.portal.conftest import Browser, Site

pytestmark = pytest.mark.anyio

BOB = "bob@example.com"
FORM = (b"content-type", b"application/x-www-form-urlencoded")


async def call(
    site: "Site", method: str = "GET", *headers: tuple[bytes, bytes], query: bytes = b"", breaks_off: bool = False
) -> tuple[int, dict[str, str]]:
    """Status and headers of the answer to one raw request for the sign-in page."""
    sent: list[Any] = []
    messages = [{"type": "http.request", "body": b"", "more_body": breaks_off}]

    async def receive() -> Any:
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": "/portal/sign-in",
        "raw_path": b"/portal/sign-in",
        "root_path": "",
        "scheme": "http",
        "query_string": query,
        "headers": [(b"host", b"localhost:8000"), *headers],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 8000),
    }
    await site.application(scope, receive, send)
    return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}


@pytest.mark.parametrize("query", [b"next=\xff", b"\xff", b"next=%ff", b"next=%00", b"=&;&=%", b"a" * 9000])
async def test_any_query_is_answered(site: "Site", query: bytes) -> None:
    assert (await call(site, query=query))[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        [(b"host", b"[")],
        [(b"host", b"\xff")],
        [(b"cookie", b"strongroom_session=\xff; ;;=; strongroom_form=" + b"a" * 9000)],
        [(b"cookie", b'strongroom_notice="\\000<script>"')],
        [(b"user-agent", b"\xff\x01")],
    ],
)
async def test_any_headers_are_answered(site: "Site", headers: list[tuple[bytes, bytes]]) -> None:
    assert (await call(site, "GET", *headers))[0] == 200


@pytest.mark.parametrize(
    "origin", [b"http://[", b"http://a]b", b"null", b"", b"http://\xff", b"https://localhost:8000"]
)
async def test_an_origin_that_is_none_of_ours_is_refused(site: "Site", origin: bytes) -> None:
    assert (await call(site, "POST", FORM, (b"origin", origin)))[0] == 403


async def test_a_form_that_breaks_off_is_no_form(site: "Site") -> None:
    assert (await call(site, "POST", FORM, breaks_off=True))[0] == 403


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "ODD"])
async def test_no_other_method_reaches_a_page_and_every_answer_has_the_headers(site: "Site", method: str) -> None:
    status, headers = await call(site, method, (b"x-http-method-override", b"GET"))
    assert status == 404
    assert {name.lower() for name in HEADERS} <= headers.keys()


@pytest.mark.parametrize(
    ("path", "page"),
    [
        ("/account/name", "/account"),
        ("/organisations/x/people/invite", "/organisations/x/people"),
        ("/organisations/x/users/keystore/y/suspend", "/organisations/x/users"),
        ("/sign-out", ""),
    ],
)
async def test_the_address_of_a_form_leads_to_its_page_when_it_is_asked_for_again(
    site: "Site", path: str, page: str
) -> None:
    browser = site.browser()
    browser.http.follow_redirects = False
    answer = await browser.get(path)
    assert answer.status_code == 303
    assert answer.headers["location"] == f"/portal{page}"


class Slow:
    """A form whose end is held back until `go`."""

    def __init__(self, browser: "Browser", path: str, **fields: str) -> None:
        self._body = urlencode({"csrf_token": token_of(browser), **fields}).encode()
        self.begun, self.go = asyncio.Event(), asyncio.Event()
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        self.answer = asyncio.create_task(browser.http.post(f"/portal{path}", content=self._parts(), headers=headers))

    async def _parts(self) -> AsyncIterator[bytes]:
        yield self._body[:9]
        self.begun.set()
        await self.go.wait()
        yield self._body[9:]


async def test_a_form_that_arrives_after_the_removal_has_no_effect(site: "Site") -> None:
    ada, bob = await site.sign_up(), await site.sign_up(BOB)
    await ada.get("/organisations/new")
    await ada.send("/organisations/new", name="Acme")
    people = f"{ada.path}/people"
    await ada.get(people)
    await ada.send(f"{people}/invite", email=BOB, role="owner")
    link = await site.link(BOB, "/invitations/")
    await bob.get(link)
    await bob.send(link)
    slow = Slow(bob, f"{people}/invite", email="eve@example.com", role="owner")
    await slow.begun.wait()
    await ada.get(people)
    ids = set(re.findall(f"{people}/([0-9a-f-]{{36}})/remove", ada.text))
    assert len(ids) == 1
    await ada.post(f"{people}/{ids.pop()}/remove")
    slow.go.set()
    assert (await slow.answer).status_code == 404
    await ada.get(people)
    assert "eve@example.com" not in ada.text


async def test_a_session_that_is_ended_while_a_form_arrives_does_nothing_with_it(site: "Site") -> None:
    stolen, ada = await site.sign_up(), await site.sign_in()
    await stolen.get("/account")
    slow = Slow(stolen, "/account/name", name="Mallory")
    await slow.begun.wait()
    await ada.get("/account/security")
    await ada.send("/account/sessions/end-others")
    slow.go.set()
    assert (await slow.answer).url.path == "/portal/sign-in"
    await ada.get("/account")
    assert "Mallory" not in ada.text
