"""What key store and vault need of each other: a call in this process, or over HTTP where the other one runs apart."""

from strongroom.http.peer import Peer
from strongroom.keystore.api import KeystoreApi
from strongroom.keystore.area import Keystore
from strongroom.runtime.ids import to_text
from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Unavailable
from strongroom.vault import admission_tokens as vault_admission_tokens
from strongroom.vault.area import Vault
from strongroom.wire import keystore as keystore_wire
from strongroom.wire import vault as vault_wire


class BetweenAreas:
    """Each area is made with the calls it needs of the other, so both are put in here once they are made.

    `Unavailable` where the other area is neither in this process nor at a known address.
    """

    def __init__(self, other_area_url: str | None, secret: ServerSecret) -> None:
        self.keystore: Keystore | None = None
        self.vault: Vault | None = None
        self._url = other_area_url
        self._secret = secret
        self._peer: Peer | None = None

    @property
    def is_complete(self) -> bool:
        """Whether every area served here reaches the one it needs."""
        return (self.keystore is None) is (self.vault is None) or self._url is not None

    async def issue_vault_admission_token(self, provider_id: bytes, user_id: bytes, fingerprint: str | None) -> str:
        """What endpoint 9 needs of the vault."""
        if self.vault is not None:
            return await vault_admission_tokens.issue_external(self.vault, provider_id, user_id, fingerprint)
        body = vault_wire.IssueExternalAdmissionToken(to_text(provider_id), to_text(user_id), fingerprint)
        answer = await self._other().call(vault_wire.ISSUE_EXTERNAL_ADMISSION_TOKEN, body)
        return answer.token_value

    async def claim_admission_token(self, token_value: str, provider_id: bytes, claimant: str) -> None:
        """What endpoint 10 needs of the key store."""
        if self.keystore is not None:
            await KeystoreApi(self.keystore).claim(token_value, provider_id, claimant)
        else:
            body = keystore_wire.ClaimAdmissionToken(token_value, to_text(provider_id), claimant)
            await self._other().call(keystore_wire.CLAIM_ADMISSION_TOKEN, body)

    async def close(self) -> None:
        if self._peer is not None:
            await self._peer.close()

    def _other(self) -> Peer:
        if self._url is None:
            raise Unavailable from LookupError("other_area_url is not set")
        if self._peer is None:
            self._peer = Peer(self._url, self._secret)
        return self._peer
