"""Vault sessions: strings that only the holder of a private key can read and the server can check without a row.

Issuing a string writes nothing. Its row is made when it is first used, and kept, revoked or not, until it has expired.
"""

import hashlib
import hmac
import struct
from typing import NamedTuple

from strongroom.crypto import grammar
from strongroom.crypto.errors import MalformedKey
from strongroom.crypto.public_keys import PublicKey
from strongroom.runtime import ids
from strongroom.runtime.clock import DAY
from strongroom.runtime.principals import VaultSession
from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Row, Transaction
from strongroom.vault.area import Vault
from strongroom.wire.refusal import Refusal, Refused

FIND_USER = """
SELECT f.user_id, u.session_generation, u.suspended_at
FROM public_key_fingerprints f JOIN users u ON u.user_id = f.user_id
WHERE f.fingerprint = :fingerprint AND f.provider_id = :provider_id
"""

# The epoch stands in the same statement so that an authenticated read stays one statement.
CHECK = """
SELECT u.provider_id, u.session_generation, u.suspended_at, s.generation, s.expires_at, s.revoked_at,
       (SELECT value FROM store_meta WHERE name = 'restore_epoch')
FROM users u LEFT JOIN sessions s ON s.user_id = u.user_id AND s.session_id = :session_id
WHERE u.user_id = :user_id
"""

RECHECK = """
SELECT 1 FROM users u JOIN sessions s ON s.user_id = u.user_id
WHERE u.user_id = :user_id AND s.session_id = :session_id AND u.provider_id = :provider_id
  AND u.suspended_at IS NULL AND s.revoked_at IS NULL AND s.generation = u.session_generation AND s.expires_at > :now
"""

FIRST_USE = """
INSERT INTO sessions (user_id, session_id, generation, first_used_at, expires_at)
VALUES (:user_id, :session_id, :generation, :now, :expires_at)
ON CONFLICT (user_id, session_id) DO NOTHING
"""

REVOKE = """
UPDATE sessions SET revoked_at = :now WHERE user_id = :user_id AND session_id = :session_id AND revoked_at IS NULL
"""

# Of the sessions that are about to be forgotten the users keep the time of the newest.
KEEP_LAST = """
UPDATE users SET last_session_at =
    coalesce((SELECT max(first_used_at) FROM sessions WHERE sessions.user_id = users.user_id), last_session_at)
WHERE user_id IN (
    SELECT user_id FROM sessions WHERE expires_at <= :expired_by ORDER BY expires_at, user_id, session_id LIMIT :limit
)
"""

PRUNE = """
DELETE FROM sessions WHERE (user_id, session_id) IN (
    SELECT user_id, session_id FROM sessions WHERE expires_at <= :expired_by
    ORDER BY expires_at, user_id, session_id LIMIT :limit
)
"""

_LABEL = "vault-session"
_FIELDS = struct.Struct(">B16s16sQQQ")
_MAC_SIZE = hashlib.sha256().digest_size
_FIRST_GENERATION = 1
_PRUNE_LIMIT = 500
# A machine whose clock is behind must still find the row of a string that was revoked.
_KEPT_AFTER_EXPIRY = DAY


class Claims(NamedTuple):
    """What a session string says, checked to have been written by this service. In the order of `_FIELDS`."""

    user_id: bytes
    session_id: bytes
    issued_at: int
    expires_at: int
    generation: int


def encrypted_string(vault: Vault, public_key: PublicKey, user_id: bytes, generation: int = _FIRST_GENERATION) -> str:
    """A new session string for the holder of the private key, `Rsa4096....`. Nothing is stored."""
    now = vault.clock.now()
    claims = Claims(user_id, ids.new_hidden_id(), now, now + vault.session_lifetime_ms, generation)
    text = grammar.vault_session_string(vault.realm_tag, _body(vault.secret, claims))
    return public_key.encrypt(text.encode("ascii"))


async def create(vault: Vault, provider_id: bytes, pem: str) -> str:
    """Log in (spec: vault 11): an encrypted session string for the user of this public key. Writes nothing.

    `malformed_public_key`; `invalid_credentials`, the same for an unknown key, another provider's and a suspended user.
    """
    try:
        public_key = PublicKey.parse(pem)
    except MalformedKey:
        raise Refused(Refusal.malformed_public_key, pointer="/public_key") from None

    async def find(tx: Transaction) -> Row | None:
        return await tx.one(FIND_USER, fingerprint=public_key.fingerprint_bytes, provider_id=provider_id)

    row = await vault.store.read(find)
    known = row is not None and row[2] is None
    user_id, generation = row[:2] if row is not None else (ids.new_hidden_id(), _FIRST_GENERATION)
    # Encrypted for unknown keys too: the time of the answer must not tell which keys have an account.
    encrypted = encrypted_string(vault, public_key, user_id, generation)
    if not known:
        raise Refused(Refusal.invalid_credentials)
    return encrypted


async def authenticate(vault: Vault, provider_id: bytes, text: str) -> VaultSession:
    """The session of a string, for the provider whose subscription key was sent; else `session_invalid`.

    Forged, expired and foreign strings cost no query. The first use of a string makes its row; later uses only read.
    """
    claims = _claims(vault.secret, vault.realm_tag, text)
    now = vault.clock.now()
    # The lifetime counts again, so that an operator who shortens it shortens the sessions that are open.
    if claims is None or now >= min(claims.expires_at, claims.issued_at + vault.session_lifetime_ms):
        raise Refused(Refusal.session_invalid)
    session = VaultSession(provider_id, claims.user_id, claims.session_id)

    async def look(tx: Transaction) -> bool:
        return await _look(tx, session, now, claims)

    async def first_use(tx: Transaction) -> None:
        await tx.execute(
            FIRST_USE,
            user_id=claims.user_id,
            session_id=claims.session_id,
            generation=claims.generation,
            now=now,
            expires_at=claims.expires_at,
        )
        # Whoever made the row, it is read again: it may be a revoked one.
        await _look(tx, session, now, claims)

    if not await vault.store.read(look):
        # Nor from the future: where the clock was set back, a restore may have ended sessions at an earlier time.
        if abs(now - claims.issued_at) > vault.first_use_window_ms:
            raise Refused(Refusal.session_invalid)
        await vault.store.write(first_use)
    return session


async def recheck(tx: Transaction, session: VaultSession, now: int) -> None:
    """Part of every write for a user, in its transaction: nothing happens after an acknowledged logout."""
    await tx.lock_or_raise(
        Refused(Refusal.session_invalid),
        RECHECK,
        user_id=session.user_id,
        session_id=session.session_id,
        provider_id=session.provider_id,
        now=now,
    )


async def revoke(tx: Transaction, session: VaultSession, now: int) -> None:
    """Log out: the string opens nothing any more, at once and everywhere."""
    await tx.execute(REVOKE, user_id=session.user_id, session_id=session.session_id, now=now)


async def prune(tx: Transaction, now: int) -> int:
    """Forget sessions that expired more than a day ago, at most 500 of them; how many."""
    expired_by = now - _KEPT_AFTER_EXPIRY
    await tx.execute(KEEP_LAST, expired_by=expired_by, limit=_PRUNE_LIMIT)
    return await tx.run(PRUNE, expired_by=expired_by, limit=_PRUNE_LIMIT)


async def _look(tx: Transaction, session: VaultSession, now: int, claims: Claims) -> bool:
    """True for a live session, False where the user is in order but the string has no row yet; else a refusal."""
    row = await tx.one(CHECK, user_id=session.user_id, session_id=session.session_id)
    if row is None:
        raise Refused(Refusal.session_invalid)
    provider_id, current_generation, suspended_at, generation, expires_at, revoked_at, restore_epoch = row
    if provider_id != session.provider_id or suspended_at is not None or revoked_at is not None:
        raise Refused(Refusal.session_invalid)
    # A store put back from a backup may have lost a logout, so nothing issued before that is believed.
    if claims.generation != current_generation or (restore_epoch is not None and claims.issued_at < restore_epoch):
        raise Refused(Refusal.session_invalid)
    if expires_at is None:
        return False
    if generation != current_generation or now >= expires_at:
        raise Refused(Refusal.session_invalid)
    return True


def _body(secret: ServerSecret, claims: Claims) -> bytes:
    fields = _FIELDS.pack(secret.current_id, *claims)
    return fields + secret.mac(_LABEL, fields)


def _claims(secret: ServerSecret, realm_tag: str, text: str) -> Claims | None:
    """What the string says, or None unless it was made for this realm with a server secret that is still active."""
    body = grammar.vault_session_body(text, realm_tag)
    if body is None or len(body) != _FIELDS.size + _MAC_SIZE:
        return None
    fields, mac = body[: _FIELDS.size], body[_FIELDS.size :]
    key_id, *said = _FIELDS.unpack(fields)
    key = secret.key(_LABEL, key_id)
    if key is None or not hmac.compare_digest(hmac.digest(key, fields, hashlib.sha256), mac):
        return None
    return Claims(*said)
