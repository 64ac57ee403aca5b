"""The page of users: metadata only, and owners suspend."""

from typing import Any

import pytest

from strongroom.runtime.ids import to_text
from strongroom.services import audit
from strongroom.services.user_metadata import Totals, UserMetadata
from strongroom.storage import Unavailable

pytestmark = pytest.mark.anyio

USER = UserMetadata(b"u" * 16, 1_700_000_000_000, None, None)


class Directory:
    """One user, called ada, of the first provider that asks."""

    def __init__(self) -> None:
        self.suspended: list[tuple[bytes, bytes]] = []
        self.asked: set[bytes] = set()

    async def totals(self, provider_id: bytes) -> Totals:
        self.asked.add(provider_id)
        return Totals(7, 1, 12, 8, 3)

    async def some(self, provider_id: bytes, after: bytes, limit: int) -> list[UserMetadata]:
        return [] if after else [USER]

    async def find(self, provider_id: bytes, username: str) -> UserMetadata | None:
        return USER if username == "ada" else None

    async def read(self, provider_id: bytes, user_id: bytes) -> UserMetadata | None:
        return USER if user_id == USER.id else None

    async def suspend(self, provider_id: bytes, user_id: bytes) -> bool:
        self.suspended.append((provider_id, user_id))
        return True

    async def resume(self, provider_id: bytes, user_id: bytes) -> bool:
        return False


async def test_users_are_shown_found_and_suspended(site: Any) -> None:
    directory = site.portal.directories["keystore"] = Directory()
    browser = await site.sign_up()
    await browser.get("/organisations/new")
    await browser.send("/organisations/new", name="Acme")
    base = browser.path
    await browser.get(f"{base}/users")
    assert "7, 1 of them suspended" in browser.text
    assert "12 issued, 8 used, 3 expired" in browser.text
    await browser.send(f"{base}/users/find", username="ada")
    assert "The user of this name" in browser.text
    answer = await browser.send(f"{base}/users/find", username="bob")
    assert answer.status_code == 422
    user = to_text(USER.id)
    await browser.send(f"{base}/users/keystore/{user}/suspend", confirmed="yes")
    assert "The user was suspended" in browser.text
    [(provider_id, user_id)] = directory.suspended
    assert {provider_id} == directory.asked
    assert user_id == USER.id
    await browser.post(f"{base}/users/keystore/{user}/resume")
    assert (await browser.post(f"{base}/users/vault/{user}/suspend")).status_code == 404
    assert (await browser.post(f"{base}/users/keystore/{user}/delete")).status_code == 404
    await browser.get(f"{base}/activity")
    assert f"User {user} suspended" in browser.text
    assert f"User {user} not resumed: it was not possible" in browser.text
    assert " resumed" not in browser.text.replace("not resumed", "")


async def test_a_portal_that_runs_apart_says_so(site: Any) -> None:
    browser = await site.sign_up()
    await browser.get("/organisations/new")
    await browser.send("/organisations/new", name="Acme")
    await browser.get(f"{browser.path}/users")
    assert "runs in a process of its own" in browser.text


async def members_page(site: Any) -> tuple[Any, str]:
    browser = await site.sign_up()
    await browser.get("/organisations/new")
    await browser.send("/organisations/new", name="Acme")
    base = browser.path
    await browser.get(f"{base}/users")
    return browser, base


async def test_no_user_is_suspended_without_an_audit_entry(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = site.portal.directories["keystore"] = Directory()
    browser, base = await members_page(site)

    async def fail(*_: Any, **__: Any) -> None:
        raise Unavailable from OSError("the disk is full")

    monkeypatch.setattr(audit, "record", fail)
    answer = await browser.send(f"{base}/users/keystore/{to_text(USER.id)}/suspend", confirmed="yes")
    assert answer.status_code == 503
    assert directory.suspended == []


@pytest.mark.parametrize("failing", ["user_suspended", "the other database"])
async def test_a_request_is_recorded_even_if_a_later_step_fails(
    site: Any, failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = site.portal.directories["keystore"] = Directory()
    browser, base = await members_page(site)
    record = audit.record

    async def fail_at_the_outcome(tx: Any, subject: bytes, action: audit.Action, now: int, **rest: Any) -> None:
        if action == failing:
            raise Unavailable from OSError("the disk is full")
        await record(tx, subject, action, now, **rest)

    async def fail(provider_id: bytes, user_id: bytes) -> bool:
        raise Unavailable from OSError("the other disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(audit, "record", fail_at_the_outcome)
        if failing == "the other database":
            broken.setattr(directory, "suspend", fail)
        answer = await browser.send(f"{base}/users/keystore/{to_text(USER.id)}/suspend", confirmed="yes")
    assert answer.status_code == 503
    assert len(directory.suspended) == (failing == "user_suspended")
    await browser.get(f"{base}/activity")
    assert f"User {to_text(USER.id)}: suspension asked for" in browser.text
    assert f"User {to_text(USER.id)} suspended" not in browser.text


async def test_a_user_is_looked_for_by_the_name_as_it_was_typed(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = site.portal.directories["keystore"] = Directory()
    asked: list[str] = []

    async def find(provider_id: bytes, username: str) -> None:
        asked.append(username)

    monkeypatch.setattr(directory, "find", find)
    browser, base = await members_page(site)
    answer = await browser.send(f"{base}/users/find", username="ada  b ")
    assert asked == ["ada  b "]
    assert 'value="ada  b "' in answer.text
