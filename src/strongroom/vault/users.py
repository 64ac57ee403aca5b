"""Vault users: each is the holder of one public key, admitted with one admission token."""

from dataclasses import dataclass

from strongroom.crypto.errors import MalformedKey
from strongroom.crypto.public_keys import PublicKey
from strongroom.runtime import ids, tokens
from strongroom.storage import Transaction
from strongroom.vault import admission_tokens
from strongroom.vault.area import Vault
from strongroom.wire.refusal import Refusal, Refused

INSERT_FINGERPRINT = """
INSERT INTO public_key_fingerprints (fingerprint, provider_id, user_id)
VALUES (:fingerprint, :provider_id, :user_id) ON CONFLICT (fingerprint, provider_id) DO NOTHING
"""

INSERT_KEYSTORE_USER = """
INSERT INTO keystore_users (keystore_user_id, provider_id, user_id)
VALUES (:keystore_user_id, :provider_id, :user_id) ON CONFLICT (keystore_user_id, provider_id) DO NOTHING
"""

INSERT = """
INSERT INTO users (user_id, provider_id, public_key, session_generation, created_at)
VALUES (:user_id, :provider_id, :public_key, 1, :now)
"""


@dataclass(frozen=True, slots=True)
class NewUser:
    user_id: bytes
    public_key: PublicKey


async def create(vault: Vault, provider_id: bytes, pem: str, admission_token: str) -> NewUser:
    """Create the user of a public key and use the admission token up (spec: vault 10).

    A key is known by its SPKI fingerprint and stored byte for byte as it was sent. Refused, with the token still good:
    `malformed_public_key`, `public_key_taken`, and `vault_account_exists` where the token's key store user has one.
    The token: `admission_token_invalid`, `admission_token_expired`, `admission_token_used`.
    """
    if not tokens.well_formed(tokens.Prefix.admission_token, admission_token):
        raise admission_tokens.invalid(Refusal.admission_token_invalid)
    public_key = _checked(pem)
    now = vault.clock.now()
    user_id = ids.new_row_id(now)

    async def look(tx: Transaction) -> tuple[bool, bool]:
        taken = await admission_tokens.has_account(tx, provider_id, public_key.fingerprint_bytes)
        return await admission_tokens.is_known(tx, admission_token), taken

    async def admit(tx: Transaction) -> None:
        keystore_user_id = await admission_tokens.consume(tx, admission_token, provider_id, user_id, now)
        await _insert(tx, user_id, provider_id, public_key, keystore_user_id, now)

    async def insert(tx: Transaction) -> None:
        await _insert(tx, user_id, provider_id, public_key, None, now)
        await admission_tokens.remember_claimed(tx, vault, admission_token, provider_id, user_id, now)

    known, taken = await vault.store.read(look)
    if known:
        await vault.store.write(admit)
    else:
        # A claim binds the token to this key for good, so it is not made for a key that cannot be admitted. Says
        # nothing new: a login with the key tells the same.
        if taken:
            raise Refused(Refusal.public_key_taken, pointer="/user/public_key")
        # The key store keeps a claimed token for this public key: should the insert fail, its holder may try again.
        await vault.claim_admission_token(admission_token, provider_id, public_key.fingerprint)
        await vault.store.write(insert)
    return NewUser(user_id, public_key)


def _checked(pem: str) -> PublicKey:
    try:
        public_key = PublicKey.parse(pem)
        # Only here, where a key enters: the search for weak factors takes milliseconds.
        public_key.check_strength()
    except MalformedKey:
        raise Refused(Refusal.malformed_public_key, pointer="/user/public_key") from None
    return public_key


async def _insert(
    tx: Transaction,
    user_id: bytes,
    provider_id: bytes,
    public_key: PublicKey,
    keystore_user_id: bytes | None,
    now: int,
) -> None:
    # The look-up tables decide: whoever gets a row in first has the key, and the key store user, for good.
    if not await tx.run(
        INSERT_FINGERPRINT, fingerprint=public_key.fingerprint_bytes, provider_id=provider_id, user_id=user_id
    ):
        raise Refused(Refusal.public_key_taken, pointer="/user/public_key")
    if keystore_user_id is not None and not await tx.run(
        INSERT_KEYSTORE_USER, keystore_user_id=keystore_user_id, provider_id=provider_id, user_id=user_id
    ):
        raise Refused(Refusal.vault_account_exists)
    await tx.run(INSERT, user_id=user_id, provider_id=provider_id, public_key=public_key.pem, now=now)
