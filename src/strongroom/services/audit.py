"""Audit: who did what to whose keys and roles, written in the transaction of the act itself.

An area that audits has a table `audit_events` among its migrations, of the shape that `RECORD` fills.
"""

from dataclasses import dataclass
from enum import StrEnum, auto

from strongroom.runtime.ids import new_row_id
from strongroom.storage import Transaction

RECORD = """
INSERT INTO audit_events (subject_id, id, at, actor_id, action, object_id, detail)
VALUES (:subject_id, :id, :now, :actor_id, :action, :object_id, :detail)
"""
LIST = """
SELECT id, at, actor_id, action, object_id, detail FROM audit_events
WHERE subject_id = :subject_id AND id < :before ORDER BY id DESC LIMIT :limit
"""
NEWEST = """
SELECT id, at, actor_id, action, object_id, detail FROM audit_events
WHERE subject_id = :subject_id AND object_id = :object_id AND action = :action ORDER BY id DESC LIMIT 1
"""
MAX_DETAIL = 200
_LAST = b"\xff" * 16


class Action(StrEnum):
    """Every act in the audit. The names are stored: none is ever changed, or used again for another act."""

    organisation_created = auto()
    organisation_renamed = auto()
    organisation_closed = auto()
    members_let_go = auto()
    login_policy_set = auto()
    subscription_created = auto()
    subscription_approved = auto()
    subscription_rejected = auto()
    subscription_activated = auto()
    subscription_renamed = auto()
    subscription_suspended = auto()
    subscription_resumed = auto()
    subscription_cancelled = auto()
    expiry_changed = auto()
    key_regenerated = auto()
    key_expiry_changed = auto()
    key_ended = auto()
    api_key_created = auto()
    api_key_revoked = auto()
    member_invited = auto()
    invitation_withdrawn = auto()
    member_joined = auto()
    role_changed = auto()
    member_left = auto()
    member_removed = auto()
    user_suspend_asked = auto()
    user_suspended = auto()
    user_suspend_not_possible = auto()
    user_resume_asked = auto()
    user_resumed = auto()
    user_resume_not_possible = auto()
    signed_up = auto()
    password_changed = auto()
    email_changed = auto()
    account_deleted = auto()
    totp_on = auto()
    totp_off = auto()
    passkey_added = auto()
    passkey_removed = auto()
    recovery_codes_made = auto()
    recovery_code_used = auto()


@dataclass(frozen=True, slots=True)
class AuditEvent:
    id: bytes
    at: int
    actor_id: bytes | None
    """The developer who acted; None for the operator's command line and for the service itself."""
    action: str
    """An `Action`, of this version or an earlier one."""
    object_id: bytes | None
    detail: str


async def record(
    tx: Transaction,
    subject_id: bytes,
    action: Action,
    now: int,
    *,
    actor_id: bytes | None = None,
    object_id: bytes | None = None,
    detail: str = "",
) -> None:
    """Record an act in the act's own transaction: an act that cannot be recorded does not happen.

    `subject_id` is the provider or developer it belongs to; `detail` a few plain words, cut at 200 characters. Never a
    secret, and never a user's name.
    """
    await tx.execute(
        RECORD,
        subject_id=subject_id,
        id=new_row_id(now),
        now=now,
        actor_id=actor_id,
        action=str(action),  # a plain one, for every driver
        object_id=object_id,
        detail=detail[:MAX_DETAIL],
    )


async def list_of(tx: Transaction, subject_id: bytes, limit: int, before: bytes | None = None) -> list[AuditEvent]:
    """The newest events of one subject; `before` is the id of the last one that was seen."""
    rows = await tx.all(LIST, subject_id=subject_id, before=before or _LAST, limit=limit)
    return [AuditEvent(*row) for row in rows]


async def newest(tx: Transaction, subject_id: bytes, object_id: bytes, action: Action) -> AuditEvent | None:
    """The last time this was done to the object, however long ago; None where it never was."""
    row = await tx.one(NEWEST, subject_id=subject_id, object_id=object_id, action=str(action))
    return None if row is None else AuditEvent(*row)
