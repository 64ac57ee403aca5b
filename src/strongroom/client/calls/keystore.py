"""The calls of the key store area, in the order of the specification."""

from strongroom.client.calls.base import CallsBase, SessionString
from strongroom.wire import keystore
from strongroom.wire.paging import Paging


class KeystoreCalls(CallsBase):
    """Endpoints 1 to 9 and what re-login needs."""

    async def issue_admission_token(self) -> keystore.AdmissionToken:
        """Issue an admission token with the provider API key (spec: key store 1)."""
        response = await self._connection.ask(keystore.ISSUE_ADMISSION_TOKEN, self._connection.provider_api_key)
        return response.admission_token

    async def create_user(self, admission_token: str, username: str, passphrase: str) -> keystore.User:
        """Create the key store user (spec: key store 2). `passphrase` is sent as given: hand in a login secret."""
        body = keystore.CreateUser(admission_token=admission_token, username=username, passphrase=passphrase)
        response = await self._connection.ask(keystore.CREATE_USER, body=body)
        return response.user

    async def create_session(self, username: str, passphrase: str) -> keystore.Session:
        """Log in (spec: key store 3). `passphrase` is sent as given: hand in a login secret."""
        body = keystore.CreateSession(username=username, passphrase=passphrase)
        response = await self._connection.ask(keystore.CREATE_SESSION, body=body)
        return response.session

    async def delete_session(self, session: SessionString) -> None:
        """Log out of the key store."""
        await self._connection.converse(keystore.DELETE_SESSION, session)

    async def store_passphrase_derivation_artefact(
        self, session: SessionString, derivation_artefacts: str, verification_artefacts: str = ""
    ) -> keystore.PassphraseDerivationArtefact:
        """Store the derivation artefacts (spec: key store 4); other bytes than the stored ones are refused."""
        body = keystore.StorePassphraseDerivationArtefact(
            derivation_artefacts=derivation_artefacts, verification_artefacts=verification_artefacts
        )
        response = await self._connection.ask(keystore.STORE_PASSPHRASE_DERIVATION_ARTEFACT, session, body=body)
        return response.passphrase_derivation_artefact

    async def read_passphrase_derivation_artefact(
        self, session: SessionString
    ) -> keystore.PassphraseDerivationArtefact:
        """Read the stored derivation artefacts (spec: key store 5)."""
        response = await self._connection.ask(keystore.READ_PASSPHRASE_DERIVATION_ARTEFACT, session)
        return response.passphrase_derivation_artefact

    async def store_key_encryption_key(
        self, session: SessionString, serialized_key_encryption_key: str
    ) -> keystore.KeyEncryptionKey:
        """Store the encrypted KEK (spec: key store 6); other bytes than the stored ones are refused."""
        body = keystore.StoreKeyEncryptionKey(serialized_key_encryption_key=serialized_key_encryption_key)
        response = await self._connection.ask(keystore.STORE_KEY_ENCRYPTION_KEY, session, body=body)
        return response.key_encryption_key

    async def read_key_encryption_key(self, session: SessionString) -> keystore.KeyEncryptionKey:
        """Read the encrypted KEK."""
        response = await self._connection.ask(keystore.READ_KEY_ENCRYPTION_KEY, session)
        return response.key_encryption_key

    async def store_data_encryption_key(
        self, session: SessionString, serialized_data_encryption_key: str
    ) -> keystore.DataEncryptionKey:
        """Store an encrypted DEK (spec: key store 7)."""
        body = keystore.StoreDataEncryptionKey(serialized_data_encryption_key=serialized_data_encryption_key)
        response = await self._connection.ask(keystore.STORE_DATA_ENCRYPTION_KEY, session, body=body)
        return response.data_encryption_key

    async def list_data_encryption_keys(
        self, session: SessionString, page: int | None = None, per: int | None = None
    ) -> keystore.DataEncryptionKeysResponse:
        """List the encrypted DEKs, oldest first; all of them without `page` and `per`."""
        return await self._connection.ask(keystore.LIST_DATA_ENCRYPTION_KEYS, session, query=Paging(page=page, per=per))

    async def read_data_encryption_key(
        self, session: SessionString, data_encryption_key_id: str
    ) -> keystore.DataEncryptionKey:
        """Read one encrypted DEK."""
        path = keystore.DataEncryptionKeyPath(id=data_encryption_key_id)
        response = await self._connection.ask(keystore.READ_DATA_ENCRYPTION_KEY, session, path=path)
        return response.data_encryption_key

    async def store_keypair(
        self,
        session: SessionString,
        public_key: str,
        encrypted_serialized_key: str,
        external_identifiers: list[str] | None = None,
    ) -> keystore.Keypair:
        """Store a keypair with its tags and empty metadata (spec: key store 8)."""
        body = keystore.StoreKeypair(
            encrypted_serialized_key=encrypted_serialized_key,
            public_key=public_key,
            external_identifiers=external_identifiers or [],
        )
        response = await self._connection.ask(keystore.STORE_KEYPAIR, session, body=body)
        return response.keypair

    async def list_keypairs(
        self, session: SessionString, page: int | None = None, per: int | None = None
    ) -> keystore.KeypairsResponse:
        """List the keypairs, oldest first; all of them without `page` and `per`."""
        return await self._connection.ask(keystore.LIST_KEYPAIRS, session, query=Paging(page=page, per=per))

    async def read_keypair(self, session: SessionString, keypair_id: str) -> keystore.Keypair:
        """Read one keypair."""
        response = await self._connection.ask(keystore.READ_KEYPAIR, session, path=keystore.KeypairPath(id=keypair_id))
        return response.keypair

    async def read_keypair_by_external_identifier(self, session: SessionString, identifier: str) -> keystore.Keypair:
        """Read the keypair that carries this tag."""
        path = keystore.ExternalIdentifierPath(identifier=identifier)
        response = await self._connection.ask(keystore.READ_KEYPAIR_BY_EXTERNAL_IDENTIFIER, session, path=path)
        return response.keypair

    async def read_external_admission_token(self, session: SessionString) -> keystore.ExternalAdmissionToken:
        """Obtain the vault admission token through the key store (spec: key store 9)."""
        response = await self._connection.ask(keystore.READ_EXTERNAL_ADMISSION_TOKEN, session)
        return response.external_admission_token
