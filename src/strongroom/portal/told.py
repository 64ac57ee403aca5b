"""What the owners of an organisation were told by mail, each thing once, whichever process is the first to see it."""

from collections.abc import Callable
from typing import TypeAlias

from strongroom.portal import organisations
from strongroom.portal.area import Portal
from strongroom.portal.mail import Message
from strongroom.server.clock import DAY
from strongroom.server.db import Transaction

ToOwner: TypeAlias = Callable[[str], Message]
"""The message to one address."""

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


async def owners(portal: Portal, provider_id: bytes, subject_id: bytes, what: str, mark: int, message: ToOwner) -> bool:
    """Write to the owners unless this was done before; `mark` tells one occasion from the next, such as its time."""
    known = await portal.store.read(lambda tx: tx.one(KNOWN, subject_id=subject_id, what=what, mark=mark))
    if known is not None:
        return False
    now = portal.clock.now()

    async def work(tx: Transaction) -> bool:
        if not await tx.run(NOTE, subject_id=subject_id, what=what, mark=mark, now=now):
            return False
        for member in await organisations.members_of(tx, provider_id):
            if member.role == "owner":
                await portal.mail.put(tx, message(member.email), now)
        return True

    return await portal.store.write(work)


async def prune(tx: Transaction, now: int, limit: int) -> int:
    return await tx.run(PRUNE, before=now - KEPT, limit=limit)
