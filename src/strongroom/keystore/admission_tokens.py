"""Admission tokens: a provider's permission for one person to enter, good for one use."""

from strongroom.runtime import tokens
from strongroom.runtime.ids import new_row_id, to_text
from strongroom.storage import Row, Transaction
from strongroom.wire.keystore import AdmissionToken
from strongroom.wire.refusal import Refusal, Refused

INSERT = """
INSERT INTO admission_tokens (token_hash, provider_id, id, issued_at, expires_at, used_at, used_by)
VALUES (:token_hash, :provider_id, :id, :now, :expires_at, NULL, NULL)
"""
CONSUME = """
UPDATE admission_tokens SET used_at = :now, used_by = :used_by
WHERE token_hash = :token_hash AND provider_id = :provider_id AND used_at IS NULL AND expires_at > :now
"""
# The same claimant may come again: its insert may have failed, or the answer may have been lost.
CLAIM = """
UPDATE admission_tokens SET used_at = coalesce(used_at, :now), used_by = :used_by
WHERE token_hash = :token_hash AND provider_id = :provider_id
  AND ((used_at IS NULL AND expires_at > :now) OR used_by = :used_by)
"""
READ = "SELECT used_at, expires_at FROM admission_tokens WHERE token_hash = :token_hash AND provider_id = :provider_id"
PRUNE = """
DELETE FROM admission_tokens WHERE token_hash IN
    (SELECT token_hash FROM admission_tokens WHERE expires_at < :before LIMIT :limit)
"""


async def issue(tx: Transaction, provider_id: bytes, now: int, lifetime: int) -> AdmissionToken:
    """A token for endpoint 2 or endpoint 10, stored as its hash; the value is shown this once."""
    value = tokens.mint(tokens.Prefix.admission_token)
    row_id = new_row_id(now)
    await tx.execute(
        INSERT,
        token_hash=tokens.digest(value),
        provider_id=provider_id,
        id=row_id,
        now=now,
        expires_at=now + lifetime,
    )
    return AdmissionToken(id=to_text(row_id), token_value=value, used=False)


async def consume(tx: Transaction, provider_id: bytes, value: str, user_id: bytes, now: int) -> None:
    """Use the token up, in the caller's transaction: if that fails, the token is still good."""
    check_form(value)
    await _use(tx, CONSUME, provider_id, value, f"user:{to_text(user_id)}", now)


async def claim(tx: Transaction, provider_id: bytes, value: str, fingerprint: str, now: int) -> None:
    """Use the token up for the holder of a public key; again for the same key is no error."""
    check_form(value)
    await _use(tx, CLAIM, provider_id, value, f"key:{fingerprint}", now)


def check_form(value: str) -> None:
    """Prefix and checksum, before any query: `admission_token_invalid`."""
    if not tokens.well_formed(tokens.Prefix.admission_token, value):
        raise Refused(Refusal.admission_token_invalid)


async def check(tx: Transaction, provider_id: bytes, value: str, now: int) -> None:
    """Refuse what `consume` would refuse, before slow work is spent on it. Only `consume` decides."""
    check_form(value)
    row = await tx.one(READ, token_hash=tokens.digest(value), provider_id=provider_id)
    if row is None or row[0] is not None or row[1] <= now:
        raise _refusal(row)


async def prune(tx: Transaction, before: int, limit: int) -> int:
    """Forget some tokens that expired before a time; how many."""
    return await tx.run(PRUNE, before=before, limit=limit)


async def _use(tx: Transaction, sql: str, provider_id: bytes, value: str, used_by: str, now: int) -> None:
    token_hash = tokens.digest(value)
    if await tx.run(sql, token_hash=token_hash, provider_id=provider_id, used_by=used_by, now=now):
        return
    raise _refusal(await tx.one(READ, token_hash=token_hash, provider_id=provider_id))


def _refusal(row: Row | None) -> Refused:
    # Whoever holds 256 bits is not probing: the reason may be told. Another provider's token is an unknown one.
    if row is None:
        return Refused(Refusal.admission_token_invalid)
    if row[0] is not None:
        return Refused(Refusal.admission_token_used)
    return Refused(Refusal.admission_token_expired)
