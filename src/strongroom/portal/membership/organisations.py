"""Organisations: a provider as its developers see it, and who belongs to it in which role."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from strongroom.access import providers
from strongroom.access.providers import ProviderRecord
from strongroom.portal.accounts import developers
from strongroom.portal.refusals import Forbidden
from strongroom.services import audit
from strongroom.services.audit import Action
from strongroom.storage import Transaction

Role: TypeAlias = Literal["owner", "member"]

INSERT = """
INSERT INTO memberships (provider_id, developer_id, role, created_at)
VALUES (:provider_id, :developer_id, :role, :now)
"""
FIND = "SELECT role FROM memberships WHERE provider_id = :provider_id AND developer_id = :developer_id"
OWNED_ALONE = """
SELECT providers.id, providers.name, providers.login_policy, providers.created_at, providers.closed_at
FROM memberships own JOIN providers ON providers.id = own.provider_id
WHERE own.developer_id = :developer_id AND own.role = 'owner' AND NOT EXISTS (
    SELECT 1 FROM memberships others
    WHERE others.provider_id = own.provider_id AND others.developer_id <> :developer_id AND others.role = 'owner'
)
"""
OWN = """
SELECT memberships.role, providers.id, providers.name, providers.login_policy, providers.created_at, providers.closed_at
FROM memberships JOIN providers ON providers.id = memberships.provider_id
WHERE memberships.developer_id = :developer_id
"""
LIST = "SELECT provider_id, role FROM memberships WHERE developer_id = :developer_id ORDER BY provider_id"
MEMBERS = """
SELECT memberships.developer_id, memberships.role, memberships.created_at, developers.email, developers.name
FROM memberships JOIN developers ON developers.id = memberships.developer_id
WHERE memberships.provider_id = :provider_id
ORDER BY memberships.created_at, memberships.developer_id
"""
COUNT_OWNED = "SELECT count(*) FROM memberships WHERE developer_id = :developer_id AND role = 'owner'"
# Locks the rows of all owners: other changes of roles wait, so that two owners who leave at the same time cannot each
# rely on the other.
LOCK_OWNERS = "UPDATE memberships SET role = role WHERE provider_id = :provider_id AND role = 'owner'"
SET_ROLE = """
UPDATE memberships SET role = :role WHERE provider_id = :provider_id AND developer_id = :developer_id AND role <> :role
"""
REMOVE = "DELETE FROM memberships WHERE provider_id = :provider_id AND developer_id = :developer_id"
# An invitation depends on the role of its sender and ends with it: otherwise a removed owner could come back by it.
END_INVITATIONS = "DELETE FROM invitations WHERE provider_id = :provider_id AND invited_by = :developer_id"
OWNERS = "SELECT count(*) FROM memberships WHERE provider_id = :provider_id AND role = 'owner'"
ADD_IF_ABSENT = """
INSERT INTO memberships (provider_id, developer_id, role, created_at)
VALUES (:provider_id, :developer_id, :role, :now) ON CONFLICT (provider_id, developer_id) DO NOTHING
"""

MAX_OWNED = 20


class LastOwner(Exception):
    """The change would leave the organisation without an owner, and then nothing could manage or close it."""


class TooManyOrganisations(Exception):
    """A developer owns at most twenty."""


@dataclass(frozen=True, slots=True)
class Membership:
    provider_id: bytes
    role: Role


@dataclass(frozen=True, slots=True)
class Member:
    """A developer as the colleagues see them."""

    developer_id: bytes
    role: Role
    since: int
    email: str
    name: str


async def create(tx: Transaction, name: str, developer_id: bytes, now: int) -> bytes:
    """A new provider with this developer as its owner; its id.

    `TooManyOrganisations`, `providers.NameTaken`, and `Forbidden` where the account was deleted meanwhile.
    """
    # First, so that concurrent calls see each other, and the account is not deleted meanwhile.
    if not await developers.lock(tx, developer_id):
        raise Forbidden
    row = await tx.one(COUNT_OWNED, developer_id=developer_id)
    assert row is not None
    if row[0] >= MAX_OWNED:
        raise TooManyOrganisations
    provider_id = await providers.create(tx, name, now)
    await add(tx, provider_id, developer_id, "owner", now)
    await audit.record(tx, provider_id, Action.organisation_created, now, actor_id=developer_id, detail=name)
    return provider_id


async def of_developer(tx: Transaction, developer_id: bytes) -> list[tuple[ProviderRecord, Role]]:
    """The organisations a developer belongs to, by name, with the role in each."""
    found = [(ProviderRecord(*row[1:]), row[0]) for row in await tx.all(OWN, developer_id=developer_id)]
    return sorted(found, key=lambda one: one[0].name.casefold())


async def members_of(tx: Transaction, provider_id: bytes) -> list[Member]:
    return [Member(*row) for row in await tx.all(MEMBERS, provider_id=provider_id)]


async def owners_of(tx: Transaction, provider_ids: Iterable[bytes]) -> dict[bytes, list[str]]:
    """The addresses of the owners of each organisation."""
    return {
        row: [member.email for member in await members_of(tx, row) if member.role == "owner"] for row in provider_ids
    }


async def join(tx: Transaction, provider_id: bytes, developer_id: bytes, role: Role, now: int) -> bool:
    """False where the developer belongs to the organisation already, with the role as it was, or is gone."""
    if not await developers.lock(tx, developer_id):
        return False
    joined = await tx.run(ADD_IF_ABSENT, provider_id=provider_id, developer_id=developer_id, role=role, now=now) == 1
    if joined:
        await _note(tx, provider_id, Action.member_joined, now, developer_id, developer_id, role)
    return joined


async def set_role(
    tx: Transaction, provider_id: bytes, developer_id: bytes, role: Role, actor_id: bytes, now: int
) -> bool:
    """False where there is nothing to change; `LastOwner`, and `Forbidden` where the actor is no owner any more."""
    await require_owner(tx, provider_id, actor_id)
    if not await tx.run(SET_ROLE, provider_id=provider_id, developer_id=developer_id, role=role):
        return False
    await _keep_an_owner(tx, provider_id)
    if role != "owner":
        await tx.execute(END_INVITATIONS, provider_id=provider_id, developer_id=developer_id)
    await _note(tx, provider_id, Action.role_changed, now, actor_id, developer_id, role)
    return True


async def hand_over(tx: Transaction, provider_id: bytes, actor_id: bytes, developer_id: bytes, now: int) -> bool:
    """Make a colleague an owner and oneself a member, in one step; false where there is no such colleague."""
    if developer_id == actor_id or await find(tx, provider_id, developer_id) is None:
        return False
    await set_role(tx, provider_id, developer_id, "owner", actor_id, now)
    return await set_role(tx, provider_id, actor_id, "member", actor_id, now)


async def remove(tx: Transaction, provider_id: bytes, developer_id: bytes, actor_id: bytes, now: int) -> bool:
    """Leave, or be removed by an owner; false where there was no membership. `LastOwner`, `Forbidden`."""
    if developer_id == actor_id:
        await tx.execute(LOCK_OWNERS, provider_id=provider_id)
    else:
        await require_owner(tx, provider_id, actor_id)
    if not await tx.run(REMOVE, provider_id=provider_id, developer_id=developer_id):
        return False
    await _keep_an_owner(tx, provider_id)
    await tx.execute(END_INVITATIONS, provider_id=provider_id, developer_id=developer_id)
    action = Action.member_left if actor_id == developer_id else Action.member_removed
    await _note(tx, provider_id, action, now, actor_id, developer_id)
    return True


async def require_owner(tx: Transaction, provider_id: bytes, developer_id: bytes) -> None:
    """`Forbidden` unless this is an owner at this moment, and none of them changes before the transaction ends.

    The page has checked this before, but of two owners who remove each other at the same time, the slower one has lost
    the role by now.
    """
    await tx.execute(LOCK_OWNERS, provider_id=provider_id)
    found = await find(tx, provider_id, developer_id)
    if found is None or found.role != "owner":
        raise Forbidden


async def add(tx: Transaction, provider_id: bytes, developer_id: bytes, role: Role, now: int) -> None:
    await tx.execute(INSERT, provider_id=provider_id, developer_id=developer_id, role=role, now=now)


async def find(tx: Transaction, provider_id: bytes, developer_id: bytes) -> Membership | None:
    """None where the developer does not belong to the organisation."""
    row = await tx.one(FIND, provider_id=provider_id, developer_id=developer_id)
    return None if row is None else Membership(provider_id, row[0])


async def list_of(tx: Transaction, developer_id: bytes) -> list[Membership]:
    return [Membership(*row) for row in await tx.all(LIST, developer_id=developer_id)]


async def lock_roles(tx: Transaction, developer_id: bytes) -> None:
    """Lock the roles in every organisation of this developer until the end of the transaction."""
    for membership in await list_of(tx, developer_id):
        await tx.execute(LOCK_OWNERS, provider_id=membership.provider_id)


async def leave_all(tx: Transaction, developer_id: bytes, now: int) -> None:
    """Leave every organisation with the account, in the transaction that deletes it."""
    for membership in await list_of(tx, developer_id):
        await tx.execute(REMOVE, provider_id=membership.provider_id, developer_id=developer_id)
        await tx.execute(END_INVITATIONS, provider_id=membership.provider_id, developer_id=developer_id)
        detail = "with the account"
        await _note(tx, membership.provider_id, Action.member_left, now, developer_id, developer_id, detail)


async def owned_alone(tx: Transaction, developer_id: bytes) -> list[ProviderRecord]:
    """The organisations that would have no owner without this developer, by name."""
    found = [ProviderRecord(*row) for row in await tx.all(OWNED_ALONE, developer_id=developer_id)]
    return sorted(found, key=lambda provider: provider.name.casefold())


async def _keep_an_owner(tx: Transaction, provider_id: bytes) -> None:
    row = await tx.one(OWNERS, provider_id=provider_id)
    assert row is not None
    if row[0] == 0:
        raise LastOwner


async def _note(
    tx: Transaction,
    provider_id: bytes,
    action: Action,
    now: int,
    actor_id: bytes,
    developer_id: bytes,
    detail: str = "",
) -> None:
    await audit.record(tx, provider_id, action, now, actor_id=actor_id, object_id=developer_id, detail=detail)
