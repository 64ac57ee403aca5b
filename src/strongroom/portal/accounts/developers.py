"""Developers: accounts with a confirmed e-mail address, looked up by its canonical form."""

from dataclasses import dataclass

from strongroom.runtime.ids import new_row_id
from strongroom.services import audit
from strongroom.services.audit import Action
from strongroom.storage import Transaction

TAKE_EMAIL = """
INSERT INTO developer_emails (email, developer_id) VALUES (:email, :developer_id) ON CONFLICT (email) DO NOTHING
"""
LEAVE_EMAIL = "DELETE FROM developer_emails WHERE developer_id = :developer_id AND email <> :email"
INSERT = """
INSERT INTO developers
    (id, email, name, password_hash, created_at, password_changed_at, totp_key, totp_since, totp_last_step)
VALUES (:id, :email, :name, :password_hash, :now, :now, NULL, NULL, 0)
"""
BY_EMAIL = """
SELECT developers.id, developers.email, developers.name, developers.password_hash, developers.created_at,
       developers.password_changed_at, developers.totp_key, developers.totp_since
FROM developer_emails JOIN developers ON developers.id = developer_emails.developer_id
WHERE developer_emails.email = :email
"""
READ = """
SELECT id, email, name, password_hash, created_at, password_changed_at, totp_key, totp_since
FROM developers WHERE id = :id
"""
# Locks the row: other requests that open sessions of this developer, or end them all, wait. Otherwise a session that is
# being opened with an old password could be overlooked.
LOCK = "UPDATE developers SET name = name WHERE id = :id"
RENAME = "UPDATE developers SET name = :name WHERE id = :id"
SET_PASSWORD = "UPDATE developers SET password_hash = :password_hash, password_changed_at = :now WHERE id = :id"  # noqa: S105  # SQL
REHASH = "UPDATE developers SET password_hash = :password_hash WHERE id = :id AND password_hash = :before"
SET_EMAIL = "UPDATE developers SET email = :email WHERE id = :id"
DELETIONS = (
    "DELETE FROM developer_emails WHERE developer_id = :id",
    "DELETE FROM developer_sessions WHERE developer_id = :id",
    "DELETE FROM passkeys WHERE developer_id = :id",
    "DELETE FROM recovery_codes WHERE developer_id = :id",
    "DELETE FROM developer_links WHERE developer_id = :id",
    "DELETE FROM memberships WHERE developer_id = :id",
    "DELETE FROM invitations WHERE invited_by = :id",
    "DELETE FROM developers WHERE id = :id",
)


@dataclass(frozen=True, slots=True)
class Developer:
    id: bytes
    email: str
    name: str
    password_hash: str
    created_at: int
    password_changed_at: int
    totp_key: bytes | None
    """Sealed."""
    totp_since: int | None

    def __repr__(self) -> str:
        return f"Developer({self.id.hex()})"


def display_name(name: str, email: str) -> str:
    """The developer as others see them. A name can be chosen freely, so the address always follows it."""
    return f"{name} ({email})" if name else email


async def create(tx: Transaction, email: str, name: str, password_hash: str, now: int) -> bytes | None:
    """A developer's id, or None where the canonical address has one already."""
    developer_id = new_row_id(now)
    if not await tx.run(TAKE_EMAIL, email=email, developer_id=developer_id):
        return None
    await tx.execute(INSERT, id=developer_id, email=email, name=name, password_hash=password_hash, now=now)
    await audit.record(tx, developer_id, Action.signed_up, now, actor_id=developer_id)
    return developer_id


async def find(tx: Transaction, email: str) -> Developer | None:
    """By canonical address."""
    row = await tx.one(BY_EMAIL, email=email)
    return None if row is None else Developer(*row)


async def read(tx: Transaction, developer_id: bytes) -> Developer | None:
    row = await tx.one(READ, id=developer_id)
    return None if row is None else Developer(*row)


async def lock(tx: Transaction, developer_id: bytes) -> bool:
    """Lock the developer's row until the end of the transaction; false where there is none.

    Passwords, second factors and memberships change under this lock: an account that is deleted at the same time would
    otherwise leave a membership behind. It is taken before the lock of any other row.
    """
    return await tx.run(LOCK, id=developer_id) == 1


async def rename(tx: Transaction, developer_id: bytes, name: str) -> None:
    await tx.execute(RENAME, id=developer_id, name=name)


async def set_password(tx: Transaction, developer_id: bytes, password_hash: str, now: int) -> None:
    """The caller ends the sessions that the old password opened."""
    await tx.execute(SET_PASSWORD, id=developer_id, password_hash=password_hash, now=now)
    await audit.record(tx, developer_id, Action.password_changed, now, actor_id=developer_id)


async def replace_hash(tx: Transaction, developer_id: bytes, before: str, password_hash: str) -> None:
    """Store a hash of the same password under today's pepper and cost."""
    await tx.execute(REHASH, id=developer_id, before=before, password_hash=password_hash)


async def set_email(tx: Transaction, developer_id: bytes, email: str, now: int) -> bool:
    """False, and nothing changed, where another developer has the canonical address."""
    if not await tx.run(TAKE_EMAIL, email=email, developer_id=developer_id):
        return False
    await tx.execute(LEAVE_EMAIL, developer_id=developer_id, email=email)
    await tx.execute(SET_EMAIL, id=developer_id, email=email)
    await audit.record(tx, developer_id, Action.email_changed, now, actor_id=developer_id)
    return True


async def delete(tx: Transaction, developer_id: bytes, now: int) -> None:
    """The developer, every session, passkey, code, link and membership. What the audit says of the past stays."""
    for statement in DELETIONS:
        await tx.execute(statement, id=developer_id)
    await audit.record(tx, developer_id, Action.account_deleted, now, actor_id=developer_id)
