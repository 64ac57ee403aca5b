"""The vault's endpoints in the order of the specification: who calls, what they send, what they get."""

from strongroom.http.answers import Stream, Versioned
from strongroom.http.call import Bare, WithBody, WithPath, WithQuery
from strongroom.runtime import ids
from strongroom.runtime.principals import Provider, Service, Subscription, VaultSession
from strongroom.vault import admission_tokens, classification_nodes, images, session, users
from strongroom.vault.area import Vault
from strongroom.wire.keystore import AdmissionTokenResponse
from strongroom.wire.refusal import Refusal, Refused
from strongroom.wire.vault import (
    ClassificationNodePath,
    ClassificationNodeQuery,
    ClassificationNodeResponse,
    ClassificationNodesResponse,
    CreateVaultSession,
    CreateVaultUser,
    ExternalAdmissionTokenValue,
    ImagePath,
    IssueExternalAdmissionToken,
    VaultSessionResponse,
    VaultUserResponse,
)
from strongroom.wire.vault import VaultSession as VaultSessionRecord


class VaultApi:
    """One method per endpoint of `wire.vault`, named like it."""

    def __init__(self, vault: Vault) -> None:
        self._vault = vault

    async def create_vault_user(self, call: WithBody[Subscription, CreateVaultUser]) -> VaultUserResponse:
        new = await users.create(
            self._vault, call.who.provider_id, call.body.user.public_key, call.body.user.admission_token
        )
        encrypted = session.encrypted_string(self._vault, new.public_key, new.user_id)
        return VaultUserResponse(id=ids.to_text(new.user_id), encrypted_session_authentication_string=encrypted)

    async def create_vault_session(self, call: WithBody[Subscription, CreateVaultSession]) -> VaultSessionResponse:
        encrypted = await session.create(self._vault, call.who.provider_id, call.body.public_key)
        return VaultSessionResponse(VaultSessionRecord(encrypted_session_authentication_string=encrypted))

    async def delete_vault_session(self, call: Bare[VaultSession]) -> None:
        now = self._vault.clock.now()
        await self._vault.store.write(lambda tx: session.revoke(tx, call.who, now))

    async def list_classification_nodes(
        self, call: WithQuery[VaultSession, ClassificationNodeQuery]
    ) -> Versioned[ClassificationNodesResponse]:
        # The version is read before the nodes: an import in between leaves new nodes under an old version, which costs
        # their holder one more transfer. The other way round old nodes would pass for new ones.
        store, public_url = self._vault.store, self._vault.public_url
        etag = await store.read(lambda tx: classification_nodes.version(tx, public_url, call.query))
        return Versioned(
            etag, lambda: store.read(lambda tx: classification_nodes.list_nodes(tx, public_url, call.query))
        )

    async def read_classification_node(
        self, call: WithPath[VaultSession, ClassificationNodePath]
    ) -> ClassificationNodeResponse:
        public_url = self._vault.public_url
        return ClassificationNodeResponse(
            await self._vault.store.read(lambda tx: classification_nodes.read(tx, public_url, call.path.id))
        )

    async def read_image(self, call: WithPath[None, ImagePath]) -> Stream:
        return await self._vault.store.read(lambda tx: images.read(tx, call.path.id))

    async def issue_vault_admission_token(self, call: Bare[Provider]) -> AdmissionTokenResponse:
        now = self._vault.clock.now()
        lifetime = self._vault.admission_token_lifetime_ms
        token = await self._vault.store.write(
            lambda tx: admission_tokens.issue(tx, call.who.provider_id, now, lifetime)
        )
        return AdmissionTokenResponse(token)

    async def issue_external_admission_token(
        self, call: WithBody[Service, IssueExternalAdmissionToken]
    ) -> ExternalAdmissionTokenValue:
        provider_id, keystore_user_id = ids.from_text(call.body.provider_id), ids.from_text(call.body.keystore_user_id)
        if provider_id is None or keystore_user_id is None:
            raise Refused(Refusal.validation_failed, "Ids are lower-case UUIDs.")
        return ExternalAdmissionTokenValue(
            await admission_tokens.issue_external(self._vault, provider_id, keystore_user_id, call.body.fingerprint)
        )
