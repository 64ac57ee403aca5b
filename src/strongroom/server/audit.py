"""Audit: who did what to whose keys and roles, written in the transaction of the act itself.

An area that audits has a table `audit_events` among its migrations, of the shape that `RECORD` fills.
"""

from dataclasses import dataclass

from strongroom.server.db import Transaction
from strongroom.server.ids import new_row_id

RECORD = """
INSERT INTO audit_events (subject_id, id, at, actor_id, action, object_id, detail)
VALUES (:subject_id, :id, :now, :actor_id, :action, :object_id, :detail)
"""
LIST = """
SELECT id, at, actor_id, action, object_id, detail FROM audit_events
WHERE subject_id = :subject_id AND id < :before ORDER BY id DESC LIMIT :limit
"""
MAX_DETAIL = 200
_LAST = b"\xff" * 16


@dataclass(frozen=True, slots=True)
class AuditEvent:
    id: bytes
    at: int
    actor_id: bytes | None
    """The developer who acted; None for the operator's command line and for the service itself."""
    action: str
    object_id: bytes | None
    detail: str


async def record(
    tx: Transaction,
    subject_id: bytes,
    action: str,
    now: int,
    *,
    actor_id: bytes | None = None,
    object_id: bytes | None = None,
    detail: str = "",
) -> None:
    """Note an act in its own transaction: what cannot be noted does not happen.

    `subject_id` is the provider or developer it belongs to; `action` a word such as `password_changed`; `detail` a few
    plain words, cut at 200 characters. Never a secret, and never a user's name.
    """
    await tx.put(
        RECORD,
        subject_id=subject_id,
        id=new_row_id(now),
        now=now,
        actor_id=actor_id,
        action=action,
        object_id=object_id,
        detail=detail[:MAX_DETAIL],
    )


async def list_of(tx: Transaction, subject_id: bytes, limit: int, before: bytes | None = None) -> list[AuditEvent]:
    """The newest events of one subject; `before` is the id of the last one that was seen."""
    rows = await tx.all(LIST, subject_id=subject_id, before=before or _LAST, limit=limit)
    return [AuditEvent(*row) for row in rows]
