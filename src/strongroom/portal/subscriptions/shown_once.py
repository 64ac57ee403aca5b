"""New keys, kept for the one page that shows them after the action that made them."""

import msgspec

from strongroom.portal.sealing import Unreadable, seal, unseal
from strongroom.runtime.clock import MINUTE
from strongroom.runtime.ids import new_hidden_id
from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Transaction

LIFETIME = 5 * MINUTE

INSERT = """
INSERT INTO shown_once (id, session_id, subject_id, sealed_values, expires_at)
VALUES (:id, :session_id, :subject_id, :sealed_values, :expires_at)
"""
READ = """
SELECT sealed_values FROM shown_once
WHERE id = :id AND session_id = :session_id AND subject_id = :subject_id AND expires_at > :now
"""
IS_WAITING = """
SELECT 1 FROM shown_once
WHERE id = :id AND session_id = :session_id AND subject_id = :subject_id AND expires_at > :now
"""
REMOVE = "DELETE FROM shown_once WHERE id = :id AND session_id = :session_id AND subject_id = :subject_id"
PRUNE = "DELETE FROM shown_once WHERE id IN (SELECT id FROM shown_once WHERE expires_at <= :now LIMIT :limit)"


async def put(
    tx: Transaction, secret: ServerSecret, session_id: bytes, subject_id: bytes, values: dict[str, str], now: int
) -> bytes:
    """Keep `values` for one look by this session within five minutes; the id to ask with.

    Sealed, because the keys themselves are stored as hashes only: a copy of the database must not hold them either.
    """
    row = new_hidden_id()
    sealed = seal(secret, "shown-once", row, msgspec.json.encode(values))
    await tx.execute(
        INSERT,
        id=row,
        session_id=session_id,
        subject_id=subject_id,
        sealed_values=sealed,
        expires_at=now + LIFETIME,
    )
    return row


async def is_waiting(tx: Transaction, row: bytes, session_id: bytes, subject_id: bytes, now: int) -> bool:
    """Whether `take` would find values, without using up the one look."""
    return await tx.one(IS_WAITING, id=row, session_id=session_id, subject_id=subject_id, now=now) is not None


async def take(
    tx: Transaction, secret: ServerSecret, row: bytes, session_id: bytes, subject_id: bytes, now: int
) -> dict[str, str] | None:
    """The values, this once; None for another session, another subject, a second look, or too late."""
    found = await tx.one(READ, id=row, session_id=session_id, subject_id=subject_id, now=now)
    if found is None or not await tx.run(REMOVE, id=row, session_id=session_id, subject_id=subject_id):
        return None
    try:
        return msgspec.json.decode(unseal(secret, "shown-once", row, found[0]), type=dict[str, str])
    except Unreadable:
        return None


async def prune(tx: Transaction, now: int, limit: int) -> int:
    return await tx.run(PRUNE, now=now, limit=limit)
