"""What the vault is made of: its store, its settings and the one thing it needs from the key store."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from strongroom.crypto.names import realm_tag
from strongroom.runtime.clock import DAY, HOUR, MINUTE, Clock
from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Store

ClaimAdmissionToken: TypeAlias = Callable[[str, bytes, str], Awaitable[None]]
"""`(token_value, provider_id, claimant)`: use a token of the key store up for the public key with this fingerprint.

Raises `Refused` where the key store says no. The same claimant may claim the same token again.
"""


@dataclass
class Vault:
    """The vault area of one deployment. Times are milliseconds."""

    store: Store
    clock: Clock
    secret: ServerSecret
    public_url: str
    """The `{base_url}` of image URLs, without a slash at the end."""
    realm: str
    claim_admission_token: ClaimAdmissionToken
    session_lifetime_ms: int = 12 * HOUR
    admission_token_lifetime_ms: int = DAY
    first_use_window_ms: int = 30 * MINUTE
    realm_tag: str = field(init=False)

    def __post_init__(self) -> None:
        self.public_url = self.public_url.rstrip("/")
        self.realm_tag = realm_tag(self.realm)
