"""Limits on what can be tried again and again: counted in the database, so that every process counts together."""

from dataclasses import dataclass

from strongroom.server.clock import DAY, HOUR, MINUTE
from strongroom.server.db import Transaction
from strongroom.server.secret import ServerSecret

COUNT = """
INSERT INTO attempts (bucket, amount, ends_at) VALUES (:bucket, 1, :ends_at)
ON CONFLICT (bucket) DO UPDATE SET
    amount = CASE WHEN attempts.ends_at <= :now THEN 1 ELSE attempts.amount + 1 END,
    ends_at = CASE WHEN attempts.ends_at <= :now THEN :ends_at ELSE attempts.ends_at END
"""
READ = "SELECT amount, ends_at FROM attempts WHERE bucket = :bucket"
FORGET = "DELETE FROM attempts WHERE bucket = :bucket"
PRUNE = "DELETE FROM attempts WHERE bucket IN (SELECT bucket FROM attempts WHERE ends_at <= :now LIMIT :limit)"


@dataclass(frozen=True, slots=True)
class Limit:
    """So many times in a window that begins with the first of them."""

    name: str
    times: int
    window: int
    """Milliseconds."""


SIGN_IN_FROM = Limit("sign-in-from", 30, 10 * MINUTE)
"""Sign-ins from one network address, whoever they are for."""
SIGN_IN_AS_FROM = Limit("sign-in-as-from", 10, 15 * MINUTE)
"""For one account from one network address: an attacker elsewhere does not lock its owner out."""
SIGN_IN_AS = Limit("sign-in-as", 200, DAY)
"""For one account from everywhere."""
SECOND_FACTOR = Limit("second-factor", 10, 15 * MINUTE)
"""Codes tried for one account, whose password the caller knows."""
CONFIRM_PASSWORD = Limit("confirm-password", 10, 15 * MINUTE)
"""The password asked again within a session, for one account."""
MAIL_FROM = Limit("mail-from", 20, HOUR)
"""Messages that one network address causes."""
MAIL_TO = Limit("mail-to", 3, HOUR)
"""Messages to one address that its owner may not have asked for."""


class TooMany(Exception):
    """The limit is reached; `retry_after` seconds to wait."""

    def __init__(self, retry_after: int) -> None:
        super().__init__()
        self.retry_after = retry_after


async def count(tx: Transaction, secret: ServerSecret, limit: Limit, key: str, now: int) -> None:
    """One more time, before the work it stands for; `TooMany` once the limit is passed.

    Raised within the transaction, which undoes the count: whoever keeps trying is not shut out for longer.
    """
    bucket = _bucket(secret, limit, key)
    await tx.put(COUNT, bucket=bucket, now=now, ends_at=now + limit.window)
    row = await tx.one(READ, bucket=bucket)
    assert row is not None
    amount, ends_at = row
    if amount > limit.times:
        raise TooMany(max(1, (ends_at - now + 999) // 1000))


async def forget(tx: Transaction, secret: ServerSecret, limit: Limit, key: str) -> None:
    """Start anew after a success, so that only failures add up."""
    await tx.put(FORGET, bucket=_bucket(secret, limit, key))


async def prune(tx: Transaction, now: int, limit: int) -> int:
    return await tx.run(PRUNE, now=now, limit=limit)


def _bucket(secret: ServerSecret, limit: Limit, key: str) -> bytes:
    # The database learns neither which addresses were tried nor from where.
    return secret.mac("portal-limits", f"{limit.name}\x00{key}".encode())
