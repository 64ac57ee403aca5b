"""New keys, kept for their page: for one session, one subject, one visit and five minutes."""

from typing import Any

import pytest

from strongroom.portal.subscriptions import shown_once
from strongroom.runtime.secret import ServerSecret

pytestmark = pytest.mark.anyio

NOW = 1_000_000
SESSION, SUBJECT = b"s" * 16, b"o" * 16
VALUES = {"primary": "the key itself"}


async def put(site: Any) -> bytes:
    row: bytes = await site.portal.store.write(
        lambda tx: shown_once.put(tx, site.portal.secret, SESSION, SUBJECT, VALUES, NOW)
    )
    return row


async def take(site: Any, row: bytes, **other: Any) -> Any:
    given = {"secret": site.portal.secret, "session_id": SESSION, "subject_id": SUBJECT, "now": NOW, **other}
    return await site.portal.store.write(lambda tx: shown_once.take(tx, row=row, **given))


async def test_values_are_shown_once(site: Any) -> None:
    row = await put(site)
    assert await take(site, row) == VALUES
    assert await take(site, row) is None


@pytest.mark.parametrize(
    "other",
    [{"session_id": b"x" * 16}, {"subject_id": b"x" * 16}, {"now": NOW + shown_once.LIFETIME}],
    ids=["another session", "another subject", "too late"],
)
async def test_values_are_shown_to_one_session_and_for_a_limited_time(site: Any, other: dict[str, Any]) -> None:
    row = await put(site)
    assert await take(site, row, **other) is None
    assert await take(site, row) == VALUES


async def test_the_database_alone_does_not_show_them(site: Any) -> None:
    row = await put(site)
    [stored] = await site.portal.store.read(lambda tx: tx.all("SELECT sealed_values FROM shown_once"))
    assert b"the key itself" not in stored[0]
    assert await take(site, row, secret=ServerSecret(b"?" * 32)) is None


async def test_values_that_were_not_shown_are_deleted(site: Any) -> None:
    await put(site)
    later = NOW + shown_once.LIFETIME
    assert await site.portal.store.write(lambda tx: shown_once.prune(tx, later - 1, 10)) == 0
    assert await site.portal.store.write(lambda tx: shown_once.prune(tx, later, 10)) == 1
