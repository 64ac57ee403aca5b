"""Vault users: each is the holder of one public key, admitted with one admission token."""

from typing import NamedTuple

from strongroom.crypto.errors import MalformedKey
from strongroom.crypto.public_keys import PublicKey
from strongroom.storage import Transaction
from strongroom.vault import admission_tokens
from strongroom.wire.refusal import Refusal, Refused

INSERT = """
INSERT INTO users (id, provider_id, public_key, session_generation, created_at)
VALUES (:id, :provider_id, :public_key, 1, :now)
"""
TAKE_FINGERPRINT = """
INSERT INTO public_key_fingerprints (fingerprint, provider_id, user_id)
VALUES (:fingerprint, :provider_id, :user_id) ON CONFLICT (fingerprint, provider_id) DO NOTHING
"""
TAKE_KEYSTORE_USER = """
INSERT INTO keystore_users (keystore_user_id, provider_id, user_id)
VALUES (:keystore_user_id, :provider_id, :user_id) ON CONFLICT (keystore_user_id, provider_id) DO NOTHING
"""
BY_FINGERPRINT = """
SELECT users.id, users.session_generation, users.suspended_at
FROM public_key_fingerprints JOIN users ON users.id = public_key_fingerprints.user_id
WHERE public_key_fingerprints.fingerprint = :fingerprint AND public_key_fingerprints.provider_id = :provider_id
"""


class StoredVaultUser(NamedTuple):
    id: bytes
    session_generation: int
    suspended_at: int | None


def parse_public_key(pem: str, pointer: str) -> PublicKey:
    """`malformed_public_key`."""
    try:
        return PublicKey.parse(pem)
    except MalformedKey:
        raise Refused(Refusal.malformed_public_key, pointer=pointer) from None


def check_public_key(pem: str, pointer: str) -> PublicKey:
    """The same for a key that is to be stored: the search for weak factors takes milliseconds."""
    public_key = parse_public_key(pem, pointer)
    try:
        public_key.check_strength()
    except MalformedKey:
        raise Refused(Refusal.malformed_public_key, pointer=pointer) from None
    return public_key


async def create(
    tx: Transaction,
    *,
    provider_id: bytes,
    user_id: bytes,
    public_key: PublicKey,
    token: str,
    claimed_till: int | None,
    now: int,
) -> None:
    """Use up the token and insert the user of a public key, which is stored byte for byte as it was sent.

    `claimed_till` is None for a token of the vault's own. One that was claimed at the key store is remembered until
    then. Refused, with the token still good: `public_key_taken`, and `vault_account_exists` where the token's key
    store user has one. The token: `admission_token_invalid`, `admission_token_expired`, `admission_token_used`.
    """
    keystore_user_id = None
    if claimed_till is None:
        keystore_user_id = await admission_tokens.consume(tx, provider_id, token, user_id, now)
    # The look-up tables decide: the first row there has the key, and the key store user, for good.
    if not await tx.run(
        TAKE_FINGERPRINT, fingerprint=public_key.fingerprint_bytes, provider_id=provider_id, user_id=user_id
    ):
        raise public_key_taken()
    if keystore_user_id is not None and not await tx.run(
        TAKE_KEYSTORE_USER, keystore_user_id=keystore_user_id, provider_id=provider_id, user_id=user_id
    ):
        raise Refused(Refusal.vault_account_exists)
    await tx.execute(INSERT, id=user_id, provider_id=provider_id, public_key=public_key.pem, now=now)
    if claimed_till is not None:
        await admission_tokens.remember_claimed(tx, provider_id, token, user_id, now, claimed_till)


async def find(tx: Transaction, provider_id: bytes, fingerprint: bytes) -> StoredVaultUser | None:
    row = await tx.one(BY_FINGERPRINT, provider_id=provider_id, fingerprint=fingerprint)
    return None if row is None else StoredVaultUser(*row)


def public_key_taken() -> Refused:
    return Refused(Refusal.public_key_taken, pointer="/user/public_key")
