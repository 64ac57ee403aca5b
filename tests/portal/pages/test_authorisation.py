"""Every page and action of the table, called by every kind of caller: exactly the allowed ones are admitted."""

import re
from itertools import combinations
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.portal.furnished import OPERATOR, SECRET_NAME, UUID, Organisation, of, restore, rows
from tests.portal.world import ANONYMOUS, HALF, MEMBER, OWNER, REMOVED, STRANGER, World

from strongroom.portal.area import PREFIX
from strongroom.portal.pages import ALL
from strongroom.portal.web.page import Needs, Page
from strongroom.runtime.ids import new_row_id, to_text

if TYPE_CHECKING:
    from tests.portal.conftest import Site

pytestmark = pytest.mark.anyio

# What happens to each caller at a page that needs this much.
EXPECTED: dict[Needs, dict[str, str]] = {
    Needs.signed_in: {ANONYMOUS: "sign in", HALF: "second step", OWNER: "in"},
    Needs.member: {ANONYMOUS: "sign in", HALF: "second step", STRANGER: "absent", REMOVED: "absent", OPERATOR: "absent",
                   MEMBER: "in", OWNER: "in"},
    Needs.owner: {ANONYMOUS: "sign in", HALF: "second step", STRANGER: "absent", REMOVED: "absent", OPERATOR: "absent",
                  MEMBER: "role", OWNER: "in"},
    Needs.operator: {ANONYMOUS: "sign in", HALF: "second step", STRANGER: "absent", MEMBER: "absent", OWNER: "absent",
                     OPERATOR: "in"},
}  # fmt: skip
# The caller with the fewest permissions among those allowed: the act has to change something.
RIGHTFUL = {Needs.member: MEMBER, Needs.owner: OWNER, Needs.operator: OPERATOR}
# Looking a user up; closing what has keys in use.
CHANGE_NOTHING = {f"/organisations/{{organisation}}/{path}" for path in ("users/find", "settings/close")}
OBJECTS = {"subscription", "developer", "invitation", "key", "shown", "user", "passkey"}


def outcome(answer: httpx.Response) -> str:
    location = answer.headers.get("location", "").removeprefix(PREFIX)
    if location == "/sign-in/second-factor":
        return "second step"
    if location.partition("?")[0] == "/sign-in":
        return "sign in"
    return {404: "absent", 403: "role"}.get(answer.status_code, "in" if answer.status_code < 500 else "failed")


def paths(page: Page, made: Organisation) -> list[str]:
    """The page of one organisation, once for each thing it can do."""
    if page.needs is Needs.operator and "{act}" in page.path:
        waiting = [made.address(page, subscription=made.ids["waiting"], act=act) for act in ("approve", "reject")]
        return [*waiting, made.address(page)]
    if page.path.endswith("/activate"):
        return [made.address(page, subscription=made.ids["inactive"])]
    return [made.address(page)]


async def test_every_page_admits_exactly_the_allowed_callers(world: World) -> None:
    pages = [page for page in ALL if page.needs in EXPECTED and "{link}" not in page.path]
    wrong = []
    for page in pages:
        for path in paths(page, world.acme):
            for who, usual in EXPECTED[page.needs].items():
                expected = usual
                answer = await world.call(who, page, path)
                changed = await world.changed() if page.method == "POST" or "{shown}" in page.path else set()
                shown = SECRET_NAME in answer.text
                rightful = page.method == "POST" and RIGHTFUL.get(page.needs) == who and page.path not in CHANGE_NOTHING
                if page.needs is Needs.signed_in and "{invitation}" in page.path and who == OWNER:
                    expected = "absent"  # it is for whom it was sent to
                if (
                    outcome(answer) != expected
                    or (expected != "in" and (changed or shown))
                    or (rightful and (not changed or "nothing_changed" in answer.headers.get("set-cookie", "")))
                ):
                    wrong.append((page.method, path, who, answer.status_code, changed))
    assert wrong == []
    assert len(pages) > 50


async def test_objects_of_another_organisation_are_absent_under_ones_own(world: World) -> None:
    own, theirs = world.globex, world.acme
    before = {name: of(world.rows, found) for name, found in theirs.ids.items()}
    tried, wrong = 0, []
    for page in ALL:
        named = sorted(OBJECTS & set(re.findall(r"\{([a-z_]+)\}", page.path)))
        if page.needs not in (Needs.signed_in, Needs.member, Needs.owner):
            continue
        for foreign in (some for size in range(1, len(named) + 1) for some in combinations(named, size)):
            answers = []
            for ids in (theirs.ids, {name: to_text(new_row_id(0)) for name in named}):
                name = "shown_api_key" if "/api-keys/new/" in page.path else "shown"
                other = {key: ids.get(name if key == "shown" else key, ids.get(key, "")) for key in foreign}
                answer = await world.call(STRANGER, page, own.address(page, **other))
                location = re.sub(UUID, "-", answer.headers.get("location", ""))
                answers.append((answer.status_code, location, SECRET_NAME in answer.text))
                after = await rows(world.site)
                if any(of(after, theirs.ids[name]) != before[name] for name in before):
                    wrong.append((page.method, page.path, foreign, "changed"))
                await restore(world.site, world.rows)
            tried += 1
            if answers[0] != answers[1] or answers[0][0] not in (200, 303, 404):
                wrong.append((page.method, page.path, foreign, str(answers)))
    assert wrong == []
    assert tried > 15


async def test_an_organisation_in_the_operators_paths_has_to_be_that_of_the_subscription(world: World) -> None:
    for page in ALL:
        if page.needs is Needs.operator and "{subscription}" in page.path:
            path = world.acme.address(page, provider=world.globex.ids["provider"])
            answer = await world.call(OPERATOR, page, path)
            assert answer.status_code in (303, 404)
            assert await world.changed() == set()


async def test_sessions_of_another_account_cannot_be_ended(world: World) -> None:
    [page] = [page for page in ALL if page.path == "/account/sessions/end"]
    for who in (OWNER, MEMBER, OPERATOR, STRANGER):
        await world.call(STRANGER, page, page.path, session=world.callers[who].session)
        assert ("developer_sessions" in await world.changed()) == (who == STRANGER)


def test_the_table_says_why_anybody_may_act() -> None:
    assert [p.path for p in ALL if p.method == "POST" and p.needs is Needs.anybody and len(p.because) < 15] == []


def test_what_belongs_to_an_organisation_names_it() -> None:
    pages = {page.path for page in ALL if page.needs in (Needs.member, Needs.owner)}
    assert [path for path in pages if "{organisation}" not in path] == []
    assert [p.path for p in ALL if "{organisation}" in p.path and p.path not in pages] == []


async def test_every_answer_carries_the_strict_headers(site: "Site") -> None:
    browser = await site.sign_up()
    for page in ALL:
        if page.method == "GET":
            answer = await browser.http.get(PREFIX + re.sub(r"\{[a-z_]+\}", "x", page.path), follow_redirects=False)
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy, page.path
            assert "unsafe" not in policy.replace("'wasm-unsafe-eval'", ""), page.path
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=", answer.text), page.path
