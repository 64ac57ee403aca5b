"""Admission tokens of the vault: each admits one public key.

A provider asks for one directly, or the key store asks on behalf of one of its users (spec: key store 9).
"""

import hashlib
import hmac

from strongroom.crypto.encoding import decode_unpadded
from strongroom.runtime import ids, tokens
from strongroom.runtime.secret import ServerSecret
from strongroom.services import admission_tokens as shared
from strongroom.storage import Row, Transaction, Value
from strongroom.wire.refusal import Refusal, Refused

IS_KNOWN = "SELECT 1 FROM admission_tokens WHERE token_hash = :token_hash"
ISSUED_FOR = "SELECT keystore_user_id FROM admission_tokens WHERE token_hash = :token_hash"
INSERT_CLAIMED = """
INSERT INTO admission_tokens (token_hash, provider_id, id, issued_at, expires_at, used_at, used_by)
VALUES (:token_hash, :provider_id, :id, :now, :expires_at, :now, :user_id)
ON CONFLICT (token_hash) DO NOTHING
"""
KEYSTORE_USER_HAS_ACCOUNT = """
SELECT 1 FROM keystore_users WHERE keystore_user_id = :keystore_user_id AND provider_id = :provider_id
"""
PUBLIC_KEY_HAS_ACCOUNT = """
SELECT 1 FROM public_key_fingerprints WHERE fingerprint = :fingerprint AND provider_id = :provider_id
"""
FIND_EXTERNAL = """
SELECT admission_token_id, token_hash, secret_key_id, expires_at FROM external_admission_tokens
WHERE keystore_user_id = :keystore_user_id AND provider_id = :provider_id
"""
INSERT_EXTERNAL = """
INSERT INTO admission_tokens (token_hash, provider_id, id, keystore_user_id, issued_at, expires_at)
VALUES (:token_hash, :provider_id, :id, :keystore_user_id, :now, :expires_at)
"""
# Of two requests that both found no live token only one gets its own in: the other finds another hash there.
REPLACE_EXTERNAL = """
INSERT INTO external_admission_tokens
    (keystore_user_id, provider_id, admission_token_id, token_hash, secret_key_id, expires_at)
VALUES (:keystore_user_id, :provider_id, :id, :token_hash, :secret_key_id, :expires_at)
ON CONFLICT (keystore_user_id, provider_id) DO UPDATE SET
    admission_token_id = excluded.admission_token_id, token_hash = excluded.token_hash,
    secret_key_id = excluded.secret_key_id, expires_at = excluded.expires_at
WHERE external_admission_tokens.token_hash = :replaced_hash
"""
DROP_REPLACED = "DELETE FROM admission_tokens WHERE token_hash = :replaced_hash AND used_at IS NULL"
PRUNE_EXTERNAL = """
DELETE FROM external_admission_tokens WHERE (keystore_user_id, provider_id) IN (
    SELECT keystore_user_id, provider_id FROM external_admission_tokens
    WHERE expires_at < :before ORDER BY expires_at LIMIT :limit
)
"""

_LABEL = "external-admission-token"
_POINTER = "/user/admission_token"

issue = shared.issue
prune = shared.prune


def check_form(value: str) -> None:
    """Prefix and checksum, before any query: `admission_token_invalid`."""
    shared.check_form(value, _POINTER)


async def is_known(tx: Transaction, value: str) -> bool:
    """Whether the token is one of the vault's own or was used here before; others are claimed at the key store."""
    return await tx.one(IS_KNOWN, token_hash=tokens.digest(value)) is not None


async def has_account(tx: Transaction, provider_id: bytes, fingerprint: bytes) -> bool:
    """Whether the public key with this fingerprint has a vault user at this provider."""
    return await tx.one(PUBLIC_KEY_HAS_ACCOUNT, provider_id=provider_id, fingerprint=fingerprint) is not None


async def consume(tx: Transaction, provider_id: bytes, value: str, user_id: bytes, now: int) -> bytes | None:
    """Use the token up for a new user; the key store user it was issued for, where there is one."""
    await shared.consume(tx, provider_id, value, user_id, now, pointer=_POINTER)
    row = await tx.one(ISSUED_FOR, token_hash=tokens.digest(value))
    assert row is not None
    keystore_user_id: bytes | None = row[0]
    return keystore_user_id


async def remember_claimed(
    tx: Transaction, provider_id: bytes, value: str, user_id: bytes, now: int, expires_at: int
) -> None:
    """Keep a key store token with the user it admitted, so that its next use is refused as such."""
    await tx.run(
        INSERT_CLAIMED,
        token_hash=tokens.digest(value),
        provider_id=provider_id,
        id=ids.new_row_id(now),
        now=now,
        expires_at=expires_at,
        user_id=user_id,
    )


def parse_fingerprint(text: str | None) -> bytes | None:
    """`validation_failed`."""
    fingerprint = None if text is None else decode_unpadded(text)
    if text is not None and (fingerprint is None or len(fingerprint) != hashlib.sha256().digest_size):
        raise Refused(Refusal.validation_failed, "A fingerprint is a SHA-256 in Base64url.", pointer="/fingerprint")
    return fingerprint


async def find_external(
    tx: Transaction,
    secret: ServerSecret,
    provider_id: bytes,
    keystore_user_id: bytes,
    fingerprint: bytes | None,
    now: int,
) -> str | None:
    """The live token of a key store user, if there is one.

    `vault_account_exists` once the key store user, or the public key with this fingerprint, has a vault user.
    """
    return _live_value(secret, await _read_external(tx, provider_id, keystore_user_id, fingerprint), now)


async def issue_external(
    tx: Transaction,
    secret: ServerSecret,
    provider_id: bytes,
    keystore_user_id: bytes,
    fingerprint: bytes | None,
    now: int,
    lifetime: int,
) -> str:
    """The token of a key store user: the live one, or a new one in place of the last. Refusals as `find_external`."""
    row = await _read_external(tx, provider_id, keystore_user_id, fingerprint)
    value = _live_value(secret, row, now)
    if value is not None:
        return value
    token_id = ids.new_hidden_id()
    value = external_value(secret, token_id, secret.current_id)
    assert value is not None
    replaced_hash = row[1] if row is not None else b""
    fields: dict[str, Value] = {
        "keystore_user_id": keystore_user_id,
        "provider_id": provider_id,
        "id": token_id,
        "token_hash": tokens.digest(value),
        "expires_at": now + lifetime,
    }
    if await tx.run(REPLACE_EXTERNAL, **fields, secret_key_id=secret.current_id, replaced_hash=replaced_hash):
        await tx.run(DROP_REPLACED, replaced_hash=replaced_hash)
        await tx.run(INSERT_EXTERNAL, **fields, now=now)
        return value
    winner = await find_external(tx, secret, provider_id, keystore_user_id, fingerprint, now)
    if winner is None:
        raise Refused(Refusal.unavailable, retry_after=1)
    return winner


def external_value(secret: ServerSecret, token_id: bytes, secret_key_id: int) -> str | None:
    """Made again from the row's id whenever it is asked for, so that only its hash needs to be stored.

    None where no secret is there that made it.
    """
    key = secret.key(_LABEL, secret_key_id)
    if key is None:
        return None
    return tokens.mint(tokens.Prefix.admission_token, hmac.digest(key, token_id, hashlib.sha256))


async def prune_external(tx: Transaction, before: int, limit: int) -> int:
    """Forget some tokens of key store users that expired before a time; how many."""
    return await tx.run(PRUNE_EXTERNAL, before=before, limit=limit)


async def _read_external(
    tx: Transaction, provider_id: bytes, keystore_user_id: bytes, fingerprint: bytes | None
) -> Row | None:
    user = await tx.one(KEYSTORE_USER_HAS_ACCOUNT, provider_id=provider_id, keystore_user_id=keystore_user_id)
    if user is not None or (fingerprint is not None and await has_account(tx, provider_id, fingerprint)):
        raise Refused(Refusal.vault_account_exists)
    return await tx.one(FIND_EXTERNAL, provider_id=provider_id, keystore_user_id=keystore_user_id)


def _live_value(secret: ServerSecret, row: Row | None, now: int) -> str | None:
    """The value of a stored external token; None once it has expired or the secret that made it is gone."""
    if row is None:
        return None
    token_id, _, secret_key_id, expires_at = row
    return external_value(secret, token_id, secret_key_id) if now < expires_at else None
