"""The single calls: every endpoint as one method that takes plain values and returns the record of the contract."""

from typing import Final, TypeAlias

from strongroom.client.connection import Connection, presentable
from strongroom.client.conversation import (
    Awaiting,
    AwaitingDriver,
    Blocking,
    BlockingDriver,
    Conversation,
    Plain,
    exposed,
)
from strongroom.client.errors import ProtocolViolation
from strongroom.crypto.secret import Secret
from strongroom.wire import keystore, system, vault
from strongroom.wire.endpoint import Endpoint
from strongroom.wire.paging import Paging

SessionString: TypeAlias = str | Secret[str]

KEYSTORE: Final = {endpoint.name: endpoint for endpoint in keystore.ENDPOINTS}
VAULT: Final = {endpoint.name: endpoint for endpoint in vault.ENDPOINTS}
SYSTEM: Final = {endpoint.name: endpoint for endpoint in system.ENDPOINTS}


def _secret(session: SessionString) -> Secret[str]:
    return presentable(session if isinstance(session, str) else session.reveal())


class Calls:
    """Nothing is derived, encrypted or checked here beyond the shape of the answer: `register` and `unlock` do that.

    Each method raises `ServiceRefused`, `ServiceUnavailable` or `ProtocolViolation`.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection!r})"

    # Key store, in the order of the specification

    @exposed
    def issue_admission_token(self) -> Conversation[keystore.AdmissionToken]:
        """Issue an admission token with the provider API key (spec: key store 1)."""
        response = yield from self._connection.ask(
            KEYSTORE["issue_admission_token"],
            keystore.AdmissionTokenResponse,
            credential=self._connection.provider_api_key,
        )
        return response.admission_token

    @exposed
    def create_user(self, admission_token: str, username: str, passphrase: str) -> Conversation[keystore.User]:
        """Create the key store user (spec: key store 2). `passphrase` is sent as given: hand in a login secret."""
        body = keystore.CreateUser(admission_token=admission_token, username=username, passphrase=passphrase)
        response = yield from self._connection.ask(KEYSTORE["create_user"], keystore.UserResponse, body=body)
        return response.user

    @exposed
    def create_session(self, username: str, passphrase: str) -> Conversation[keystore.Session]:
        """Log in (spec: key store 3). `passphrase` is sent as given: hand in a login secret."""
        body = keystore.CreateSession(username=username, passphrase=passphrase)
        response = yield from self._connection.ask(KEYSTORE["create_session"], keystore.SessionResponse, body=body)
        return response.session

    @exposed
    def delete_session(self, session: SessionString) -> Conversation[None]:
        """Log out of the key store."""
        yield from self._connection.converse(KEYSTORE["delete_session"], credential=_secret(session))

    @exposed
    def store_passphrase_derivation_artefact(
        self, session: SessionString, derivation_artefacts: str, verification_artefacts: str = ""
    ) -> Conversation[keystore.PassphraseDerivationArtefact]:
        """Store the derivation artefacts (spec: key store 4); other bytes than the stored ones are refused."""
        response = yield from self._connection.ask(
            KEYSTORE["store_passphrase_derivation_artefact"],
            keystore.PassphraseDerivationArtefactResponse,
            body=keystore.StorePassphraseDerivationArtefact(
                derivation_artefacts=derivation_artefacts, verification_artefacts=verification_artefacts
            ),
            credential=_secret(session),
        )
        return response.passphrase_derivation_artefact

    @exposed
    def read_passphrase_derivation_artefact(
        self, session: SessionString
    ) -> Conversation[keystore.PassphraseDerivationArtefact]:
        """Read the stored derivation artefacts (spec: key store 5)."""
        response = yield from self._connection.ask(
            KEYSTORE["read_passphrase_derivation_artefact"],
            keystore.PassphraseDerivationArtefactResponse,
            credential=_secret(session),
        )
        return response.passphrase_derivation_artefact

    @exposed
    def store_key_encryption_key(
        self, session: SessionString, serialized_key_encryption_key: str
    ) -> Conversation[keystore.KeyEncryptionKey]:
        """Store the encrypted KEK (spec: key store 6); other bytes than the stored ones are refused."""
        response = yield from self._connection.ask(
            KEYSTORE["store_key_encryption_key"],
            keystore.KeyEncryptionKeyResponse,
            body=keystore.StoreKeyEncryptionKey(serialized_key_encryption_key=serialized_key_encryption_key),
            credential=_secret(session),
        )
        return response.key_encryption_key

    @exposed
    def read_key_encryption_key(self, session: SessionString) -> Conversation[keystore.KeyEncryptionKey]:
        """Read the encrypted KEK."""
        response = yield from self._connection.ask(
            KEYSTORE["read_key_encryption_key"], keystore.KeyEncryptionKeyResponse, credential=_secret(session)
        )
        return response.key_encryption_key

    @exposed
    def store_data_encryption_key(
        self, session: SessionString, serialized_data_encryption_key: str
    ) -> Conversation[keystore.DataEncryptionKey]:
        """Store an encrypted DEK (spec: key store 7)."""
        response = yield from self._connection.ask(
            KEYSTORE["store_data_encryption_key"],
            keystore.DataEncryptionKeyResponse,
            body=keystore.StoreDataEncryptionKey(serialized_data_encryption_key=serialized_data_encryption_key),
            credential=_secret(session),
        )
        return response.data_encryption_key

    @exposed
    def list_data_encryption_keys(
        self, session: SessionString, page: int | None = None, per: int | None = None
    ) -> Conversation[keystore.DataEncryptionKeysResponse]:
        """List the encrypted DEKs, oldest first; all of them without `page` and `per`."""
        return (
            yield from self._connection.ask(
                KEYSTORE["list_data_encryption_keys"],
                keystore.DataEncryptionKeysResponse,
                query=Paging(page=page, per=per),
                credential=_secret(session),
            )
        )

    @exposed
    def read_data_encryption_key(
        self, session: SessionString, data_encryption_key_id: str
    ) -> Conversation[keystore.DataEncryptionKey]:
        """Read one encrypted DEK."""
        response = yield from self._connection.ask(
            KEYSTORE["read_data_encryption_key"],
            keystore.DataEncryptionKeyResponse,
            path={"id": data_encryption_key_id},
            credential=_secret(session),
        )
        return response.data_encryption_key

    @exposed
    def store_keypair(
        self,
        session: SessionString,
        public_key: str,
        encrypted_serialized_key: str,
        external_identifiers: list[str] | None = None,
    ) -> Conversation[keystore.Keypair]:
        """Store a keypair with its tags and empty metadata (spec: key store 8)."""
        response = yield from self._connection.ask(
            KEYSTORE["store_keypair"],
            keystore.KeypairResponse,
            body=keystore.StoreKeypair(
                encrypted_serialized_key=encrypted_serialized_key,
                public_key=public_key,
                external_identifiers=external_identifiers or [],
            ),
            credential=_secret(session),
        )
        return response.keypair

    @exposed
    def list_keypairs(
        self, session: SessionString, page: int | None = None, per: int | None = None
    ) -> Conversation[keystore.KeypairsResponse]:
        """List the keypairs, oldest first; all of them without `page` and `per`."""
        return (
            yield from self._connection.ask(
                KEYSTORE["list_keypairs"],
                keystore.KeypairsResponse,
                query=Paging(page=page, per=per),
                credential=_secret(session),
            )
        )

    @exposed
    def read_keypair(self, session: SessionString, keypair_id: str) -> Conversation[keystore.Keypair]:
        """Read one keypair."""
        response = yield from self._connection.ask(
            KEYSTORE["read_keypair"], keystore.KeypairResponse, path={"id": keypair_id}, credential=_secret(session)
        )
        return response.keypair

    @exposed
    def read_keypair_by_external_identifier(
        self, session: SessionString, identifier: str
    ) -> Conversation[keystore.Keypair]:
        """Read the keypair that carries this tag."""
        response = yield from self._connection.ask(
            KEYSTORE["read_keypair_by_external_identifier"],
            keystore.KeypairResponse,
            path={"identifier": identifier},
            credential=_secret(session),
        )
        return response.keypair

    @exposed
    def read_external_admission_token(self, session: SessionString) -> Conversation[keystore.ExternalAdmissionToken]:
        """Obtain the vault admission token through the key store (spec: key store 9)."""
        response = yield from self._connection.ask(
            KEYSTORE["read_external_admission_token"],
            keystore.ExternalAdmissionTokenResponse,
            credential=_secret(session),
        )
        return response.external_admission_token

    # Vault

    @exposed
    def issue_vault_admission_token(self) -> Conversation[keystore.AdmissionToken]:
        """Issue an admission token that opens the vault only, with the provider API key (spec: key store rule 1)."""
        response = yield from self._connection.ask(
            VAULT["issue_admission_token"],
            keystore.AdmissionTokenResponse,
            credential=self._connection.provider_api_key,
        )
        return response.admission_token

    @exposed
    def create_vault_user(self, public_key: str, admission_token: str) -> Conversation[vault.VaultUserResponse]:
        """Create the vault user of a public key (spec: vault 10)."""
        body = vault.CreateVaultUser(user=vault.NewVaultUser(public_key=public_key, admission_token=admission_token))
        return (yield from self._connection.ask(VAULT["create_user"], vault.VaultUserResponse, body=body))

    @exposed
    def create_vault_session(self, public_key: str) -> Conversation[vault.VaultSession]:
        """Log in to the vault: the answer is for the holder of the private key (spec: vault 11)."""
        body = vault.CreateVaultSession(public_key=public_key)
        response = yield from self._connection.ask(VAULT["create_session"], vault.VaultSessionResponse, body=body)
        return response.session

    @exposed
    def delete_vault_session(self, vault_session: SessionString) -> Conversation[None]:
        """Log out of the vault."""
        yield from self._connection.converse(VAULT["delete_session"], credential=_secret(vault_session))

    @exposed
    def list_classification_nodes(
        self,
        vault_session: SessionString,
        scheme_name: str | None = None,
        by_name: str | None = None,
        page: int | None = None,
        per: int | None = None,
    ) -> Conversation[vault.ClassificationNodesResponse]:
        """List classification nodes (spec: vault 12). Everything in a node is the service's word: show it as text."""
        return (
            yield from self._connection.ask(
                VAULT["list_classification_nodes"],
                vault.ClassificationNodesResponse,
                query=vault.ClassificationNodeQuery(page=page, per=per, scheme_name=scheme_name, by_name=by_name),
                credential=_secret(vault_session),
            )
        )

    @exposed
    def read_classification_node(
        self, vault_session: SessionString, node_id: str
    ) -> Conversation[vault.PlacedClassificationNode]:
        """Read one classification node with its parent."""
        response = yield from self._connection.ask(
            VAULT["read_classification_node"],
            vault.ClassificationNodeResponse,
            path={"id": node_id},
            credential=_secret(vault_session),
        )
        return response.classification_node

    @exposed
    def read_image(self, image_id: str) -> Conversation[bytes]:
        """The picture of a node, from this service's own address and without any credential, whatever its URL says."""
        endpoint: Endpoint = VAULT["read_image"]
        reply = yield from self._connection.converse(endpoint, path={"id": image_id})
        if reply.content_type.partition(";")[0].strip().lower() not in endpoint.media_types:
            raise ProtocolViolation("the image is not of a documented media type")
        return reply.body

    # What every process answers

    @exposed
    def healthz(self) -> Conversation[system.Health]:
        """Whether the process is alive."""
        return (yield from self._connection.ask(SYSTEM["healthz"], system.Health))

    @exposed
    def readyz(self) -> Conversation[system.Health]:
        """Whether the databases answer and take writes; if not, `ServiceUnavailable`."""
        return (yield from self._connection.ask(SYSTEM["readyz"], system.Health))

    @exposed
    def version(self) -> Conversation[system.Version]:
        """What runs at the key store's address."""
        return (yield from self._connection.ask(SYSTEM["version"], system.Version))


class PlainCalls(Calls, Plain):
    """For conversations: each call is used with `yield from`."""


class BlockingCalls(Calls, Blocking):
    """The calls as functions."""

    def __init__(self, connection: Connection, driver: BlockingDriver) -> None:
        super().__init__(connection)
        self._driver = driver


class AwaitingCalls(Calls, Awaiting):
    """The calls as coroutines."""

    def __init__(self, connection: Connection, driver: AwaitingDriver) -> None:
        super().__init__(connection)
        self._driver = driver
