"""Organisations: a provider as its developers see it, and who belongs to it in which role."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from strongroom.server.db import Transaction

Role: TypeAlias = Literal["owner", "member"]

INSERT = """
INSERT INTO memberships (provider_id, developer_id, role, created_at)
VALUES (:provider_id, :developer_id, :role, :now)
"""
FIND = "SELECT role FROM memberships WHERE provider_id = :provider_id AND developer_id = :developer_id"
OWNED_ALONE = """
SELECT provider_id FROM memberships own
WHERE own.developer_id = :developer_id AND own.role = 'owner' AND NOT EXISTS (
    SELECT 1 FROM memberships others
    WHERE others.provider_id = own.provider_id AND others.developer_id <> :developer_id AND others.role = 'owner'
)
ORDER BY own.provider_id
"""
LIST = "SELECT provider_id, role FROM memberships WHERE developer_id = :developer_id ORDER BY provider_id"


@dataclass(frozen=True, slots=True)
class Membership:
    provider_id: bytes
    role: Role


async def add(tx: Transaction, provider_id: bytes, developer_id: bytes, role: Role, now: int) -> None:
    await tx.put(INSERT, provider_id=provider_id, developer_id=developer_id, role=role, now=now)


async def find(tx: Transaction, provider_id: bytes, developer_id: bytes) -> Membership | None:
    """None where the developer does not belong to the organisation."""
    row = await tx.one(FIND, provider_id=provider_id, developer_id=developer_id)
    return None if row is None else Membership(provider_id, row[0])


async def list_of(tx: Transaction, developer_id: bytes) -> list[Membership]:
    return [Membership(*row) for row in await tx.all(LIST, developer_id=developer_id)]


async def owned_alone(tx: Transaction, developer_id: bytes) -> list[bytes]:
    """The organisations that would have no owner without this developer."""
    return [row[0] for row in await tx.all(OWNED_ALONE, developer_id=developer_id)]
