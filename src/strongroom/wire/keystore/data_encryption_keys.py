"""Data encryption keys (spec: key store 7)."""

from typing import Annotated

from msgspec import Meta

from strongroom.wire.endpoint import Credential, Endpoint
from strongroom.wire.keystore.fields import Id, SentSerialized, Serialized
from strongroom.wire.paging import ListingMeta, Paging
from strongroom.wire.record import Record
from strongroom.wire.refusal import Refusal


class StoreDataEncryptionKey(Record, frozen=True):
    serialized_data_encryption_key: SentSerialized


class DataEncryptionKey(Record, frozen=True):
    id: Id
    serialized_data_encryption_key: Serialized


class DataEncryptionKeyPath(Record, frozen=True):
    id: Annotated[str, Meta(description="The `id` of the data encryption key.")]


class DataEncryptionKeyResponse(Record, frozen=True):
    data_encryption_key: Annotated[DataEncryptionKey, Meta(description="What is stored.")]


class DataEncryptionKeysResponse(Record, frozen=True):
    data_encryption_keys: Annotated[list[DataEncryptionKey], Meta(description="Oldest first.")]
    meta: ListingMeta


STORE_DATA_ENCRYPTION_KEY = Endpoint(
    method="POST",
    path="/keystore/data_encryption_keys",
    summary="Store an encrypted data encryption key. Identical bytes answer with what is stored.",
    source="spec: key store 7",
    credential=Credential.keystore_session,
    body=StoreDataEncryptionKey,
    answer=DataEncryptionKeyResponse,
    statuses=(200,),
    refusals=(Refusal.malformed_ciphertext, Refusal.plaintext_key_refused),
)

LIST_DATA_ENCRYPTION_KEYS = Endpoint(
    method="GET",
    path="/keystore/data_encryption_keys",
    summary="List the encrypted data encryption keys, oldest first.",
    credential=Credential.keystore_session,
    query=Paging,
    answer=DataEncryptionKeysResponse,
    status=200,
)

READ_DATA_ENCRYPTION_KEY = Endpoint(
    method="GET",
    path="/keystore/data_encryption_keys/{id}",
    summary="Read one encrypted data encryption key.",
    credential=Credential.keystore_session,
    parameters=DataEncryptionKeyPath,
    answer=DataEncryptionKeyResponse,
    status=200,
)
