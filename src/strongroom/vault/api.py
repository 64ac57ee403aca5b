"""The vault's endpoints in the order of the specification: who calls, what they send, what they get."""

from strongroom.http.answers import Stream, Versioned
from strongroom.http.call import Bare, WithBody, WithPath, WithQuery
from strongroom.runtime import ids
from strongroom.runtime.principals import Provider, Service, Subscription, VaultSession
from strongroom.vault import admission_tokens, classification_nodes, images, session, users
from strongroom.vault.area import Vault
from strongroom.wire import keystore as keystore_wire
from strongroom.wire import vault as wire
from strongroom.wire.refusal import Refusal, Refused


class VaultApi:
    """One method per endpoint of `wire.vault`, named like it."""

    def __init__(self, area: Vault) -> None:
        self._area = area

    async def create_vault_user(self, call: WithBody[Subscription, wire.CreateVaultUser]) -> wire.VaultUserResponse:
        store, token, now = self._area.store, call.body.user.admission_token, self._area.clock.now()
        admission_tokens.check_form(token)
        public_key = users.check_public_key(call.body.user.public_key, "/user/public_key")
        fingerprint, claimed_till = public_key.fingerprint_bytes, None
        if not await store.read(lambda tx: admission_tokens.is_known(tx, token)):
            # A claim binds the token to this key for good, so it is not made for a key that cannot be admitted. Says
            # nothing new: a login with the key tells the same.
            if await store.read(lambda tx: admission_tokens.has_account(tx, call.who.provider_id, fingerprint)):
                raise users.public_key_taken()
            # The key store keeps a claimed token for this public key: should the insert fail, its holder may try again.
            await self._area.claim_admission_token(call.who.provider_id, token, public_key.fingerprint)
            claimed_till = now + self._area.admission_token_lifetime
        user_id = ids.new_row_id(now)
        await store.write(
            lambda tx: users.create(
                tx,
                provider_id=call.who.provider_id,
                user_id=user_id,
                public_key=public_key,
                token=token,
                claimed_till=claimed_till,
                now=now,
            )
        )
        encrypted = public_key.encrypt(self._session_string(user_id, session.FIRST_GENERATION))
        return wire.VaultUserResponse(id=ids.to_text(user_id), encrypted_session_authentication_string=encrypted)

    async def create_vault_session(
        self, call: WithBody[Subscription, wire.CreateVaultSession]
    ) -> wire.VaultSessionResponse:
        public_key = users.parse_public_key(call.body.public_key, "/public_key")
        fingerprint = public_key.fingerprint_bytes
        user = await self._area.store.read(lambda tx: users.find(tx, call.who.provider_id, fingerprint))
        user_id, generation = (ids.new_hidden_id(), session.FIRST_GENERATION) if user is None else user[:2]
        # Encrypted for unknown keys too: the time of the answer must not tell which keys have an account.
        encrypted = public_key.encrypt(self._session_string(user_id, generation))
        if user is None or user.suspended_at is not None:
            raise Refused(Refusal.invalid_credentials)
        return wire.VaultSessionResponse(wire.VaultSession(encrypted_session_authentication_string=encrypted))

    async def delete_vault_session(self, call: Bare[VaultSession]) -> None:
        now = self._area.clock.now()
        await self._area.store.write(lambda tx: session.revoke(tx, call.who, now))

    async def list_classification_nodes(
        self, call: WithQuery[VaultSession, wire.ClassificationNodeQuery]
    ) -> Versioned[wire.ClassificationNodesResponse]:
        # The version is read before the nodes: an import in between leaves new nodes under an old version, which costs
        # their holder one more transfer. The other way round old nodes would pass for new ones.
        store, public_url = self._area.store, self._area.public_url
        etag = await store.read(lambda tx: classification_nodes.version(tx, public_url, call.query))
        return Versioned(
            etag, lambda: store.read(lambda tx: classification_nodes.list_nodes(tx, public_url, call.query))
        )

    async def read_classification_node(
        self, call: WithPath[VaultSession, wire.ClassificationNodePath]
    ) -> wire.ClassificationNodeResponse:
        public_url = self._area.public_url
        return wire.ClassificationNodeResponse(
            await self._area.store.read(lambda tx: classification_nodes.read(tx, public_url, call.path.id))
        )

    async def read_image(self, call: WithPath[None, wire.ImagePath]) -> Stream:
        return await self._area.store.read(lambda tx: images.read(tx, call.path.id))

    async def issue_vault_admission_token(self, call: Bare[Provider]) -> keystore_wire.AdmissionTokenResponse:
        now = self._area.clock.now()
        lifetime = self._area.admission_token_lifetime
        token = await self._area.store.write(lambda tx: admission_tokens.issue(tx, call.who.provider_id, now, lifetime))
        return keystore_wire.AdmissionTokenResponse(token)

    async def issue_external_admission_token(
        self, call: WithBody[Service, wire.IssueExternalAdmissionToken]
    ) -> wire.ExternalAdmissionTokenValue:
        provider_id, keystore_user_id = ids.from_text(call.body.provider_id), ids.from_text(call.body.keystore_user_id)
        if provider_id is None or keystore_user_id is None:
            raise Refused(Refusal.validation_failed, "Ids are lower-case UUIDs.")
        return wire.ExternalAdmissionTokenValue(
            await self.issue_external(provider_id, keystore_user_id, call.body.fingerprint)
        )

    async def issue_external(self, provider_id: bytes, keystore_user_id: bytes, fingerprint: str | None) -> str:
        """For the key store, in process or over HTTP: the admission token of one of its users (spec: key store 9).

        The same one until it is used or has expired. `vault_account_exists` once the key store user, or the public key
        with this fingerprint, has a vault user.
        """
        store, secret, now = self._area.store, self._area.secret, self._area.clock.now()
        lifetime, key = self._area.admission_token_lifetime, admission_tokens.parse_fingerprint(fingerprint)
        live = await store.read(
            lambda tx: admission_tokens.find_external(tx, secret, provider_id, keystore_user_id, key, now)
        )
        if live is not None:
            return live
        return await store.write(
            lambda tx: admission_tokens.issue_external(tx, secret, provider_id, keystore_user_id, key, now, lifetime)
        )

    def _session_string(self, user_id: bytes, generation: int) -> bytes:
        area = self._area
        return session.issue(
            area.secret, area.realm_tag, user_id, generation, area.clock.now(), area.session_lifetime
        ).encode("ascii")
