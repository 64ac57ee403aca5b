"""Every page and action of the table, called by everybody who must not: nobody gets further than the door."""

import re
from typing import TYPE_CHECKING

import httpx
import pytest

from strongroom.portal import developers, organisations
from strongroom.portal.area import PREFIX
from strongroom.portal.page import Needs, Page
from strongroom.portal.pages import ALL
from strongroom.server.db import Transaction
from strongroom.server.ids import new_row_id, to_text

if TYPE_CHECKING:
    from tests.portal.conftest import Browser, Site

pytestmark = pytest.mark.anyio

OWNER = "owner@example.com"
MEMBER = "member@example.com"
STRANGER = "stranger@example.com"
ABOVE_SIGNED_IN = (Needs.member, Needs.owner, Needs.operator)


def address(page: Page, provider_id: bytes) -> str:
    """The page of one organisation; whatever else stands in the path names nothing."""
    path = page.path.replace("{organisation}", to_text(provider_id))
    return re.sub(r"\{[a-z_]+\}", to_text(new_row_id(0)), path)


async def call(browser: "Browser", page: Page, provider_id: bytes) -> httpx.Response:
    """With a form that is ours in every respect: only the caller is the wrong one."""
    browser.http.follow_redirects = False
    if page.method == "GET":
        return await browser.http.get(PREFIX + address(page, provider_id))
    return await browser.post(address(page, provider_id))


async def organisation(site: "Site") -> bytes:
    """An organisation with an owner and a member."""
    provider_id = new_row_id(site.clock.now())

    async def found(tx: Transaction) -> None:
        for email, role in ((OWNER, "owner"), (MEMBER, "member")):
            developer = await developers.find(tx, email)
            assert developer is not None
            await organisations.add(tx, provider_id, developer.id, role, site.clock.now())  # type: ignore[arg-type]  # of a loop

    await site.portal.store.write(found)
    return provider_id


def pages(*needs: Needs) -> list[Page]:
    return [page for page in ALL if page.needs in needs]


async def test_without_a_session_every_page_leads_to_the_sign_in(site: "Site") -> None:
    for page in ALL:
        if page.needs is Needs.anybody:
            continue
        browser = site.browser()
        await browser.get("/sign-in")
        answer = await call(browser, page, b"x" * 16)
        assert answer.status_code == 303, page.path
        assert answer.headers["location"].startswith("/portal/sign-in"), page.path


async def test_with_half_a_session_every_page_leads_to_the_second_step(site: "Site") -> None:
    await site.sign_up(OWNER)

    async def half(tx: Transaction) -> None:
        await tx.run("UPDATE sessions SET stage = 'password'")

    browser = await site.sign_in(OWNER)
    await site.portal.store.write(half)
    for page in ALL:
        if page.needs not in (Needs.anybody, Needs.half_signed_in):
            answer = await call(browser, page, b"x" * 16)
            assert answer.headers.get("location") == "/portal/sign-in/second-factor", page.path


async def test_a_developer_of_another_organisation_finds_nothing(site: "Site") -> None:
    for email in (OWNER, MEMBER):
        await site.sign_up(email)
    provider_id = await organisation(site)
    stranger = await site.sign_up(STRANGER)
    for page in pages(*ABOVE_SIGNED_IN):
        theirs = await call(stranger, page, provider_id)
        nobodys = await call(stranger, page, new_row_id(0))
        assert (theirs.status_code, nobodys.status_code) == (404, 404), page.path


async def test_a_member_may_not_do_what_is_up_to_owners_and_operators(site: "Site") -> None:
    await site.sign_up(OWNER)
    member = await site.sign_up(MEMBER)
    provider_id = await organisation(site)
    for page in pages(Needs.owner):
        assert (await call(member, page, provider_id)).status_code == 403, page.path
    for page in pages(Needs.operator):
        assert (await call(member, page, provider_id)).status_code == 404, page.path


async def test_an_owner_is_no_operator(site: "Site") -> None:
    owner = await site.sign_up(OWNER)
    await site.sign_up(MEMBER)
    provider_id = await organisation(site)
    for page in pages(Needs.operator):
        assert (await call(owner, page, provider_id)).status_code == 404, page.path


async def test_no_action_is_taken_without_the_token_of_its_form(site: "Site") -> None:
    owner = await site.sign_up(OWNER)
    await site.sign_up(MEMBER)
    provider_id = await organisation(site)
    for page in ALL:
        if page.method == "POST" and page.needs not in (Needs.half_signed_in, Needs.operator):
            answer = await owner.http.post(PREFIX + address(page, provider_id), data={"csrf_token": "x"})
            assert answer.status_code == 403, page.path


def test_the_table_says_why_anybody_may_act() -> None:
    assert [p.path for p in ALL if p.method == "POST" and p.needs is Needs.anybody and len(p.because) < 15] == []


def test_what_belongs_to_an_organisation_names_it() -> None:
    assert [p.path for p in pages(Needs.member, Needs.owner) if "{organisation}" not in p.path] == []
    assert [p.path for p in ALL if "{organisation}" in p.path and p.needs not in (Needs.member, Needs.owner)] == []


async def test_every_answer_carries_the_strict_headers(site: "Site") -> None:
    browser = await site.sign_up(OWNER)
    for page in ALL:
        if page.method == "GET":
            answer = await call(browser, page, b"x" * 16)
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy, page.path
            assert "unsafe" not in policy.replace("'wasm-unsafe-eval'", ""), page.path
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=", answer.text), page.path
