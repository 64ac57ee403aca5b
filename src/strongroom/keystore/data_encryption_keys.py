"""Data encryption keys: any number per user, each stored as the client encrypted it."""

from strongroom.keystore import digests
from strongroom.runtime.ids import from_text, new_row_id, to_text
from strongroom.services.paging import page
from strongroom.storage import Row, Transaction
from strongroom.wire.keystore import DataEncryptionKey, DataEncryptionKeysResponse
from strongroom.wire.paging import Paging
from strongroom.wire.refusal import Refusal, Refused

INSERT = """
INSERT INTO data_encryption_keys (user_id, id, digest, serialized_data_encryption_key, created_at)
VALUES (:user_id, :id, :digest, :serialized, :now)
ON CONFLICT (user_id, digest) DO NOTHING
"""
BY_DIGEST = """
SELECT id, serialized_data_encryption_key FROM data_encryption_keys WHERE user_id = :user_id AND digest = :digest
"""
READ = "SELECT id, serialized_data_encryption_key FROM data_encryption_keys WHERE user_id = :user_id AND id = :id"
LIST = """
SELECT id, serialized_data_encryption_key FROM data_encryption_keys WHERE user_id = :user_id ORDER BY id
"""
WITH_DIGESTS = "SELECT digest, serialized_data_encryption_key FROM data_encryption_keys"
COUNT = "SELECT count(*) FROM data_encryption_keys WHERE user_id = :user_id"


async def store(tx: Transaction, user_id: bytes, serialized: str, now: int) -> tuple[DataEncryptionKey, bool]:
    """The stored key and whether this call stored it: identical bytes are stored once."""
    content_digest = digest(serialized)
    row_id = new_row_id(now)
    if await tx.run(INSERT, user_id=user_id, id=row_id, digest=content_digest, serialized=serialized, now=now):
        return DataEncryptionKey(id=to_text(row_id), serialized_data_encryption_key=serialized), True
    row = await tx.one(BY_DIGEST, user_id=user_id, digest=content_digest)
    assert row is not None
    return _record(row), False


async def read(tx: Transaction, user_id: bytes, text_id: str) -> DataEncryptionKey:
    row_id = from_text(text_id)
    row = None if row_id is None else await tx.one(READ, user_id=user_id, id=row_id)
    if row is None:
        raise Refused(Refusal.not_found)
    return _record(row)


async def list_all(tx: Transaction, user_id: bytes, paging: Paging) -> DataEncryptionKeysResponse:
    """Oldest first; the whole list unless a page is asked for."""
    rows, meta = await page(tx, LIST, COUNT, paging, user_id=user_id)
    return DataEncryptionKeysResponse([_record(row) for row in rows], meta)


def digest(serialized: str) -> bytes:
    """By which identical bytes are known."""
    return digests.digest("data encryption key", serialized_data_encryption_key=serialized)


def has_its_digest(rows: list[Row]) -> bool:
    """Whether what `WITH_DIGESTS` says of one key has the digest that is stored."""
    ((stored, serialized),) = rows
    return digests.agrees(stored, digest(serialized))


def _record(row: Row) -> DataEncryptionKey:
    return DataEncryptionKey(id=to_text(row[0]), serialized_data_encryption_key=row[1])
