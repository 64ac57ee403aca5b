"""Admission tokens for the vault (spec: key store 9)."""

from typing import Annotated

from msgspec import Meta

from strongroom.wire.endpoint import Credential, Endpoint
from strongroom.wire.record import Record
from strongroom.wire.refusal import Refusal


class ExternalAdmissionToken(Record, frozen=True):
    vault_api_admission_token: Annotated[str, Meta(description="To be presented when the vault user is created.")]
    passphrase_store_admission_token: Annotated[
        str | None, Meta(description="Always null: the user is in the key store already.")
    ] = None


class ExternalAdmissionTokenResponse(Record, frozen=True):
    external_admission_token: Annotated[ExternalAdmissionToken, Meta(description="The user's tokens.")]


READ_EXTERNAL_ADMISSION_TOKEN = Endpoint(
    method="GET",
    path="/keystore/external_admission_tokens",
    summary="Obtain the user's vault admission token through the key store: the same one until it is used or "
    "has expired.",
    source="spec: key store 9",
    credential=Credential.keystore_session,
    answer=ExternalAdmissionTokenResponse,
    status=200,
    refusals=(Refusal.vault_account_exists,),
)
