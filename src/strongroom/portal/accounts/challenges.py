"""Challenges: what a passkey has to sign, good once, for one caller and one purpose."""

from typing import Literal, TypeAlias

from strongroom.runtime import tokens
from strongroom.runtime.clock import MINUTE
from strongroom.storage import Transaction

Purpose: TypeAlias = Literal["register", "sign_in"]

LIFETIME = 5 * MINUTE

INSERT = """
INSERT INTO passkey_challenges (challenge_hash, purpose, bound_to, expires_at)
VALUES (:challenge_hash, :purpose, :bound_to, :expires_at)
"""
USE = """
DELETE FROM passkey_challenges
WHERE challenge_hash = :challenge_hash AND purpose = :purpose AND bound_to = :bound_to AND expires_at > :now
"""
PRUNE = """
DELETE FROM passkey_challenges WHERE challenge_hash IN
    (SELECT challenge_hash FROM passkey_challenges WHERE expires_at <= :now LIMIT :limit)
"""


async def remember(tx: Transaction, challenge: bytes, purpose: Purpose, binding: str, now: int) -> None:
    """`binding` is the cookie of the caller; the challenge is valid for that caller alone."""
    await tx.execute(
        INSERT,
        challenge_hash=tokens.digest(challenge.hex()),
        purpose=purpose,
        bound_to=tokens.digest(binding),
        expires_at=now + LIFETIME,
    )


async def use(tx: Transaction, challenge: bytes, purpose: Purpose, binding: str, now: int) -> bool:
    """Use it up; false where it is unknown, another caller's, used before or expired."""
    used = await tx.run(
        USE, challenge_hash=tokens.digest(challenge.hex()), purpose=purpose, bound_to=tokens.digest(binding), now=now
    )
    return used == 1


async def prune(tx: Transaction, now: int, limit: int) -> int:
    return await tx.run(PRUNE, now=now, limit=limit)
