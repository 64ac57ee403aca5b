"""Admission tokens of the vault: a permission for one person to become a vault user, good for one use.

A provider asks for one directly, or the key store asks on behalf of one of its users (spec: key store 9).
"""

import hashlib
import hmac

from strongroom.crypto.encoding import decode_unpadded
from strongroom.runtime import ids, tokens
from strongroom.runtime.clock import DAY
from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Row, Transaction, Value
from strongroom.vault.area import Vault
from strongroom.wire.keystore import AdmissionToken
from strongroom.wire.refusal import Refusal, Refused

ISSUE = """
INSERT INTO admission_tokens (token_hash, admission_token_id, provider_id, keystore_user_id, created_at, expires_at)
VALUES (:token_hash, :admission_token_id, :provider_id, :keystore_user_id, :now, :expires_at)
"""

FIND = "SELECT provider_id, keystore_user_id, used_at FROM admission_tokens WHERE token_hash = :token_hash"

CONSUME = """
UPDATE admission_tokens SET used_at = :now, used_by = :user_id
WHERE token_hash = :token_hash AND provider_id = :provider_id AND used_at IS NULL AND expires_at > :now
"""

REMEMBER_CLAIMED = """
INSERT INTO admission_tokens
    (token_hash, admission_token_id, provider_id, created_at, expires_at, used_at, used_by)
VALUES (:token_hash, :admission_token_id, :provider_id, :now, :expires_at, :now, :user_id)
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

# Of two requests that both found no live token only one gets its own in: the other finds another hash there.
REPLACE_EXTERNAL = """
INSERT INTO external_admission_tokens
    (keystore_user_id, provider_id, admission_token_id, token_hash, secret_key_id, expires_at)
VALUES (:keystore_user_id, :provider_id, :admission_token_id, :token_hash, :secret_key_id, :expires_at)
ON CONFLICT (keystore_user_id, provider_id) DO UPDATE SET
    admission_token_id = excluded.admission_token_id, token_hash = excluded.token_hash,
    secret_key_id = excluded.secret_key_id, expires_at = excluded.expires_at
WHERE external_admission_tokens.token_hash = :replaced_hash
"""

DROP_REPLACED = "DELETE FROM admission_tokens WHERE token_hash = :replaced_hash AND used_at IS NULL"

PRUNE = """
DELETE FROM admission_tokens WHERE token_hash IN (
    SELECT token_hash FROM admission_tokens WHERE expires_at <= :expired_by ORDER BY expires_at LIMIT :limit
)
"""

PRUNE_EXTERNAL = """
DELETE FROM external_admission_tokens WHERE (keystore_user_id, provider_id) IN (
    SELECT keystore_user_id, provider_id FROM external_admission_tokens
    WHERE expires_at <= :expired_by ORDER BY expires_at LIMIT :limit
)
"""

_LABEL = "external-admission-token"
_PRUNE_LIMIT = 500
# So long a token is still told to be used or expired, rather than unknown.
_KEPT_AFTER_EXPIRY = 30 * DAY


async def issue(tx: Transaction, provider_id: bytes, now: int, lifetime: int) -> AdmissionToken:
    """A token for the provider's own users that opens the vault only (spec: key store rule 1). Shown once."""
    value = tokens.mint(tokens.Prefix.admission_token)
    token_id = ids.new_row_id(now)
    await tx.execute(
        ISSUE,
        token_hash=tokens.digest(value),
        admission_token_id=token_id,
        provider_id=provider_id,
        keystore_user_id=None,
        now=now,
        expires_at=now + lifetime,
    )
    return AdmissionToken(id=ids.to_text(token_id), token_value=value, used=False)


async def issue_external(vault: Vault, provider_id: bytes, keystore_user_id: bytes, fingerprint: str | None) -> str:
    """The token value for a key store user, the same one until it is used or has expired (spec: key store 9).

    `vault_account_exists` once the key store user, or the public key with this fingerprint, has a vault user.
    """
    now = vault.clock.now()
    public_key = None if fingerprint is None else decode_unpadded(fingerprint)
    if fingerprint is not None and (public_key is None or len(public_key) != hashlib.sha256().digest_size):
        raise Refused(Refusal.validation_failed, "A fingerprint is a SHA-256 in Base64url.", pointer="/fingerprint")

    async def find(tx: Transaction) -> Row | None:
        await _check_no_account(tx, provider_id, keystore_user_id, public_key)
        return await tx.one(FIND_EXTERNAL, keystore_user_id=keystore_user_id, provider_id=provider_id)

    async def replace(tx: Transaction) -> str:
        row = await find(tx)
        value = _live_value(vault, row, now)
        if value is not None:
            return value
        token_id = ids.new_hidden_id()
        value = external_value(vault.secret, token_id, vault.secret.current_id)
        assert value is not None
        replaced_hash = row[1] if row is not None else b""
        fields: dict[str, Value] = {
            "keystore_user_id": keystore_user_id,
            "provider_id": provider_id,
            "admission_token_id": token_id,
            "token_hash": tokens.digest(value),
            "expires_at": now + vault.admission_token_lifetime_ms,
        }
        if await tx.run(REPLACE_EXTERNAL, **fields, secret_key_id=vault.secret.current_id, replaced_hash=replaced_hash):
            await tx.run(DROP_REPLACED, replaced_hash=replaced_hash)
            await tx.run(ISSUE, **fields, now=now)
            return value
        winner = _live_value(vault, await find(tx), now)
        if winner is None:
            raise Refused(Refusal.unavailable, retry_after=1)
        return winner

    value = _live_value(vault, await vault.store.read(find), now)
    return value if value is not None else await vault.store.write(replace)


async def is_known(tx: Transaction, token_value: str) -> bool:
    """Whether the token is one of the vault's own or was used here before; others are claimed at the key store."""
    return await tx.one(FIND, token_hash=tokens.digest(token_value)) is not None


async def has_account(tx: Transaction, provider_id: bytes, fingerprint: bytes) -> bool:
    """Whether the public key with this fingerprint has a vault user at this provider."""
    return await tx.one(PUBLIC_KEY_HAS_ACCOUNT, fingerprint=fingerprint, provider_id=provider_id) is not None


async def consume(tx: Transaction, token_value: str, provider_id: bytes, user_id: bytes, now: int) -> bytes | None:
    """Use the token up for a new user, in the caller's transaction: if that fails, the token is still good.

    The key store user it was issued for, where there is one. `admission_token_used`, `admission_token_expired`;
    another provider's token is `admission_token_invalid`, like one that does not exist.
    """
    token_hash = tokens.digest(token_value)
    consumed = await tx.run(CONSUME, token_hash=token_hash, provider_id=provider_id, user_id=user_id, now=now)
    row = await tx.one(FIND, token_hash=token_hash)
    if row is None or row[0] != provider_id:
        raise invalid(Refusal.admission_token_invalid)
    if not consumed:
        raise invalid(Refusal.admission_token_expired if row[2] is None else Refusal.admission_token_used)
    keystore_user_id: bytes | None = row[1]
    return keystore_user_id


async def remember_claimed(
    tx: Transaction, vault: Vault, token_value: str, provider_id: bytes, user_id: bytes, now: int
) -> None:
    """Keep a key store token with the user it admitted, so that it is told as used from now on."""
    await tx.run(
        REMEMBER_CLAIMED,
        token_hash=tokens.digest(token_value),
        admission_token_id=ids.new_row_id(now),
        provider_id=provider_id,
        user_id=user_id,
        now=now,
        expires_at=now + vault.admission_token_lifetime_ms,
    )


def invalid(refusal: Refusal) -> Refused:
    """The refusal of an admission token, with the place it has in the body."""
    return Refused(refusal, pointer="/user/admission_token")


def external_value(secret: ServerSecret, token_id: bytes, secret_key_id: int) -> str | None:
    """Made again from the row's id whenever it is asked for, so that only its hash needs to be stored.

    None where no secret is there that made it.
    """
    key = secret.key(_LABEL, secret_key_id)
    if key is None:
        return None
    return tokens.mint(tokens.Prefix.admission_token, hmac.digest(key, token_id, hashlib.sha256))


async def prune(tx: Transaction, now: int) -> int:
    """Forget tokens that expired more than thirty days ago, at most 500 of each kind; how many."""
    expired_by = now - _KEPT_AFTER_EXPIRY
    pruned = await tx.run(PRUNE, expired_by=expired_by, limit=_PRUNE_LIMIT)
    return pruned + await tx.run(PRUNE_EXTERNAL, expired_by=expired_by, limit=_PRUNE_LIMIT)


async def _check_no_account(
    tx: Transaction, provider_id: bytes, keystore_user_id: bytes, fingerprint: bytes | None
) -> None:
    user = await tx.one(KEYSTORE_USER_HAS_ACCOUNT, keystore_user_id=keystore_user_id, provider_id=provider_id)
    if user is not None or (fingerprint is not None and await has_account(tx, provider_id, fingerprint)):
        raise Refused(Refusal.vault_account_exists)


def _live_value(vault: Vault, row: Row | None, now: int) -> str | None:
    """The value of a stored external token; None once it has expired or the secret that made it is gone."""
    if row is None:
        return None
    token_id, _, secret_key_id, expires_at = row
    return external_value(vault.secret, token_id, secret_key_id) if now < expires_at else None
