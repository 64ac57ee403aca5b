"""`Calls`, for blocking code. Written by `make docs` from the async core: change that one."""

from typing import final

from strongroom.client.blocking.background import Background
from strongroom.client.calls import AsyncCalls
from strongroom.client.calls.base import SessionString
from strongroom.wire import keystore, system, vault


@final
class Calls:
    """Nothing is derived, encrypted or checked here beyond the shape of the answer: `register` and `unlock` do that.

    Each method raises `ServiceRefused`, `ServiceUnavailable` or `ProtocolViolation`.
    """

    def __init__(self, core: AsyncCalls, background: Background) -> None:
        self._core = core
        self._background = background

    def __repr__(self) -> str:
        return repr(self._core).removeprefix("Async")

    def issue_admission_token(self) -> keystore.AdmissionToken:
        """Issue an admission token with the provider API key (spec: key store 1)."""
        return self._background.run(self._core.issue_admission_token())

    def create_user(self, admission_token: str, username: str, passphrase: str) -> keystore.User:
        """Create the key store user (spec: key store 2). `passphrase` is sent as given: hand in a login secret."""
        return self._background.run(self._core.create_user(admission_token, username, passphrase))

    def create_session(self, username: str, passphrase: str) -> keystore.Session:
        """Log in (spec: key store 3). `passphrase` is sent as given: hand in a login secret."""
        return self._background.run(self._core.create_session(username, passphrase))

    def delete_session(self, session: SessionString) -> None:
        """Log out of the key store."""
        self._background.run(self._core.delete_session(session))

    def store_passphrase_derivation_artefact(
        self, session: SessionString, derivation_artefacts: str, verification_artefacts: str = ""
    ) -> keystore.PassphraseDerivationArtefact:
        """Store the derivation artefacts (spec: key store 4); other bytes than the stored ones are refused."""
        return self._background.run(
            self._core.store_passphrase_derivation_artefact(session, derivation_artefacts, verification_artefacts)
        )

    def read_passphrase_derivation_artefact(self, session: SessionString) -> keystore.PassphraseDerivationArtefact:
        """Read the stored derivation artefacts (spec: key store 5)."""
        return self._background.run(self._core.read_passphrase_derivation_artefact(session))

    def store_key_encryption_key(
        self, session: SessionString, serialized_key_encryption_key: str
    ) -> keystore.KeyEncryptionKey:
        """Store the encrypted KEK (spec: key store 6); other bytes than the stored ones are refused."""
        return self._background.run(self._core.store_key_encryption_key(session, serialized_key_encryption_key))

    def read_key_encryption_key(self, session: SessionString) -> keystore.KeyEncryptionKey:
        """Read the encrypted KEK."""
        return self._background.run(self._core.read_key_encryption_key(session))

    def store_data_encryption_key(
        self, session: SessionString, serialized_data_encryption_key: str
    ) -> keystore.DataEncryptionKey:
        """Store an encrypted DEK (spec: key store 7)."""
        return self._background.run(self._core.store_data_encryption_key(session, serialized_data_encryption_key))

    def list_data_encryption_keys(
        self, session: SessionString, page: int | None = None, per: int | None = None
    ) -> keystore.DataEncryptionKeysResponse:
        """List the encrypted DEKs, oldest first; all of them without `page` and `per`."""
        return self._background.run(self._core.list_data_encryption_keys(session, page, per))

    def read_data_encryption_key(
        self, session: SessionString, data_encryption_key_id: str
    ) -> keystore.DataEncryptionKey:
        """Read one encrypted DEK."""
        return self._background.run(self._core.read_data_encryption_key(session, data_encryption_key_id))

    def store_keypair(
        self,
        session: SessionString,
        public_key: str,
        encrypted_serialized_key: str,
        external_identifiers: list[str] | None = None,
    ) -> keystore.Keypair:
        """Store a keypair with its tags and empty metadata (spec: key store 8)."""
        return self._background.run(
            self._core.store_keypair(session, public_key, encrypted_serialized_key, external_identifiers)
        )

    def list_keypairs(
        self, session: SessionString, page: int | None = None, per: int | None = None
    ) -> keystore.KeypairsResponse:
        """List the keypairs, oldest first; all of them without `page` and `per`."""
        return self._background.run(self._core.list_keypairs(session, page, per))

    def read_keypair(self, session: SessionString, keypair_id: str) -> keystore.Keypair:
        """Read one keypair."""
        return self._background.run(self._core.read_keypair(session, keypair_id))

    def read_keypair_by_external_identifier(self, session: SessionString, identifier: str) -> keystore.Keypair:
        """Read the keypair that carries this tag."""
        return self._background.run(self._core.read_keypair_by_external_identifier(session, identifier))

    def read_external_admission_token(self, session: SessionString) -> keystore.ExternalAdmissionToken:
        """Obtain the vault admission token through the key store (spec: key store 9)."""
        return self._background.run(self._core.read_external_admission_token(session))

    def issue_vault_admission_token(self) -> keystore.AdmissionToken:
        """Issue an admission token that opens the vault only, with the provider API key (spec: key store rule 1)."""
        return self._background.run(self._core.issue_vault_admission_token())

    def create_vault_user(self, public_key: str, admission_token: str) -> vault.VaultUserResponse:
        """Create the vault user of a public key (spec: vault 10)."""
        return self._background.run(self._core.create_vault_user(public_key, admission_token))

    def create_vault_session(self, public_key: str) -> vault.VaultSession:
        """Log in to the vault: the answer is for the holder of the private key (spec: vault 11)."""
        return self._background.run(self._core.create_vault_session(public_key))

    def delete_vault_session(self, vault_session: SessionString) -> None:
        """Log out of the vault."""
        self._background.run(self._core.delete_vault_session(vault_session))

    def list_classification_nodes(
        self,
        vault_session: SessionString,
        scheme_name: str | None = None,
        by_name: str | None = None,
        page: int | None = None,
        per: int | None = None,
    ) -> vault.ClassificationNodesResponse:
        """List classification nodes (spec: vault 12). Everything in a node is the service's word: show it as text."""
        return self._background.run(
            self._core.list_classification_nodes(vault_session, scheme_name, by_name, page, per)
        )

    def read_classification_node(self, vault_session: SessionString, node_id: str) -> vault.PlacedClassificationNode:
        """Read one classification node with its parent."""
        return self._background.run(self._core.read_classification_node(vault_session, node_id))

    def read_image(self, image_id: str) -> bytes:
        """The picture of a node, from this service's own address and without any credential, whatever its URL says."""
        return self._background.run(self._core.read_image(image_id))

    def healthz(self) -> system.Health:
        """Whether the process is alive."""
        return self._background.run(self._core.healthz())

    def readyz(self) -> system.Health:
        """Whether the databases answer and take writes; if not, `ServiceUnavailable`."""
        return self._background.run(self._core.readyz())

    def version(self) -> system.Version:
        """What runs at the key store's address."""
        return self._background.run(self._core.version())
