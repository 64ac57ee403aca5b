"""The calls of the vault area, in the order of the specification."""

from strongroom.client.calls.base import CallsBase, SessionString
from strongroom.client.errors import ProtocolViolation
from strongroom.wire import keystore, vault


class VaultCalls(CallsBase):
    """Endpoints 10 to 12, logging out, single nodes and their images."""

    async def issue_vault_admission_token(self) -> keystore.AdmissionToken:
        """Issue an admission token that opens the vault only, with the provider API key (spec: key store rule 1)."""
        response = await self._connection.ask(vault.ISSUE_VAULT_ADMISSION_TOKEN, self._connection.provider_api_key)
        return response.admission_token

    async def create_vault_user(self, public_key: str, admission_token: str) -> vault.VaultUserResponse:
        """Create the vault user of a public key (spec: vault 10)."""
        body = vault.CreateVaultUser(user=vault.NewVaultUser(public_key=public_key, admission_token=admission_token))
        return await self._connection.ask(vault.CREATE_VAULT_USER, body=body)

    async def create_vault_session(self, public_key: str) -> vault.VaultSession:
        """Log in to the vault: the answer is for the holder of the private key (spec: vault 11)."""
        body = vault.CreateVaultSession(public_key=public_key)
        response = await self._connection.ask(vault.CREATE_VAULT_SESSION, body=body)
        return response.session

    async def delete_vault_session(self, vault_session: SessionString) -> None:
        """Log out of the vault."""
        await self._connection.converse(vault.DELETE_VAULT_SESSION, vault_session)

    async def list_classification_nodes(
        self,
        vault_session: SessionString,
        scheme_name: str | None = None,
        by_name: str | None = None,
        page: int | None = None,
        per: int | None = None,
    ) -> vault.ClassificationNodesResponse:
        """List classification nodes (spec: vault 12). Everything in a node is the service's word: show it as text."""
        query = vault.ClassificationNodeQuery(page=page, per=per, scheme_name=scheme_name, by_name=by_name)
        return await self._connection.ask(vault.LIST_CLASSIFICATION_NODES, vault_session, query=query)

    async def read_classification_node(
        self, vault_session: SessionString, node_id: str
    ) -> vault.PlacedClassificationNode:
        """Read one classification node with its parent."""
        path = vault.ClassificationNodePath(id=node_id)
        response = await self._connection.ask(vault.READ_CLASSIFICATION_NODE, vault_session, path=path)
        return response.classification_node

    async def read_image(self, image_id: str) -> bytes:
        """The picture of a node, from this service's own address and without any credential, whatever its URL says."""
        endpoint = vault.READ_IMAGE
        async with self._connection.stream(endpoint, path=vault.ImagePath(id=image_id)) as streamed:
            if streamed.header("content-type").partition(";")[0].strip().lower() not in endpoint.media_types:
                raise ProtocolViolation("the image is not of a documented media type")
            return (await streamed.whole()).body
