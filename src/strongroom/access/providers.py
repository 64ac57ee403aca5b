"""Providers, the external parties, and the API keys that let them issue admission tokens."""

from dataclasses import dataclass

from strongroom.runtime import tokens
from strongroom.runtime.ids import new_row_id
from strongroom.runtime.principals import Provider
from strongroom.storage import Transaction
from strongroom.wire.refusal import Refusal, Refused

MAX_ACTIVE_KEYS = 2
LOGIN_POLICIES = ("any", "derived_only")

INSERT_PROVIDER = "INSERT INTO providers (id, name, login_policy, created_at) VALUES (:id, :name, :login_policy, :now)"
TAKE_NAME = "INSERT INTO provider_names (name, provider_id) VALUES (:name, :provider_id) ON CONFLICT (name) DO NOTHING"
BY_NAME = """
SELECT providers.id FROM provider_names JOIN providers ON providers.id = provider_names.provider_id
WHERE provider_names.name = :name AND providers.closed_at IS NULL
"""
LEAVE_NAME = "DELETE FROM provider_names WHERE name = :name AND provider_id = :provider_id"
RENAME = "UPDATE providers SET name = :name WHERE id = :provider_id"
LIST = "SELECT id, name, login_policy, created_at, closed_at FROM providers ORDER BY created_at, id"
READ = "SELECT id, name, login_policy, created_at, closed_at FROM providers WHERE id = :id"
SET_LOGIN_POLICY = "UPDATE providers SET login_policy = :login_policy WHERE id = :id"
# Changing the provider's row makes other requests for a key wait, so that two cannot both find the last place free.
TAKE_TURN = "UPDATE providers SET name = name WHERE id = :provider_id"
INSERT_KEY = """
INSERT INTO provider_api_keys (key_hash, provider_id, id, name, hint, created_at, revoked_at)
SELECT :key_hash, :provider_id, :id, :name, :hint, :now, NULL
WHERE (
    SELECT count(*) FROM provider_api_keys
    WHERE provider_id = :provider_id AND (revoked_at IS NULL OR revoked_at > :now)
) < :limit AND EXISTS (SELECT 1 FROM providers WHERE id = :provider_id AND closed_at IS NULL)
"""
REVOKE_KEY = """
UPDATE provider_api_keys SET revoked_at = :at
WHERE provider_id = :provider_id AND id = :id AND (revoked_at IS NULL OR revoked_at > :at)
"""
KEYS_OF = """
SELECT id, name, hint, created_at, revoked_at, last_used_at FROM provider_api_keys
WHERE provider_id = :provider_id ORDER BY id
"""
AUTHENTICATE = """
SELECT id FROM provider_api_keys
WHERE key_hash = :key_hash AND provider_id = :provider_id AND (revoked_at IS NULL OR revoked_at > :now)
"""


class NameTaken(Exception):
    """Another provider has this name."""


class TooManyKeys(Exception):
    """A provider has at most two active API keys: the old one and the one that follows it; a closed one has none."""


@dataclass(frozen=True, slots=True)
class ProviderRecord:
    id: bytes
    name: str
    login_policy: str
    created_at: int
    closed_at: int | None


@dataclass(frozen=True, slots=True)
class ProviderKeyRecord:
    id: bytes
    name: str
    hint: str
    created_at: int
    revoked_at: int | None
    last_used_at: int | None


async def create(tx: Transaction, name: str, now: int, login_policy: str = "any") -> bytes:
    """A new provider's id. `NameTaken`."""
    provider_id = new_row_id(now)
    if not await tx.run(TAKE_NAME, name=name, provider_id=provider_id):
        raise NameTaken
    await tx.execute(INSERT_PROVIDER, id=provider_id, name=name, login_policy=login_policy, now=now)
    return provider_id


async def rename(tx: Transaction, provider_id: bytes, name: str) -> bool:
    """Another name, the old one is free from then on; false for a closed provider or the same name. `NameTaken`."""
    await tx.execute(TAKE_TURN, provider_id=provider_id)
    found = await read(tx, provider_id)
    if found is None or found.closed_at is not None or found.name == name:
        return False
    if not await tx.run(TAKE_NAME, name=name, provider_id=provider_id):
        raise NameTaken
    await tx.execute(LEAVE_NAME, name=found.name, provider_id=provider_id)
    await tx.execute(RENAME, name=name, provider_id=provider_id)
    return True


async def find(tx: Transaction, name: str) -> bytes | None:
    """The id of the provider of this name; a closed one is not found, though its name stays taken."""
    row = await tx.one(BY_NAME, name=name)
    return None if row is None else row[0]


async def read(tx: Transaction, provider_id: bytes) -> ProviderRecord | None:
    row = await tx.one(READ, id=provider_id)
    return None if row is None else ProviderRecord(*row)


async def list_all(tx: Transaction) -> list[ProviderRecord]:
    return [ProviderRecord(*row) for row in await tx.all(LIST)]


async def set_login_policy(tx: Transaction, provider_id: bytes, login_policy: str) -> None:
    """`derived_only` refuses raw passphrases when a user is created; `any` takes both forms."""
    await tx.run(SET_LOGIN_POLICY, id=provider_id, login_policy=login_policy)


async def create_key(tx: Transaction, provider_id: bytes, name: str, now: int, key: str | None = None) -> str:
    """A new provider API key, returned this once and stored as its hash; `TooManyKeys`."""
    key = key or tokens.mint(tokens.Prefix.provider_api_key)
    await tx.execute(TAKE_TURN, provider_id=provider_id)
    added = await tx.run(
        INSERT_KEY,
        key_hash=tokens.digest(key),
        provider_id=provider_id,
        id=new_row_id(now),
        name=name,
        hint=tokens.hint(key),
        now=now,
        limit=MAX_ACTIVE_KEYS,
    )
    if not added:
        raise TooManyKeys
    return key


async def revoke_key(tx: Transaction, provider_id: bytes, key_id: bytes, at: int) -> bool:
    """End a key at a time, now or later; false where there is nothing to end."""
    return await tx.run(REVOKE_KEY, provider_id=provider_id, id=key_id, at=at) == 1


async def keys_of(tx: Transaction, provider_id: bytes) -> list[ProviderKeyRecord]:
    return [ProviderKeyRecord(*row) for row in await tx.all(KEYS_OF, provider_id=provider_id)]


async def authenticate(tx: Transaction, provider_id: bytes, key: str, now: int) -> Provider:
    """The provider, if the key is its own and active; else `provider_key_invalid`."""
    row = None
    if tokens.well_formed(tokens.Prefix.provider_api_key, key):
        row = await tx.one(AUTHENTICATE, key_hash=tokens.digest(key), provider_id=provider_id, now=now)
    if row is None:
        raise Refused(Refusal.provider_key_invalid)
    return Provider(provider_id, row[0])
