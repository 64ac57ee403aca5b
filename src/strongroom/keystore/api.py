"""The key store's endpoints in the order of the specification: each opens its transaction and calls the resource."""

from strongroom.http.answers import Answer
from strongroom.http.call import Bare, WithBody, WithPath, WithQuery
from strongroom.keystore import (
    admission_tokens,
    data_encryption_keys,
    encrypted_fields,
    key_encryption_key,
    keypairs,
    passphrase_derivation_artefact,
    session,
    users,
)
from strongroom.keystore.area import Keystore
from strongroom.runtime.ids import from_text, new_row_id, to_text
from strongroom.runtime.principals import KeystoreSession, Provider, Service, Subscription
from strongroom.services import passphrase_hashing
from strongroom.wire import keystore as wire
from strongroom.wire.paging import Paging
from strongroom.wire.refusal import Refusal, Refused

SAME = 200  # identical bytes posted again


class KeystoreApi:
    def __init__(self, area: Keystore) -> None:
        self._area = area

    async def issue_admission_token(self, call: Bare[Provider]) -> wire.AdmissionTokenResponse:
        now = self._area.clock.now()
        lifetime = self._area.admission_token_lifetime
        token = await self._area.store.write(lambda tx: admission_tokens.issue(tx, call.who.provider_id, now, lifetime))
        return wire.AdmissionTokenResponse(token)

    async def create_user(self, call: WithBody[Subscription, wire.CreateUser]) -> wire.UserResponse:
        store, now = self._area.store, self._area.clock.now()
        users.check_passphrase(call.body.passphrase)
        name = users.canonical(call.body.username)
        if (
            call.who.derived_only
            and passphrase_hashing.cost_class(call.body.passphrase) is not passphrase_hashing.CostClass.derived
        ):
            raise Refused(Refusal.derived_secret_required, pointer="/passphrase")
        admission_tokens.check_form(call.body.admission_token)
        # Slow hashing is for those who hold a token; the insert decides again.
        await store.read(lambda tx: admission_tokens.check(tx, call.who.provider_id, call.body.admission_token, now))
        passphrase_hash = await self._area.passphrases.hash(call.body.passphrase)
        user_id = new_row_id(now)
        await store.write(
            lambda tx: users.create(
                tx,
                provider_id=call.who.provider_id,
                user_id=user_id,
                username=call.body.username,
                canonical_name=name,
                passphrase_hash=passphrase_hash,
                token=call.body.admission_token,
                now=now,
            )
        )
        return wire.UserResponse(wire.User(id=to_text(user_id), username=call.body.username))

    async def create_session(self, call: WithBody[Subscription, wire.CreateSession]) -> wire.SessionResponse:
        store = self._area.store
        try:
            users.check_passphrase(call.body.passphrase)
            name = users.canonical(call.body.username)
        except Refused:
            # An impossible name or passphrase is answered like a wrong one.
            raise Refused(Refusal.invalid_credentials) from None
        user = await store.read(lambda tx: users.find(tx, call.who.provider_id, name))
        matches = await self._area.passphrases.verify(call.body.passphrase, user.passphrase_hash if user else None)
        if user is None or not matches or user.suspended_at is not None:
            raise Refused(Refusal.invalid_credentials)
        stale = self._area.passphrases.is_stale(user.passphrase_hash)
        renewed = await self._area.passphrases.hash(call.body.passphrase) if stale else None
        now, lifetime = self._area.clock.now(), self._area.session_lifetime
        return wire.SessionResponse(
            await store.write(
                lambda tx: session.create(
                    tx,
                    provider_id=call.who.provider_id,
                    user=user,
                    renewed_hash=renewed,
                    now=now,
                    lifetime=lifetime,
                )
            )
        )

    async def delete_session(self, call: Bare[KeystoreSession]) -> None:
        now = self._area.clock.now()
        await self._area.store.write(lambda tx: session.revoke(tx, call.who, now))

    async def store_passphrase_derivation_artefact(
        self, call: WithBody[KeystoreSession, wire.StorePassphraseDerivationArtefact]
    ) -> wire.PassphraseDerivationArtefactResponse:
        passphrase_derivation_artefact.check(call.body)
        return wire.PassphraseDerivationArtefactResponse(
            await self._area.write_for(
                call.who, lambda tx, now: passphrase_derivation_artefact.store(tx, call.who.user_id, call.body, now)
            )
        )

    async def read_passphrase_derivation_artefact(
        self, call: Bare[KeystoreSession]
    ) -> wire.PassphraseDerivationArtefactResponse:
        return wire.PassphraseDerivationArtefactResponse(
            await self._area.store.read(lambda tx: passphrase_derivation_artefact.read(tx, call.who.user_id))
        )

    async def store_key_encryption_key(
        self, call: WithBody[KeystoreSession, wire.StoreKeyEncryptionKey]
    ) -> Answer[wire.KeyEncryptionKeyResponse]:
        serialized = call.body.serialized_key_encryption_key
        encrypted_fields.check(serialized, "/serialized_key_encryption_key")
        stored, created = await self._area.write_for(
            call.who, lambda tx, now: key_encryption_key.store(tx, call.who.user_id, serialized, now)
        )
        return Answer(wire.KeyEncryptionKeyResponse(stored), 201 if created else SAME)

    async def read_key_encryption_key(self, call: Bare[KeystoreSession]) -> wire.KeyEncryptionKeyResponse:
        return wire.KeyEncryptionKeyResponse(
            await self._area.store.read(lambda tx: key_encryption_key.read(tx, call.who.user_id))
        )

    async def store_data_encryption_key(
        self, call: WithBody[KeystoreSession, wire.StoreDataEncryptionKey]
    ) -> Answer[wire.DataEncryptionKeyResponse]:
        serialized = call.body.serialized_data_encryption_key
        encrypted_fields.check(serialized, "/serialized_data_encryption_key")
        stored, created = await self._area.write_for(
            call.who, lambda tx, now: data_encryption_keys.store(tx, call.who.user_id, serialized, now)
        )
        return Answer(wire.DataEncryptionKeyResponse(stored), 201 if created else SAME)

    async def list_data_encryption_keys(
        self, call: WithQuery[KeystoreSession, Paging]
    ) -> wire.DataEncryptionKeysResponse:
        return await self._area.store.read_many(
            lambda tx: data_encryption_keys.list_all(tx, call.who.user_id, call.query)
        )

    async def read_data_encryption_key(
        self, call: WithPath[KeystoreSession, wire.DataEncryptionKeyPath]
    ) -> wire.DataEncryptionKeyResponse:
        return wire.DataEncryptionKeyResponse(
            await self._area.store.read(lambda tx: data_encryption_keys.read(tx, call.who.user_id, call.path.id))
        )

    async def store_keypair(self, call: WithBody[KeystoreSession, wire.StoreKeypair]) -> Answer[wire.KeypairResponse]:
        key = keypairs.check(call.body)
        stored, created = await self._area.write_for(
            call.who, lambda tx, now: keypairs.store(tx, call.who.user_id, call.body, key.fingerprint, now)
        )
        return Answer(wire.KeypairResponse(stored), 201 if created else SAME)

    async def list_keypairs(self, call: WithQuery[KeystoreSession, Paging]) -> wire.KeypairsResponse:
        return await self._area.store.read_many(lambda tx: keypairs.list_all(tx, call.who.user_id, call.query))

    async def read_keypair(self, call: WithPath[KeystoreSession, wire.KeypairPath]) -> wire.KeypairResponse:
        return wire.KeypairResponse(
            await self._area.store.read(lambda tx: keypairs.read(tx, call.who.user_id, call.path.id))
        )

    async def read_keypair_by_external_identifier(
        self, call: WithPath[KeystoreSession, wire.ExternalIdentifierPath]
    ) -> wire.KeypairResponse:
        return wire.KeypairResponse(
            await self._area.store.read(lambda tx: keypairs.read_tagged(tx, call.who.user_id, call.path.identifier))
        )

    async def read_external_admission_token(self, call: Bare[KeystoreSession]) -> wire.ExternalAdmissionTokenResponse:
        fingerprint = await self._area.store.read(lambda tx: keypairs.vault_fingerprint(tx, call.who.user_id))
        value = await self._area.issue_vault_admission_token(call.who.provider_id, call.who.user_id, fingerprint)
        return wire.ExternalAdmissionTokenResponse(wire.ExternalAdmissionToken(value))

    async def claim_admission_token(self, call: WithBody[Service, wire.ClaimAdmissionToken]) -> None:
        provider_id = from_text(call.body.provider_id)
        if provider_id is None:
            raise Refused(Refusal.admission_token_invalid)
        await self.claim(provider_id, call.body.token_value, call.body.claimant)

    async def claim(self, provider_id: bytes, token_value: str, claimant: str) -> None:
        """For the vault, in process or over HTTP: use the token up for the holder of a public key."""
        admission_tokens.check_form(token_value)
        now = self._area.clock.now()
        await self._area.store.write(lambda tx: admission_tokens.claim(tx, provider_id, token_value, claimant, now))
