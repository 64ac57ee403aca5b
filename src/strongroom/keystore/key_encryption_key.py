"""The key encryption key: exactly one per user, stored as the client encrypted it."""

from strongroom.runtime.ids import new_row_id, to_text
from strongroom.storage import Transaction
from strongroom.wire.keystore import KeyEncryptionKey
from strongroom.wire.refusal import Refusal, Refused

INSERT = """
INSERT INTO key_encryption_keys (user_id, id, serialized_key_encryption_key, created_at)
VALUES (:user_id, :id, :serialized, :now)
ON CONFLICT (user_id) DO NOTHING
"""
READ = "SELECT id, serialized_key_encryption_key FROM key_encryption_keys WHERE user_id = :user_id"


async def store(tx: Transaction, user_id: bytes, serialized: str, now: int) -> tuple[KeyEncryptionKey, bool]:
    """The stored key and whether this call stored it. Other bytes than the stored ones are refused: every data
    encryption key hangs on the first."""
    created = await tx.run(INSERT, user_id=user_id, id=new_row_id(now), serialized=serialized, now=now) == 1
    stored = await read(tx, user_id)
    if stored.serialized_key_encryption_key != serialized:
        raise Refused(Refusal.key_encryption_key_exists)
    return stored, created


async def read(tx: Transaction, user_id: bytes) -> KeyEncryptionKey:
    row = await tx.one(READ, user_id=user_id)
    if row is None:
        raise Refused(Refusal.not_found)
    return KeyEncryptionKey(id=to_text(row[0]), serialized_key_encryption_key=row[1])
