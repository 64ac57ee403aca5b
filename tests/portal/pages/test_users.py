"""The page of users: metadata only, and owners suspend."""

from typing import Any

import pytest

from strongroom.server.ids import to_text
from strongroom.server.user_metadata import Totals, UserMetadata

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
    await browser.send(f"{base}/users/keystore/{user}/suspend")
    assert "The user was suspended" in browser.text
    [(provider_id, user_id)] = directory.suspended
    assert {provider_id} == directory.asked
    assert user_id == USER.id
    await browser.post(f"{base}/users/keystore/{user}/resume")
    assert (await browser.post(f"{base}/users/vault/{user}/suspend")).status_code == 404
    assert (await browser.post(f"{base}/users/keystore/{user}/delete")).status_code == 404
    await browser.get(f"{base}/activity")
    assert f"User {user} suspended" in browser.text
    assert " resumed" not in browser.text


async def test_a_portal_that_runs_apart_says_so(site: Any) -> None:
    browser = await site.sign_up()
    await browser.get("/organisations/new")
    await browser.send("/organisations/new", name="Acme")
    await browser.get(f"{browser.path}/users")
    assert "runs apart" in browser.text
