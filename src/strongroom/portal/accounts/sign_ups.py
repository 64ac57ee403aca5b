"""Sign-ups: stored until the link in the mail proves that the address belongs to the developer."""

from dataclasses import dataclass

from strongroom.portal.accounts import developers
from strongroom.runtime import tokens
from strongroom.runtime.clock import DAY
from strongroom.storage import Transaction

LIFETIME = DAY

INSERT = """
INSERT INTO sign_ups (link_hash, email, name, password_hash, expires_at)
VALUES (:link_hash, :email, :name, :password_hash, :expires_at)
"""
FIND = "SELECT email, name, password_hash FROM sign_ups WHERE link_hash = :link_hash AND expires_at > :now"
CONSUME = "DELETE FROM sign_ups WHERE link_hash = :link_hash AND expires_at > :now"
FORGET = "DELETE FROM sign_ups WHERE email = :email"
PRUNE = """
DELETE FROM sign_ups WHERE link_hash IN (SELECT link_hash FROM sign_ups WHERE expires_at <= :now LIMIT :limit)
"""


@dataclass(frozen=True, slots=True, repr=False)
class SignUp:
    email: str
    name: str
    password_hash: str


async def create(tx: Transaction, sign_up: SignUp, now: int) -> str:
    """The value of the one-time link. Several sign-ups for one address may wait; the first confirmed one counts."""
    link = tokens.mint(tokens.Prefix.portal_link)
    await tx.execute(
        INSERT,
        link_hash=tokens.digest(link),
        email=sign_up.email,
        name=sign_up.name,
        password_hash=sign_up.password_hash,
        expires_at=now + LIFETIME,
    )
    return link


async def find(tx: Transaction, link: str, now: int) -> SignUp | None:
    if not tokens.well_formed(tokens.Prefix.portal_link, link):
        return None
    row = await tx.one(FIND, link_hash=tokens.digest(link), now=now)
    return None if row is None else SignUp(*row)


async def confirm(tx: Transaction, link: str, now: int) -> bytes | None:
    """The new developer's id; None where the link was used, is over, or the address has a developer already."""
    sign_up = await find(tx, link, now)
    # The deletion decides: of two who confirm at the same time one finds the row gone.
    if sign_up is None or not await tx.run(CONSUME, link_hash=tokens.digest(link), now=now):
        return None
    await tx.execute(FORGET, email=sign_up.email)
    return await developers.create(tx, sign_up.email, sign_up.name, sign_up.password_hash, now)


async def prune(tx: Transaction, now: int, limit: int) -> int:
    return await tx.run(PRUNE, now=now, limit=limit)
