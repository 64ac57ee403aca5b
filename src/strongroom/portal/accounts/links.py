"""One-time links in mail to developers: to reset a password, to change an address."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from strongroom.runtime import tokens
from strongroom.runtime.clock import HOUR
from strongroom.storage import Transaction

Purpose: TypeAlias = Literal["reset", "change_email"]

LIFETIME = 2 * HOUR

INSERT = """
INSERT INTO developer_links (link_hash, purpose, developer_id, email, expires_at)
VALUES (:link_hash, :purpose, :developer_id, :email, :expires_at)
"""
FIND = """
SELECT developer_id, email FROM developer_links
WHERE link_hash = :link_hash AND purpose = :purpose AND expires_at > :now
"""
CONSUME = "DELETE FROM developer_links WHERE link_hash = :link_hash AND expires_at > :now"
FORGET = "DELETE FROM developer_links WHERE developer_id = :developer_id AND purpose = :purpose"
FORGET_ALL = "DELETE FROM developer_links WHERE developer_id = :developer_id"
PRUNE = """
DELETE FROM developer_links WHERE link_hash IN
    (SELECT link_hash FROM developer_links WHERE expires_at <= :now LIMIT :limit)
"""


@dataclass(frozen=True, slots=True)
class Link:
    developer_id: bytes
    email: str
    """The address the link was sent to."""


async def issue(tx: Transaction, purpose: Purpose, developer_id: bytes, email: str, now: int) -> str:
    """The value of a new link, good for two hours; an earlier one for the same purpose ends."""
    link = tokens.mint(tokens.Prefix.portal_link)
    await tx.execute(FORGET, developer_id=developer_id, purpose=purpose)
    await tx.execute(
        INSERT,
        link_hash=tokens.digest(link),
        purpose=purpose,
        developer_id=developer_id,
        email=email,
        expires_at=now + LIFETIME,
    )
    return link


async def find(tx: Transaction, purpose: Purpose, link: str, now: int) -> Link | None:
    if not tokens.well_formed(tokens.Prefix.portal_link, link):
        return None
    row = await tx.one(FIND, link_hash=tokens.digest(link), purpose=purpose, now=now)
    return None if row is None else Link(*row)


async def consume(tx: Transaction, purpose: Purpose, link: str, now: int) -> Link | None:
    """Use the link up, in the caller's transaction; None where it was used or is over."""
    found = await find(tx, purpose, link, now)
    if found is None or not await tx.run(CONSUME, link_hash=tokens.digest(link), now=now):
        return None
    return found


async def forget_all(tx: Transaction, developer_id: bytes) -> None:
    """End every link: after a change of the password, an earlier link must not undo it."""
    await tx.execute(FORGET_ALL, developer_id=developer_id)


async def prune(tx: Transaction, now: int, limit: int) -> int:
    return await tx.run(PRUNE, now=now, limit=limit)
