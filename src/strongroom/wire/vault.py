"""The vault's records and endpoints, in the words and the order of the specification."""

from typing import Annotated

from msgspec import Meta

from strongroom.wire.endpoint import KIB, Credential, Endpoint, Open
from strongroom.wire.keystore import AdmissionTokenResponse, Pem, Token
from strongroom.wire.paging import Paging, PagingMeta
from strongroom.wire.record import Record
from strongroom.wire.refusal import Refusal

MAX_NAME_FRAGMENT = 64


class NewVaultUser(Record, frozen=True):
    public_key: Pem
    admission_token: Token


class CreateVaultUser(Record, frozen=True):
    """The body wrapped in `user`, as specified; the same two fields are also taken flat."""

    user: NewVaultUser


class VaultUserResponse(Record, frozen=True):
    id: str
    encrypted_session_authentication_string: str


class CreateVaultSession(Record, frozen=True):
    public_key: Pem


class VaultSession(Record, frozen=True):
    encrypted_session_authentication_string: str


class VaultSessionResponse(Record, frozen=True):
    session: VaultSession


class ClassificationNode(Record, frozen=True):
    id: str
    background_color: str | None
    description: str | None
    image: str
    label: str
    name: str
    ordinal: int
    scheme: str


class ClassificationNodesResponse(Record, frozen=True):
    classification_nodes: list[ClassificationNode]
    meta: PagingMeta


class PlacedClassificationNode(ClassificationNode, frozen=True):
    """A node with its place in the tree of its scheme."""

    parent_id: str | None


class ClassificationNodeResponse(Record, frozen=True):
    classification_node: PlacedClassificationNode


class ClassificationNodeQuery(Paging, frozen=True):
    scheme_name: Annotated[str, Meta(max_length=64)] | None = None
    by_name: (
        Annotated[str, Meta(max_length=MAX_NAME_FRAGMENT, description="A part of the name, taken literally.")] | None
    ) = None


class IssueExternalAdmissionToken(Record, frozen=True):
    """From the key store: a vault admission token for one of its users."""

    provider_id: str
    keystore_user_id: str
    fingerprint: Annotated[str, Meta(min_length=43, max_length=43)] | None = None


class ExternalAdmissionTokenValue(Record, frozen=True):
    token_value: str


_TOKEN_REFUSALS = (
    Refusal.admission_token_invalid,
    Refusal.admission_token_expired,
    Refusal.admission_token_used,
)

ENDPOINTS = (
    Endpoint(
        name="create_user",
        method="POST",
        path="/vault/me",
        summary="Create the vault user of a public key with an admission token.",
        source="spec: vault 10",
        credential=Open(because="the admission token in the body is the permission"),
        request=CreateVaultUser,
        wrapper="user",
        response=VaultUserResponse,
        body_limit=8 * KIB,
        refusals=(
            *_TOKEN_REFUSALS,
            Refusal.malformed_public_key,
            Refusal.public_key_taken,
            Refusal.vault_account_exists,
        ),
    ),
    Endpoint(
        name="create_session",
        method="POST",
        path="/vault/session",
        summary="Log in: a session string that only the holder of the private key can read.",
        source="spec: vault 11",
        credential=Open(because="the answer is encrypted to the public key in the body"),
        request=CreateVaultSession,
        response=VaultSessionResponse,
        body_limit=8 * KIB,
        refusals=(Refusal.invalid_credentials, Refusal.malformed_public_key),
    ),
    Endpoint(
        name="delete_session",
        method="DELETE",
        path="/vault/session",
        summary="Log out: the session string in `Authorization` opens nothing any more.",
        credential=Credential.vault_session,
        status=204,
    ),
    Endpoint(
        name="list_classification_nodes",
        method="GET",
        path="/vault/classification_nodes",
        aliases=("/vault/v2/global/classification_nodes", "/v2/global/classification_nodes"),
        summary="List classification nodes, ordered by scheme and ordinal.",
        source="spec: vault 12",
        credential=Credential.vault_session,
        query=ClassificationNodeQuery,
        response=ClassificationNodesResponse,
        status=200,
        conditional=True,
    ),
    Endpoint(
        name="read_classification_node",
        method="GET",
        path="/vault/classification_nodes/{id}",
        summary="Read one classification node with its parent.",
        credential=Credential.vault_session,
        response=ClassificationNodeResponse,
        status=200,
        refusals=(Refusal.not_found,),
    ),
    Endpoint(
        name="read_image",
        method="GET",
        path="/vault/global/images/{id}",
        summary="The picture of a classification node.",
        credential=Open(because="an <img> element cannot send a header, and the pictures are public"),
        media_types=("image/png", "image/jpeg", "image/webp"),
        status=200,
        subscription_key=False,
        cacheable=True,
        conditional=True,
        refusals=(Refusal.not_found,),
    ),
    Endpoint(
        name="issue_admission_token",
        method="POST",
        path="/vault/admission_tokens",
        summary="Issue an admission token that opens the vault only.",
        source="spec: key store rule 1",
        credential=Credential.provider,
        response=AdmissionTokenResponse,
    ),
    Endpoint(
        name="issue_external_admission_token",
        method="POST",
        path="/vault/external_admission_tokens",
        summary="For the key store: the vault admission token of one of its users, the same until used or expired.",
        credential=Credential.service,
        request=IssueExternalAdmissionToken,
        response=ExternalAdmissionTokenValue,
        status=200,
        subscription_key=False,
        internal=True,
        refusals=(Refusal.vault_account_exists,),
    ),
)
ISSUE_EXTERNAL_ADMISSION_TOKEN = next(
    endpoint for endpoint in ENDPOINTS if endpoint.name == "issue_external_admission_token"
)
