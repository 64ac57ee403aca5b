"""Calls of the vault to the key store."""

from typing import Annotated

from msgspec import Meta

from strongroom.wire.endpoint import Credential, Endpoint
from strongroom.wire.keystore.fields import Id, Token
from strongroom.wire.record import Record
from strongroom.wire.refusal import Refusal


class ClaimAdmissionToken(Record, frozen=True):
    """From the vault: use a token of the key store up for the holder of this public key."""

    token_value: Token
    provider_id: Id
    claimant: Annotated[str, Meta(min_length=43, max_length=43, description="Fingerprint of the public key.")]


CLAIM_ADMISSION_TOKEN = Endpoint(
    method="POST",
    path="/keystore/admission_tokens/claim",
    summary="For the vault: use up an admission token of the key store for the holder of a public key.",
    credential=Credential.service,
    body=ClaimAdmissionToken,
    status=204,
    subscription_key=False,
    internal=True,
    refusals=(
        Refusal.admission_token_invalid,
        Refusal.admission_token_expired,
        Refusal.admission_token_used,
    ),
)
