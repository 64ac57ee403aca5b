"""Admission tokens (spec: key store 1)."""

from typing import Annotated

from msgspec import Meta

from strongroom.wire.endpoint import Credential, Endpoint
from strongroom.wire.keystore.fields import Id
from strongroom.wire.record import Record


class AdmissionToken(Record, frozen=True):
    id: Id
    token_value: Annotated[str, Meta(description="To be presented when a user is created.")]
    used: Annotated[bool, Meta(description="False when it is issued: a token can be used once.")]


class AdmissionTokenResponse(Record, frozen=True):
    admission_token: Annotated[AdmissionToken, Meta(description="The new token.")]


ISSUE_ADMISSION_TOKEN = Endpoint(
    method="POST",
    path="/keystore/admission_tokens",
    summary="Issue an admission token: good once, for a key store user or for a vault user.",
    source="spec: key store 1",
    credential=Credential.provider,
    answer=AdmissionTokenResponse,
)
