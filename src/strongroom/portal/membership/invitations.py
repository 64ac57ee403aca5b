"""Invitations: a link in mail by which a colleague joins an organisation."""

from dataclasses import dataclass

from strongroom.portal.membership import organisations
from strongroom.portal.membership.organisations import Role
from strongroom.runtime import tokens
from strongroom.runtime.clock import DAY
from strongroom.runtime.ids import new_row_id
from strongroom.services import audit
from strongroom.services.audit import Action
from strongroom.storage import Transaction

LIFETIME = 7 * DAY

INSERT = """
INSERT INTO invitations (link_hash, provider_id, id, email, role, invited_by, created_at, expires_at)
VALUES (:link_hash, :provider_id, :id, :email, :role, :invited_by, :now, :expires_at)
"""
# A second invitation to the same address takes the place of the first.
REPLACE = "DELETE FROM invitations WHERE provider_id = :provider_id AND email = :email"
FIND = """
SELECT invitations.provider_id, providers.name, invitations.id, invitations.email, invitations.role,
       invitations.created_at, invitations.expires_at
FROM invitations JOIN providers ON providers.id = invitations.provider_id
WHERE invitations.link_hash = :link_hash AND invitations.expires_at > :now
"""
LIST = """
SELECT invitations.provider_id, providers.name, invitations.id, invitations.email, invitations.role,
       invitations.created_at, invitations.expires_at
FROM invitations JOIN providers ON providers.id = invitations.provider_id
WHERE invitations.provider_id = :provider_id AND invitations.expires_at > :now ORDER BY invitations.id
"""
OPEN_FOR = """
SELECT invitations.provider_id, providers.name, invitations.id, invitations.email, invitations.role,
       invitations.created_at, invitations.expires_at
FROM invitations JOIN providers ON providers.id = invitations.provider_id
WHERE invitations.email = :email AND invitations.expires_at > :now ORDER BY invitations.id LIMIT 20
"""
USE = "DELETE FROM invitations WHERE provider_id = :provider_id AND id = :id AND email = :email AND expires_at > :now"
WITHDRAW = "DELETE FROM invitations WHERE provider_id = :provider_id AND id = :id"
PRUNE = """
DELETE FROM invitations WHERE link_hash IN (SELECT link_hash FROM invitations WHERE expires_at <= :now LIMIT :limit)
"""


@dataclass(frozen=True, slots=True)
class Invitation:
    provider_id: bytes
    organisation: str
    """Its name."""
    id: bytes
    email: str
    role: Role
    created_at: int
    expires_at: int


async def issue(tx: Transaction, provider_id: bytes, email: str, role: Role, invited_by: bytes, now: int) -> str:
    """The value of the link, valid for seven days and for the account with this address only."""
    link = tokens.mint(tokens.Prefix.portal_link)
    row = new_row_id(now)
    await tx.execute(REPLACE, provider_id=provider_id, email=email)
    await tx.execute(
        INSERT,
        link_hash=tokens.digest(link),
        provider_id=provider_id,
        id=row,
        email=email,
        role=role,
        invited_by=invited_by,
        now=now,
        expires_at=now + LIFETIME,
    )
    await audit.record(
        tx, provider_id, Action.member_invited, now, actor_id=invited_by, object_id=row, detail=f"{email} as {role}"
    )
    return link


async def find(tx: Transaction, link: str, now: int) -> Invitation | None:
    if not tokens.well_formed(tokens.Prefix.portal_link, link):
        return None
    row = await tx.one(FIND, link_hash=tokens.digest(link), now=now)
    return None if row is None else Invitation(*row)


async def open_for(tx: Transaction, email: str, now: int) -> list[Invitation]:
    """The open invitations of a canonical address, at most twenty. Show them only to its confirmed owner."""
    return [Invitation(*row) for row in await tx.all(OPEN_FOR, email=email, now=now)]


async def accept(tx: Transaction, invitation: Invitation, developer_id: bytes, now: int) -> bool:
    """Use it up and join; false where another request was faster, or the developer belongs to the organisation."""
    provider_id = invitation.provider_id
    if not await tx.run(USE, provider_id=provider_id, id=invitation.id, email=invitation.email, now=now):
        return False
    return await organisations.join(tx, provider_id, developer_id, invitation.role, now)


async def list_of(tx: Transaction, provider_id: bytes, now: int) -> list[Invitation]:
    return [Invitation(*row) for row in await tx.all(LIST, provider_id=provider_id, now=now)]


async def withdraw(tx: Transaction, provider_id: bytes, invitation_id: bytes, actor_id: bytes, now: int) -> bool:
    if not await tx.run(WITHDRAW, provider_id=provider_id, id=invitation_id):
        return False
    await audit.record(tx, provider_id, Action.invitation_withdrawn, now, actor_id=actor_id, object_id=invitation_id)
    return True


async def prune(tx: Transaction, now: int, limit: int) -> int:
    return await tx.run(PRUNE, now=now, limit=limit)
