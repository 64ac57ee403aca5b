"""Key store sessions: a string with a limited lifetime that says who is calling."""

import hmac
from typing import NamedTuple

from strongroom.keystore import users
from strongroom.keystore.users import StoredKeystoreUser
from strongroom.runtime import tokens
from strongroom.runtime.clock import wire_time
from strongroom.runtime.ids import new_hidden_id, to_text
from strongroom.runtime.principals import KeystoreSession
from strongroom.services import sessions
from strongroom.storage import Transaction
from strongroom.wire.keystore import Session
from strongroom.wire.refusal import Refusal, Refused

INSERT = """
INSERT INTO sessions (user_id, id, provider_id, secret_hash, valid_from, valid_till, revoked_at)
VALUES (:user_id, :id, :provider_id, :secret_hash, :valid_from, :valid_till, NULL)
"""
READ = """
SELECT sessions.secret_hash, sessions.provider_id, sessions.valid_from, sessions.valid_till, sessions.revoked_at,
       users.suspended_at
FROM sessions JOIN users ON users.id = sessions.user_id
WHERE sessions.user_id = :user_id AND sessions.id = :id
"""
RECHECK = """
SELECT 1 FROM users JOIN sessions ON sessions.user_id = users.id
WHERE users.id = :user_id AND sessions.id = :id AND users.suspended_at IS NULL
  AND sessions.revoked_at IS NULL AND sessions.valid_till > :now
"""
STILL = "SELECT 1 FROM users WHERE id = :user_id AND passphrase_generation = :generation AND suspended_at IS NULL"

prune = sessions.prune
revoke = sessions.revoke


class Parts(NamedTuple):
    """What a session string consists of."""

    user_id: bytes
    session_id: bytes
    secret_hash: bytes


async def create(
    tx: Transaction, *, provider_id: bytes, user: StoredKeystoreUser, renewed_hash: str | None, now: int, lifetime: int
) -> Session:
    """A new session beside those the user already has. The string is shown this once and stored as a hash.

    `renewed_hash` replaces the stored hash of the passphrase where pepper or cost have moved on. `invalid_credentials`
    where the user was suspended, or the passphrase changed, while it was being checked.
    """
    # Before the hold: two logins that both hold the user and then want to change it would wait for each other.
    if renewed_hash is not None:
        await users.replace_hash(tx, user.id, user.passphrase_hash, renewed_hash)
    unknown = Refused(Refusal.invalid_credentials)
    await tx.lock_or_raise(unknown, STILL, user_id=user.id, generation=user.passphrase_generation)
    session_id = new_hidden_id()
    text, secret_hash = tokens.mint_session(user.id, session_id)
    await tx.execute(
        INSERT,
        user_id=user.id,
        id=session_id,
        provider_id=provider_id,
        secret_hash=secret_hash,
        valid_from=now,
        valid_till=now + lifetime,
    )
    return Session(
        session_authentication_string=text,
        id=to_text(session_id),
        valid_from=wire_time(now),
        valid_till=wire_time(now + lifetime),
        username=user.username,
    )


def parse(text: str) -> Parts:
    """What a session string names, before any query; `session_invalid` for what can be no session string."""
    parsed = tokens.parse_session(text)
    if parsed is None:
        raise Refused(Refusal.session_invalid)
    return Parts(*parsed)


async def authenticate(tx: Transaction, provider_id: bytes, parts: Parts, now: int) -> KeystoreSession:
    """Whose session this is; `session_invalid` for anything unknown, ended, or of another provider."""
    user_id, session_id, secret_hash = parts
    row = await tx.one(READ, user_id=user_id, id=session_id)
    if row is None:
        raise Refused(Refusal.session_invalid)
    stored_hash, stored_provider, valid_from, valid_till, revoked_at, suspended_at = row
    if (
        not hmac.compare_digest(stored_hash, secret_hash)
        or stored_provider != provider_id
        or revoked_at is not None
        or suspended_at is not None
        or not valid_from <= now < valid_till
    ):
        raise Refused(Refusal.session_invalid)
    return KeystoreSession(provider_id, user_id, session_id)


async def recheck(tx: Transaction, who: KeystoreSession, now: int) -> None:
    """Inside a write: the session has not ended since the request came in, and cannot until the write is done."""
    await tx.lock_or_raise(Refused(Refusal.session_invalid), RECHECK, user_id=who.user_id, id=who.session_id, now=now)
