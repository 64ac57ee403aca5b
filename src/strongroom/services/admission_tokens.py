"""Admission tokens as key store and vault both keep them: issued by a provider, good for one use, stored as a hash.

An area that issues them has a table `admission_tokens` among its migrations with the columns named here. `used_by`
says who was admitted, in the area's own form.
"""

from strongroom.runtime import tokens
from strongroom.runtime.ids import new_row_id, to_text
from strongroom.storage import Row, Transaction
from strongroom.wire.keystore import AdmissionToken
from strongroom.wire.refusal import Refusal, Refused

INSERT = """
INSERT INTO admission_tokens (token_hash, provider_id, id, issued_at, expires_at)
VALUES (:token_hash, :provider_id, :id, :now, :expires_at)
"""
CONSUME = """
UPDATE admission_tokens SET used_at = :now, used_by = :used_by
WHERE token_hash = :token_hash AND provider_id = :provider_id AND used_at IS NULL AND expires_at > :now
"""
READ = "SELECT used_at, expires_at FROM admission_tokens WHERE token_hash = :token_hash AND provider_id = :provider_id"
# Expired at the time of issue, so that they are refused as expired; but not in the future, should the clock be behind.
EXPIRE_ALL = """
UPDATE admission_tokens SET expires_at = CASE WHEN issued_at < :now THEN issued_at ELSE :now END WHERE used_at IS NULL
"""
PRUNE = """
DELETE FROM admission_tokens WHERE token_hash IN
    (SELECT token_hash FROM admission_tokens WHERE expires_at < :before ORDER BY expires_at LIMIT :limit)
"""


async def issue(tx: Transaction, provider_id: bytes, now: int, lifetime: int) -> AdmissionToken:
    """A new token, stored as its hash; the value is shown this once. `lifetime` in milliseconds."""
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


def check_form(value: str, pointer: str | None = None) -> None:
    """Prefix and checksum, before any query: `admission_token_invalid`."""
    if not tokens.well_formed(tokens.Prefix.admission_token, value):
        raise Refused(Refusal.admission_token_invalid, pointer=pointer)


async def check(tx: Transaction, provider_id: bytes, value: str, now: int) -> None:
    """Refuse what `consume` would refuse, before slow work is spent on it. Only `consume` decides."""
    row = await tx.one(READ, token_hash=tokens.digest(value), provider_id=provider_id)
    if row is None or row[0] is not None or row[1] <= now:
        raise _refusal(row, None)


async def consume(
    tx: Transaction,
    provider_id: bytes,
    value: str,
    used_by: str | bytes,
    now: int,
    *,
    sql: str = CONSUME,
    pointer: str | None = None,
) -> None:
    """Use the token up, in the caller's transaction: if that fails, the token is still good.

    `admission_token_used`, `admission_token_expired`; another provider's token is `admission_token_invalid`, like one
    that does not exist. `sql` is the area's own condition where `CONSUME` is not the whole rule.
    """
    token_hash = tokens.digest(value)
    if not await tx.run(sql, token_hash=token_hash, provider_id=provider_id, used_by=used_by, now=now):
        raise _refusal(await tx.one(READ, token_hash=token_hash, provider_id=provider_id), pointer)


async def prune(tx: Transaction, before: int, limit: int) -> int:
    """Forget some tokens that expired before a time; how many."""
    return await tx.run(PRUNE, before=before, limit=limit)


def _refusal(row: Row | None, pointer: str | None) -> Refused:
    # A caller who holds 256 bits is not probing: the reason may be given.
    if row is None:
        return Refused(Refusal.admission_token_invalid, pointer=pointer)
    if row[0] is not None:
        return Refused(Refusal.admission_token_used, pointer=pointer)
    return Refused(Refusal.admission_token_expired, pointer=pointer)
