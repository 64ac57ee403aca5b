"""Rate limits of the portal: counted in the database, so that all processes count together."""

from dataclasses import dataclass

from strongroom.portal.accounts.emails import mailbox
from strongroom.runtime.clock import DAY, HOUR, MINUTE
from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Transaction

COUNT = """
INSERT INTO attempts (bucket, amount, ends_at) VALUES (:bucket, 1, :ends_at)
ON CONFLICT (bucket) DO UPDATE SET
    amount = CASE WHEN attempts.ends_at <= :now THEN 1 ELSE attempts.amount + 1 END,
    ends_at = CASE WHEN attempts.ends_at <= :now THEN :ends_at ELSE attempts.ends_at END
"""
REMEMBER = """
INSERT INTO attempts (bucket, amount, ends_at) VALUES (:bucket, 0, :ends_at)
ON CONFLICT (bucket) DO UPDATE SET ends_at = :ends_at
"""
READ = "SELECT amount, ends_at FROM attempts WHERE bucket = :bucket"
FORGET = "DELETE FROM attempts WHERE bucket = :bucket"
PRUNE = "DELETE FROM attempts WHERE bucket IN (SELECT bucket FROM attempts WHERE ends_at <= :now LIMIT :limit)"


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `times` within a window that begins with the first of them."""

    name: str
    times: int
    window: int
    """Milliseconds."""


SIGN_IN_FROM = Limit("sign-in-from", 30, 10 * MINUTE)
"""Sign-ins from one network address, for any account."""
SIGN_IN_AS_FROM = Limit("sign-in-as-from", 10, 15 * MINUTE)
"""Sign-ins for one account from one network."""
SIGN_IN_AS = Limit("sign-in-as", 200, DAY)
"""Sign-ins for one account from all networks it was not signed in from lately: strangers cannot lock its owner out."""
KNOWN = 30 * DAY
"""For how long a network counts as one that the owner of an account signs in from."""
SECOND_FACTOR = Limit("second-factor", 10, 15 * MINUTE)
"""Codes tried for one account, whose password the caller knows."""
SECOND_FACTOR_DAY = Limit("second-factor-day", 50, DAY)
"""The same over a day, against slow guessing: fifty tries a day against three valid codes in a million
are 150 in a million."""
CHALLENGES_FROM = Limit("challenges-from", 60, 10 * MINUTE)
"""Challenges for passkeys that one network asks for: each is a row for five minutes."""
CONFIRM_PASSWORD = Limit("confirm-password", 10, 15 * MINUTE)
"""The password asked again within a session, for one account."""
ACTS = Limit("acts", 120, 10 * MINUTE)
"""Acts of one developer in organisations: many of them leave permanent rows."""
CLOSINGS = Limit("closings", 10, DAY)
"""Organisations that one developer closes: their names stay taken, and they no longer count as owned."""
MAIL_FROM = Limit("mail-from", 20, HOUR)
"""Messages that one network address causes."""
MAIL_TO_FROM = Limit("mail-to-from", 3, HOUR)
"""Messages to one mailbox that one network causes."""
MAIL_TO = Limit("mail-to", 10, HOUR)
"""Messages of one kind to one mailbox from all networks: high enough that a stranger cannot use up the owner's."""
OPERATOR_NEWS = Limit("operator-news", 5, HOUR)
"""Messages to one operator about subscriptions that wait: the operator's page lists all of them."""


class TooMany(Exception):
    """The limit is reached; `retry_after` seconds to wait."""

    def __init__(self, retry_after: int) -> None:
        super().__init__()
        self.retry_after = retry_after


async def count(tx: Transaction, secret: ServerSecret, limit: Limit, key: str, now: int) -> int:
    """Count one more, before the work itself; how many there are now. `TooMany` above the limit.

    Raised within the transaction, which undoes the count: further tries do not prolong the wait.
    """
    bucket = _bucket(secret, limit, key)
    await tx.execute(COUNT, bucket=bucket, now=now, ends_at=now + limit.window)
    row = await tx.one(READ, bucket=bucket)
    assert row is not None
    amount, ends_at = row
    if amount > limit.times:
        raise TooMany(max(1, (ends_at - now + 999) // 1000))
    return int(amount)


async def count_mail(tx: Transaction, secret: ServerSecret, kind: str, email: str, network: str, now: int) -> None:
    """Count one more message that the owner of the address may not have requested; `TooMany`."""
    box = mailbox(email)
    await count(tx, secret, MAIL_TO_FROM, f"{box}\x00{network}", now)
    # Each kind alone: a stranger who causes sign-up mail must not keep the owner from resetting the password.
    await count(tx, secret, MAIL_TO, f"{kind}\x00{box}", now)


async def remember_network(tx: Transaction, secret: ServerSecret, account: str, network: str, now: int) -> None:
    """The right password for this account came from this network."""
    await tx.execute(REMEMBER, bucket=_known(secret, account, network), ends_at=now + KNOWN)


async def is_known_network(tx: Transaction, secret: ServerSecret, account: str, network: str, now: int) -> bool:
    row = await tx.one(READ, bucket=_known(secret, account, network))
    return row is not None and row[1] > now


async def forget(tx: Transaction, secret: ServerSecret, limit: Limit, key: str) -> None:
    """Reset the count after a success, so that only failures add up."""
    await tx.execute(FORGET, bucket=_bucket(secret, limit, key))


async def prune(tx: Transaction, now: int, limit: int) -> int:
    return await tx.run(PRUNE, now=now, limit=limit)


def _known(secret: ServerSecret, account: str, network: str) -> bytes:
    return secret.mac("portal-limits", f"known\x00{account}\x00{network}".encode())


def _bucket(secret: ServerSecret, limit: Limit, key: str) -> bytes:
    # The database learns neither which addresses were tried nor from where.
    return secret.mac("portal-limits", f"{limit.name}\x00{key}".encode())
