"""Vault sessions: strings that only the holder of a private key can read and the server can check without a row.

Issuing a string writes nothing. Its row is made when it is first used, the time in `valid_from`, and kept, revoked or
not, until it has expired.
"""

import hashlib
import hmac
import struct
from typing import NamedTuple

from strongroom.crypto import grammar
from strongroom.runtime import ids
from strongroom.runtime.principals import VaultSession
from strongroom.runtime.secret import ServerSecret
from strongroom.services import sessions
from strongroom.storage import Transaction
from strongroom.wire.refusal import Refusal, Refused

# The epoch stands in the same statement so that an authenticated read stays one statement.
READ = """
SELECT users.provider_id, users.session_generation, users.suspended_at,
       sessions.generation, sessions.valid_till, sessions.revoked_at,
       (SELECT value FROM store_meta WHERE name = 'restore_epoch')
FROM users LEFT JOIN sessions ON sessions.user_id = users.id AND sessions.id = :id
WHERE users.id = :user_id
"""
RECHECK = """
SELECT 1 FROM users JOIN sessions ON sessions.user_id = users.id
WHERE users.id = :user_id AND sessions.id = :id AND users.provider_id = :provider_id
  AND users.suspended_at IS NULL AND sessions.revoked_at IS NULL
  AND sessions.generation = users.session_generation AND sessions.valid_till > :now
"""
INSERT = """
INSERT INTO sessions (user_id, id, generation, valid_from, valid_till)
VALUES (:user_id, :id, :generation, :now, :valid_till)
ON CONFLICT (user_id, id) DO NOTHING
"""
FIRST_GENERATION = 1
"""Of a new user's sessions: a suspension, for one, begins the next."""

_LABEL = "vault-session"
_FIELDS = struct.Struct(">B16s16sQQQ")
_MAC_SIZE = hashlib.sha256().digest_size

prune = sessions.prune
revoke = sessions.revoke


class Claims(NamedTuple):
    """What a session string says, checked to have been written by this service. In the order of `_FIELDS`."""

    user_id: bytes
    session_id: bytes
    issued_at: int
    expires_at: int
    generation: int


def issue(secret: ServerSecret, realm_tag: str, user_id: bytes, generation: int, now: int, lifetime: int) -> str:
    """A new session string in clear, to be encrypted for the user's public key. Nothing is stored."""
    claims = Claims(user_id, ids.new_hidden_id(), now, now + lifetime, generation)
    return grammar.vault_session_string(realm_tag, _body(secret, claims))


def parse(secret: ServerSecret, realm_tag: str, text: str, now: int, lifetime: int) -> Claims:
    """What the string says, before any query.

    `session_invalid` unless it was made for this realm with a server secret that is still active, and less than
    `lifetime` ago: an operator who shortens it shortens the sessions that are open.
    """
    claims = _claims(secret, realm_tag, text)
    if claims is None or now >= min(claims.expires_at, claims.issued_at + lifetime):
        raise Refused(Refusal.session_invalid)
    return claims


async def is_used(tx: Transaction, who: VaultSession, claims: Claims, now: int) -> bool:
    """True for a live session, False where the user is in order but the string has no row yet.

    `session_invalid` for anything else.
    """
    row = await tx.one(READ, user_id=who.user_id, id=who.session_id)
    if row is None:
        raise Refused(Refusal.session_invalid)
    provider_id, current_generation, suspended_at, generation, valid_till, revoked_at, restore_epoch = row
    if provider_id != who.provider_id or suspended_at is not None or revoked_at is not None:
        raise Refused(Refusal.session_invalid)
    # A store put back from a backup may have lost a logout, so nothing issued before that is believed.
    if claims.generation != current_generation or (restore_epoch is not None and claims.issued_at < restore_epoch):
        raise Refused(Refusal.session_invalid)
    if valid_till is None:
        return False
    if generation != current_generation or now >= valid_till:
        raise Refused(Refusal.session_invalid)
    return True


def check_first_use(claims: Claims, now: int, window: int) -> None:
    """`session_invalid` for a string that was issued more than `window` ago.

    Nor may it be from the future: where the clock was set back, a restore may have ended sessions at an earlier time.
    """
    if abs(now - claims.issued_at) > window:
        raise Refused(Refusal.session_invalid)


async def use_first(tx: Transaction, who: VaultSession, claims: Claims, now: int) -> None:
    """Make the string's row."""
    await tx.execute(
        INSERT,
        user_id=who.user_id,
        id=who.session_id,
        generation=claims.generation,
        now=now,
        valid_till=claims.expires_at,
    )
    # It is read again because another request may have made the row, and it may be revoked already.
    await is_used(tx, who, claims, now)


async def recheck(tx: Transaction, who: VaultSession, now: int) -> None:
    """Inside a write: the session has not ended since the request came in, and cannot until the write is done."""
    await tx.lock_or_raise(
        Refused(Refusal.session_invalid),
        RECHECK,
        user_id=who.user_id,
        id=who.session_id,
        provider_id=who.provider_id,
        now=now,
    )


def _body(secret: ServerSecret, claims: Claims) -> bytes:
    fields = _FIELDS.pack(secret.current_id, *claims)
    return fields + secret.mac(_LABEL, fields)


def _claims(secret: ServerSecret, realm_tag: str, text: str) -> Claims | None:
    body = grammar.vault_session_body(text, realm_tag)
    if body is None or len(body) != _FIELDS.size + _MAC_SIZE:
        return None
    fields, mac = body[: _FIELDS.size], body[_FIELDS.size :]
    key_id, *said = _FIELDS.unpack(fields)
    key = secret.key(_LABEL, key_id)
    if key is None or not hmac.compare_digest(hmac.digest(key, fields, hashlib.sha256), mac):
        return None
    return Claims(*said)
