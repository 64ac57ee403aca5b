"""What the owners of an organisation were told by mail, each thing once, whichever process is the first to see it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from strongroom.portal.area import Portal
from strongroom.portal.membership import organisations
from strongroom.portal.messaging.mail import Message
from strongroom.runtime.clock import DAY
from strongroom.storage import Transaction, Value

ToOwner: TypeAlias = Callable[[str], Message]
"""The message to one address."""
Several: TypeAlias = Callable[[str, bytes, list["News"]], Message]
"""One message to one address with several news about one provider."""

# The row decides: of two processes that look at the same time one sends the mail.
NOTE = """
INSERT INTO told (subject_id, what, mark, told_at) VALUES (:subject_id, :what, :mark, :now)
ON CONFLICT (subject_id, what, mark) DO NOTHING
"""
KNOWN = "SELECT 1 FROM told WHERE subject_id = :subject_id AND what = :what AND mark = :mark"
PRUNE = """
DELETE FROM told WHERE (subject_id, what, mark) IN (
    SELECT subject_id, what, mark FROM told WHERE told_at < :before LIMIT :limit
)
"""
KEPT = 100 * DAY
"""Longer than anything can be due again: two weeks before an end, a month of a quota."""


@dataclass(frozen=True, slots=True)
class News:
    """One thing that the owners of a provider are told once."""

    provider_id: bytes
    subject_id: bytes
    what: str
    mark: int
    """Tells one occasion from the next, such as its time."""
    line: str
    """A sentence, for where there is more than one thing to tell."""
    message: ToOwner
    """For where it is the only one."""


async def owners(portal: Portal, news: Iterable[News], several: Several) -> int:
    """Write to the owners what they were not told before; how many things it was.

    All that is new of one provider goes into one message: fifty subscriptions that end on one day, or somebody who
    moves the ends of keys about, are no reason to send anybody a hundred.
    """
    by_provider: dict[bytes, list[News]] = {}
    for one in news:
        by_provider.setdefault(one.provider_id, []).append(one)
    return sum([await _tell(portal, provider_id, some, several) for provider_id, some in by_provider.items()])


async def _tell(portal: Portal, provider_id: bytes, news: list[News], several: Several) -> int:
    now = portal.clock.now()

    async def unknown(tx: Transaction) -> list[News]:
        return [one for one in news if await tx.one(KNOWN, **_key(one)) is None]

    fresh = await portal.store.read_many(unknown)

    async def work(tx: Transaction) -> int:
        ours = [one for one in fresh if await tx.run(NOTE, **_key(one), now=now)]
        members = await organisations.members_of(tx, provider_id) if ours else []
        for email in (member.email for member in members if member.role == "owner"):
            message = ours[0].message(email) if len(ours) == 1 else several(email, provider_id, ours)
            await portal.mail.put(tx, message, now)
        return len(ours)

    return await portal.store.write(work) if fresh else 0


def _key(news: News) -> dict[str, Value]:
    return {"subject_id": news.subject_id, "what": news.what, "mark": news.mark}


async def prune(tx: Transaction, now: int, limit: int) -> int:
    return await tx.run(PRUNE, before=now - KEPT, limit=limit)
