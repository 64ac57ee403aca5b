"""Passkeys: a key pair in a developer's device, of which the portal keeps the public half."""

from dataclasses import dataclass

from strongroom.runtime.ids import new_row_id
from strongroom.services import audit
from strongroom.services.audit import Action
from strongroom.storage import Transaction

MAX_PASSKEYS = 10

INSERT = """
INSERT INTO passkeys (credential_id, developer_id, id, name, public_key, sign_count, created_at, used_at)
SELECT :credential_id, :developer_id, :id, :name, :public_key, :sign_count, :now, NULL
WHERE (SELECT count(*) FROM passkeys WHERE developer_id = :developer_id) < :most
ON CONFLICT (credential_id) DO NOTHING
"""
FIND = "SELECT developer_id, public_key, sign_count FROM passkeys WHERE credential_id = :credential_id"
# A count that does not go up is a copied authenticator (WebAuthn section 7.2, step 22); devices without one say 0.
USE = """
UPDATE passkeys SET sign_count = :sign_count, used_at = :now
WHERE credential_id = :credential_id AND (sign_count < :sign_count OR (sign_count = 0 AND :sign_count = 0))
"""
LIST = """
SELECT credential_id, id, name, created_at, used_at FROM passkeys WHERE developer_id = :developer_id ORDER BY id
"""
REMOVE = "DELETE FROM passkeys WHERE developer_id = :developer_id AND id = :id"


@dataclass(frozen=True, slots=True)
class Passkey:
    credential_id: bytes
    id: bytes
    name: str
    created_at: int
    used_at: int | None


@dataclass(frozen=True, slots=True)
class PublicHalf:
    """What a proof is checked against."""

    developer_id: bytes
    public_key: bytes
    sign_count: int


async def add(
    tx: Transaction,
    developer_id: bytes,
    name: str,
    credential_id: bytes,
    public_key: bytes,
    sign_count: int,
    now: int,
) -> bool:
    """False where the credential is known already, or the developer has ten."""
    row = new_row_id(now)
    added = await tx.run(
        INSERT,
        credential_id=credential_id,
        developer_id=developer_id,
        id=row,
        name=name,
        public_key=public_key,
        sign_count=sign_count,
        now=now,
        most=MAX_PASSKEYS,
    )
    if not added:
        return False
    await audit.record(tx, developer_id, Action.passkey_added, now, actor_id=developer_id, object_id=row)
    return True


async def find(tx: Transaction, credential_id: bytes) -> PublicHalf | None:
    row = await tx.one(FIND, credential_id=credential_id)
    return None if row is None else PublicHalf(*row)


async def use(tx: Transaction, credential_id: bytes, sign_count: int, now: int) -> bool:
    """Note a proof with its count; false where another proof came first, or the passkey is gone."""
    return await tx.run(USE, credential_id=credential_id, sign_count=sign_count, now=now) == 1


async def list_of(tx: Transaction, developer_id: bytes) -> list[Passkey]:
    return [Passkey(*row) for row in await tx.all(LIST, developer_id=developer_id)]


async def remove(tx: Transaction, developer_id: bytes, passkey_id: bytes, now: int) -> bool:
    """False where the developer has no such passkey."""
    if not await tx.run(REMOVE, developer_id=developer_id, id=passkey_id):
        return False
    await audit.record(tx, developer_id, Action.passkey_removed, now, actor_id=developer_id, object_id=passkey_id)
    return True
