"""Notifications to the owners of an organisation by mail: each is sent once, by whichever process is first."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from strongroom.access import key_ends
from strongroom.portal.area import Portal
from strongroom.portal.membership import organisations
from strongroom.portal.messaging.mail import Message
from strongroom.runtime.clock import DAY
from strongroom.storage import Transaction, Value

ToOwner: TypeAlias = Callable[[str], Message]
"""The message to one address."""
Several: TypeAlias = Callable[[str, bytes, list["Notification"]], Message]
"""One message to one address with several notifications about one provider."""

# The row decides: of two processes that look at the same time one sends the mail.
NOTE = """
INSERT INTO notifications_sent (subject_id, kind, occasion, sent_at) VALUES (:subject_id, :kind, :occasion, :now)
ON CONFLICT (subject_id, kind, occasion) DO NOTHING
"""
KNOWN = "SELECT 1 FROM notifications_sent WHERE subject_id = :subject_id AND kind = :kind AND occasion = :occasion"
PRUNE = """
DELETE FROM notifications_sent WHERE (subject_id, kind, occasion) IN (
    SELECT subject_id, kind, occasion FROM notifications_sent WHERE sent_at < :before LIMIT :limit
)
"""
KEPT = 100 * DAY
"""Longer than any notification can become due again: two weeks before an end, a month of a quota."""
OLD_KEY = "old"
"""The kind that is recorded with the key itself: a key becomes old once, and much later than after `KEPT`."""


@dataclass(frozen=True, slots=True)
class Notification:
    """One notification to the owners of a provider."""

    provider_id: bytes
    subject_id: bytes
    kind: str
    occasion: int
    """Distinguishes one occasion from the next, such as its time."""
    line: str
    """A sentence, for a message with several notifications."""
    message: ToOwner
    """The message, if this is the only notification."""


async def send(portal: Portal, notifications: Iterable[Notification], several: Several) -> int:
    """Queue mail to the owners for every notification that was not sent before; how many there were.

    All notifications of one provider go into one message: fifty subscriptions that end on one day, or a colleague who
    changes the end dates of keys repeatedly, must not cause a hundred messages.
    """
    by_provider: dict[bytes, list[Notification]] = {}
    for one in notifications:
        by_provider.setdefault(one.provider_id, []).append(one)
    return sum([await _send(portal, provider_id, some, several) for provider_id, some in by_provider.items()])


async def _send(portal: Portal, provider_id: bytes, some: list[Notification], several: Several) -> int:
    now = portal.clock.now()

    async def unknown(tx: Transaction) -> list[Notification]:
        return [one for one in some if await tx.one(KNOWN, **_key(one)) is None]

    fresh = await portal.store.read_many(unknown)

    async def work(tx: Transaction) -> int:
        ours = [one for one in fresh if await _note(tx, one, now)]
        members = await organisations.members_of(tx, provider_id) if ours else []
        for email in (member.email for member in members if member.role == "owner"):
            message = ours[0].message(email) if len(ours) == 1 else several(email, provider_id, ours)
            await portal.mail.enqueue(tx, message, now)
        return len(ours)

    return await portal.store.write(work) if fresh else 0


async def _note(tx: Transaction, one: Notification, now: int) -> bool:
    """False where another process was faster."""
    if one.kind == OLD_KEY:
        return await key_ends.reminded(tx, one.subject_id, now)
    return await tx.run(NOTE, **_key(one), now=now) == 1


def _key(one: Notification) -> dict[str, Value]:
    return {"subject_id": one.subject_id, "kind": one.kind, "occasion": one.occasion}


async def prune(tx: Transaction, now: int, limit: int) -> int:
    return await tx.run(PRUNE, before=now - KEPT, limit=limit)
