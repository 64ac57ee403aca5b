"""Keypairs (spec: key store 8)."""

from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from strongroom.wire.endpoint import KIB, Credential, Endpoint
from strongroom.wire.keystore.fields import Id, Pem, SentPem, SentSerialized, Serialized
from strongroom.wire.paging import ListingMeta, Paging
from strongroom.wire.record import Record
from strongroom.wire.refusal import Refusal

MAX_EXTERNAL_IDENTIFIERS = 16

# Fields of answers have a description; fields of requests also have limits. The protocol's limits count bytes or code
# points after normalisation; these only bound the work of the decoder.
Identifier: TypeAlias = Annotated[
    str,
    Meta(description="What the keypair is for, at most 128 bytes; `vault` marks the one that opens the vault."),
]

SentIdentifier: TypeAlias = Annotated[Identifier, Meta(min_length=1, max_length=128)]

Metadata: TypeAlias = Annotated[dict[str, Any], Meta(description="Free data of the client; the service can read it.")]


class StoreKeypair(Record, frozen=True):
    encrypted_serialized_key: SentSerialized
    public_key: SentPem
    metadata: Metadata = msgspec.field(default_factory=dict)
    external_identifiers: Annotated[
        list[SentIdentifier],
        Meta(max_length=MAX_EXTERNAL_IDENTIFIERS, description="The tags, each on one keypair only."),
    ] = msgspec.field(default_factory=list)


class ExternalIdentifier(Record, frozen=True):
    id: Id
    identifier: Identifier
    keypair_id: Annotated[str, Meta(description="The `id` of the keypair that has it.")]


class Keypair(Record, frozen=True):
    id: Id
    public_key: Pem
    encrypted_serialized_key: Serialized
    metadata: Metadata
    external_identifiers: Annotated[list[ExternalIdentifier], Meta(description="In the order in which they were sent.")]


class KeypairPath(Record, frozen=True):
    id: Annotated[str, Meta(description="The `id` of the keypair.")]


class ExternalIdentifierPath(Record, frozen=True):
    identifier: Annotated[str, Meta(description="The tag, percent-encoded.")]


class KeypairResponse(Record, frozen=True):
    keypair: Annotated[Keypair, Meta(description="What is stored.")]


class KeypairsResponse(Record, frozen=True):
    keypairs: Annotated[list[Keypair], Meta(description="Oldest first.")]
    meta: ListingMeta


STORE_KEYPAIR = Endpoint(
    method="POST",
    path="/keystore/keypairs",
    summary="Store a keypair: the public key in clear, the private key encrypted. Identical bytes answer with "
    "what is stored.",
    source="spec: key store 8",
    credential=Credential.keystore_session,
    body=StoreKeypair,
    answer=KeypairResponse,
    statuses=(200,),
    body_limit=32 * KIB,
    refusals=(
        Refusal.malformed_ciphertext,
        Refusal.malformed_public_key,
        Refusal.plaintext_key_refused,
        Refusal.external_identifier_taken,
    ),
)

LIST_KEYPAIRS = Endpoint(
    method="GET",
    path="/keystore/keypairs",
    summary="List the keypairs, oldest first.",
    credential=Credential.keystore_session,
    query=Paging,
    answer=KeypairsResponse,
    status=200,
)

READ_KEYPAIR = Endpoint(
    method="GET",
    path="/keystore/keypairs/{id}",
    summary="Read one keypair.",
    credential=Credential.keystore_session,
    parameters=KeypairPath,
    answer=KeypairResponse,
    status=200,
)

READ_KEYPAIR_BY_EXTERNAL_IDENTIFIER = Endpoint(
    method="GET",
    path="/keystore/keypairs/external_id/{identifier}",
    summary="Read the keypair that has this external identifier.",
    credential=Credential.keystore_session,
    parameters=ExternalIdentifierPath,
    answer=KeypairResponse,
    status=200,
)
