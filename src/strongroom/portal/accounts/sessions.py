"""Sessions of the portal: a random token in a cookie, its hash in a row, a new token at every step up."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from strongroom.runtime import tokens
from strongroom.runtime.clock import MINUTE
from strongroom.runtime.ids import new_hidden_id
from strongroom.storage import Transaction

Stage: TypeAlias = Literal["password", "full"]
"""`password`: the second factor is still to come, and nothing else is open."""

INSERT = """
INSERT INTO developer_sessions (token_hash, id, developer_id, stage, agent, created_at, seen_at, expires_at)
VALUES (:token_hash, :id, :developer_id, :stage, :agent, :now, :now, :expires_at)
"""
FIND = """
SELECT sessions.id, sessions.developer_id, sessions.stage, sessions.agent, sessions.created_at, sessions.seen_at,
       sessions.expires_at, developers.email, developers.name
FROM developer_sessions AS sessions JOIN developers ON developers.id = sessions.developer_id
WHERE sessions.token_hash = :token_hash AND sessions.expires_at > :now AND sessions.seen_at > :idle_since
"""
TOUCH = "UPDATE developer_sessions SET seen_at = :now WHERE token_hash = :token_hash AND seen_at < :now"
LIST = """
SELECT sessions.id, sessions.developer_id, sessions.stage, sessions.agent, sessions.created_at, sessions.seen_at,
       sessions.expires_at, developers.email, developers.name
FROM developer_sessions AS sessions JOIN developers ON developers.id = sessions.developer_id
WHERE sessions.developer_id = :developer_id AND sessions.expires_at > :now AND sessions.seen_at > :idle_since
  AND sessions.stage = 'full'
ORDER BY sessions.seen_at DESC
"""
END = "DELETE FROM developer_sessions WHERE token_hash = :token_hash"
END_ONE = "DELETE FROM developer_sessions WHERE developer_id = :developer_id AND id = :id"
END_ALL = "DELETE FROM developer_sessions WHERE developer_id = :developer_id"
END_OTHERS = "DELETE FROM developer_sessions WHERE developer_id = :developer_id AND id <> :id"
PRUNE = """
DELETE FROM developer_sessions WHERE token_hash IN
    (SELECT token_hash FROM developer_sessions WHERE expires_at <= :now LIMIT :limit)
"""

HALF_LIFETIME = 10 * MINUTE
"""How long the second factor may take."""
TOUCH_EVERY = MINUTE
MAX_AGENT = 120


@dataclass(frozen=True, slots=True)
class Session:
    """A developer who signed in, as of the last look at the database."""

    id: bytes
    developer_id: bytes
    stage: Stage
    agent: str
    created_at: int
    seen_at: int
    expires_at: int
    email: str
    name: str


async def create(tx: Transaction, developer_id: bytes, stage: Stage, now: int, lifetime: int, agent: str = "") -> str:
    """A new session's token, for the cookie; `lifetime` in milliseconds, shorter while a second factor is missing."""
    token = tokens.mint(tokens.Prefix.portal_session)
    await tx.execute(
        INSERT,
        token_hash=tokens.digest(token),
        id=new_hidden_id(),
        developer_id=developer_id,
        stage=stage,
        agent=agent[:MAX_AGENT],
        now=now,
        expires_at=now + (lifetime if stage == "full" else min(lifetime, HALF_LIFETIME)),
    )
    return token


async def find(tx: Transaction, token: str, now: int, idle: int) -> Session | None:
    """The session of a token that is known, not over and used within the last `idle` milliseconds."""
    if not tokens.well_formed(tokens.Prefix.portal_session, token):
        return None
    row = await tx.one(FIND, token_hash=tokens.digest(token), now=now, idle_since=now - idle)
    return None if row is None else Session(*row)


async def touch(tx: Transaction, token: str, now: int) -> None:
    """Note that the session is in use."""
    await tx.execute(TOUCH, token_hash=tokens.digest(token), now=now)


async def list_of(tx: Transaction, developer_id: bytes, now: int, idle: int) -> list[Session]:
    """Where a developer is signed in, last used first."""
    rows = await tx.all(LIST, developer_id=developer_id, now=now, idle_since=now - idle)
    return [Session(*row) for row in rows]


async def end(tx: Transaction, token: str) -> bool:
    """False where it has ended before."""
    return await tx.run(END, token_hash=tokens.digest(token)) == 1


async def end_one(tx: Transaction, developer_id: bytes, session_id: bytes) -> bool:
    """False where the developer has no such session."""
    return await tx.run(END_ONE, developer_id=developer_id, id=session_id) == 1


async def end_all(tx: Transaction, developer_id: bytes, *, but: bytes | None = None) -> None:
    """End every session of a developer; `but` is the id of the one that is kept."""
    if but is None:
        await tx.execute(END_ALL, developer_id=developer_id)
    else:
        await tx.execute(END_OTHERS, developer_id=developer_id, id=but)


async def prune(tx: Transaction, now: int, limit: int) -> int:
    return await tx.run(PRUNE, now=now, limit=limit)
