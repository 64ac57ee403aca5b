"""Users: created once with an admission token, found by their name's canonical form."""

from typing import NamedTuple

from strongroom.crypto.errors import UsernameRefused
from strongroom.crypto.names import canonical_username
from strongroom.keystore import admission_tokens
from strongroom.storage import Transaction
from strongroom.wire.refusal import Refusal, Refused

MAX_PASSPHRASE_BYTES = 1024

INSERT = """
INSERT INTO users
    (id, provider_id, username, canonical_username, passphrase_hash, passphrase_generation, created_at, suspended_at)
VALUES (:id, :provider_id, :username, :canonical, :passphrase_hash, 1, :now, NULL)
"""
TAKE_NAME = """
INSERT INTO usernames (provider_id, canonical_username, user_id) VALUES (:provider_id, :canonical, :id)
ON CONFLICT (provider_id, canonical_username) DO NOTHING
"""
BY_NAME = """
SELECT users.id, users.username, users.passphrase_hash, users.passphrase_generation, users.suspended_at
FROM usernames JOIN users ON users.id = usernames.user_id
WHERE usernames.provider_id = :provider_id AND usernames.canonical_username = :canonical
"""
REHASH = "UPDATE users SET passphrase_hash = :passphrase_hash WHERE id = :id AND passphrase_hash = :before"


class StoredKeystoreUser(NamedTuple):
    id: bytes
    username: str
    passphrase_hash: str
    passphrase_generation: int
    suspended_at: int | None


def canonical(username: str) -> str:
    """The form names are unique by; `username_refused`."""
    try:
        return canonical_username(username)
    except UsernameRefused:
        raise Refused(Refusal.username_refused, pointer="/username") from None


def check_passphrase(passphrase: str) -> None:
    """1 to 1,024 bytes; `passphrase_refused`."""
    if not 1 <= len(passphrase.encode()) <= MAX_PASSPHRASE_BYTES:
        raise Refused(Refusal.passphrase_refused, pointer="/passphrase")


async def create(
    tx: Transaction,
    *,
    provider_id: bytes,
    user_id: bytes,
    username: str,
    canonical_name: str,
    passphrase_hash: str,
    token: str,
    now: int,
) -> None:
    """Use up the token and insert the user; a taken name leaves the token as it was.

    The token comes first: a caller without one does not learn which names are taken.
    """
    await admission_tokens.consume(tx, provider_id, token, user_id, now)
    if not await tx.run(TAKE_NAME, provider_id=provider_id, canonical=canonical_name, id=user_id):
        raise Refused(Refusal.username_taken, pointer="/username")
    await tx.execute(
        INSERT,
        id=user_id,
        provider_id=provider_id,
        username=username,
        canonical=canonical_name,
        passphrase_hash=passphrase_hash,
        now=now,
    )


async def find(tx: Transaction, provider_id: bytes, canonical_name: str) -> StoredKeystoreUser | None:
    row = await tx.one(BY_NAME, provider_id=provider_id, canonical=canonical_name)
    return None if row is None else StoredKeystoreUser(*row)


async def replace_hash(tx: Transaction, user_id: bytes, before: str, passphrase_hash: str) -> None:
    """Store a hash of the same passphrase under today's pepper and cost."""
    await tx.execute(REHASH, id=user_id, before=before, passphrase_hash=passphrase_hash)
