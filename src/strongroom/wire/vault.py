"""The vault's records and endpoints, in the words and the order of the specification."""

from typing import Annotated, TypeAlias

from msgspec import Meta

from strongroom.wire.endpoint import KIB, Condition, Credential, Endpoint, Open, named
from strongroom.wire.keystore import AdmissionTokenResponse, Id, SentPem, Token
from strongroom.wire.octets import Octets
from strongroom.wire.paging import ListingMeta, Paging
from strongroom.wire.record import Record
from strongroom.wire.refusal import Refusal

MAX_NAME_FRAGMENT = 64


EncryptedSessionString: TypeAlias = Annotated[
    str,
    Meta(
        description="Three parts joined by a dot, strategy `Rsa4096`: the private key decrypts it, and the plaintext "
        "goes in `Authorization` of every later call to the vault."
    ),
]


class NewVaultUser(Record, frozen=True):
    public_key: SentPem
    admission_token: Token


class CreateVaultUser(Record, frozen=True):
    """The body wrapped in `user`, as specified; the same two fields are also taken flat."""

    user: Annotated[NewVaultUser, Meta(description="Public key and admission token.")]


class VaultUserResponse(Record, frozen=True):
    id: Id
    encrypted_session_authentication_string: EncryptedSessionString


class CreateVaultSession(Record, frozen=True):
    public_key: SentPem


class VaultSession(Record, frozen=True):
    encrypted_session_authentication_string: EncryptedSessionString


class VaultSessionResponse(Record, frozen=True):
    session: Annotated[VaultSession, Meta(description="The new session.")]


class ClassificationNode(Record, frozen=True):
    id: Id
    background_color: Annotated[str | None, Meta(description="`#RRGGBB`.")]
    description: Annotated[str | None, Meta(description="A sentence about it.")]
    image: Annotated[str, Meta(description="URL of its picture, which needs no key.")]
    label: Annotated[str, Meta(description="The name for people.")]
    name: Annotated[str, Meta(description="The name for programs; it may exist in several schemes.")]
    ordinal: Annotated[int, Meta(description="Its place within the scheme.")]
    scheme: Annotated[str, Meta(description="The classification scheme it belongs to.")]


class ClassificationNodesResponse(Record, frozen=True):
    classification_nodes: Annotated[list[ClassificationNode], Meta(description="By scheme and ordinal.")]
    meta: ListingMeta


class PlacedClassificationNode(ClassificationNode, frozen=True):
    """A node with its place in the tree of its scheme."""

    parent_id: Annotated[str | None, Meta(description="The `id` of the node above it; null at the root.")]


class ClassificationNodePath(Record, frozen=True):
    id: Annotated[str, Meta(description="The `id` of the node.")]


class ClassificationNodeResponse(Record, frozen=True):
    classification_node: Annotated[PlacedClassificationNode, Meta(description="The node.")]


class ClassificationNodeQuery(Paging, frozen=True):
    scheme_name: Annotated[
        Annotated[str, Meta(max_length=64)] | None, Meta(description="Only nodes of this scheme.")
    ] = None
    by_name: Annotated[
        Annotated[str, Meta(max_length=MAX_NAME_FRAGMENT)] | None,
        Meta(description="Only nodes whose name holds this text, taken literally."),
    ] = None


class ImagePath(Record, frozen=True):
    id: Annotated[str, Meta(description="The last part of a node's `image`.")]


class IssueExternalAdmissionToken(Record, frozen=True):
    """From the key store: a vault admission token for one of its users."""

    provider_id: Id
    keystore_user_id: Id
    fingerprint: Annotated[
        Annotated[str, Meta(min_length=43, max_length=43)] | None,
        Meta(description="Of the public key of the keypair tagged `vault`, where there is one."),
    ] = None


class ExternalAdmissionTokenValue(Record, frozen=True):
    token_value: Token


_TOKEN_REFUSALS = (
    Refusal.admission_token_invalid,
    Refusal.admission_token_expired,
    Refusal.admission_token_used,
)

CREATE_VAULT_USER = Endpoint(
    method="POST",
    path="/vault/me",
    summary="Create the vault user of a public key with an admission token.",
    source="spec: vault 10",
    credential=Open(because="the admission token in the body is the permission"),
    body=CreateVaultUser,
    wrapper="user",
    answer=VaultUserResponse,
    body_limit=8 * KIB,
    refusals=(
        *_TOKEN_REFUSALS,
        Refusal.malformed_public_key,
        Refusal.public_key_taken,
        Refusal.vault_account_exists,
    ),
)
CREATE_VAULT_SESSION = Endpoint(
    method="POST",
    path="/vault/session",
    summary="Log in: a session string that only the holder of the private key can read.",
    source="spec: vault 11",
    credential=Open(because="the answer is encrypted to the public key in the body"),
    body=CreateVaultSession,
    answer=VaultSessionResponse,
    body_limit=8 * KIB,
    refusals=(Refusal.invalid_credentials, Refusal.malformed_public_key),
)
DELETE_VAULT_SESSION = Endpoint(
    method="DELETE",
    path="/vault/session",
    summary="Log out: the session string in `Authorization` opens nothing any more.",
    credential=Credential.vault_session,
    status=204,
)
LIST_CLASSIFICATION_NODES = Endpoint(
    method="GET",
    path="/vault/classification_nodes",
    aliases=("/vault/v2/global/classification_nodes", "/v2/global/classification_nodes"),
    summary="List classification nodes, ordered by scheme and ordinal.",
    source="spec: vault 12",
    credential=Credential.vault_session,
    query=ClassificationNodeQuery,
    answer=ClassificationNodesResponse,
    status=200,
    conditions=(Condition.if_none_match,),
)
READ_CLASSIFICATION_NODE = Endpoint(
    method="GET",
    path="/vault/classification_nodes/{id}",
    summary="Read one classification node with its parent.",
    credential=Credential.vault_session,
    parameters=ClassificationNodePath,
    answer=ClassificationNodeResponse,
    status=200,
)
READ_IMAGE = Endpoint(
    method="GET",
    path="/vault/global/images/{id}",
    summary="The picture of a classification node.",
    credential=Open(because="an <img> element cannot send a header, and the pictures are public"),
    parameters=ImagePath,
    media_types=("image/png", "image/jpeg", "image/webp"),
    status=200,
    subscription_key=False,
    cacheable=True,
    answer=Octets,
    conditions=(Condition.if_none_match, Condition.range),
)
ISSUE_VAULT_ADMISSION_TOKEN = Endpoint(
    method="POST",
    path="/vault/admission_tokens",
    summary="Issue an admission token that opens the vault only.",
    source="spec: key store rule 1",
    credential=Credential.provider,
    answer=AdmissionTokenResponse,
)
ISSUE_EXTERNAL_ADMISSION_TOKEN = Endpoint(
    method="POST",
    path="/vault/external_admission_tokens",
    summary="For the key store: the vault admission token of one of its users, the same until used or expired.",
    credential=Credential.service,
    body=IssueExternalAdmissionToken,
    answer=ExternalAdmissionTokenValue,
    status=200,
    subscription_key=False,
    internal=True,
    refusals=(Refusal.vault_account_exists,),
)

ENDPOINTS = named(globals())
