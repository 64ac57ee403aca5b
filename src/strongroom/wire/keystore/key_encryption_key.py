"""The key encryption key (spec: key store 6)."""

from typing import Annotated

from msgspec import Meta

from strongroom.wire.endpoint import Credential, Endpoint
from strongroom.wire.keystore.fields import Id, SentSerialized, Serialized
from strongroom.wire.record import Record
from strongroom.wire.refusal import Refusal


class StoreKeyEncryptionKey(Record, frozen=True):
    serialized_key_encryption_key: SentSerialized


class KeyEncryptionKey(Record, frozen=True):
    id: Id
    serialized_key_encryption_key: Serialized


class KeyEncryptionKeyResponse(Record, frozen=True):
    key_encryption_key: Annotated[KeyEncryptionKey, Meta(description="The one key encryption key of the user.")]


STORE_KEY_ENCRYPTION_KEY = Endpoint(
    method="POST",
    path="/keystore/key_encryption_key",
    summary="Store the encrypted key encryption key. Exactly one per user, never replaced by this call.",
    source="spec: key store 6",
    credential=Credential.keystore_session,
    body=StoreKeyEncryptionKey,
    answer=KeyEncryptionKeyResponse,
    statuses=(200,),
    refusals=(
        Refusal.key_encryption_key_exists,
        Refusal.malformed_ciphertext,
        Refusal.plaintext_key_refused,
    ),
)

READ_KEY_ENCRYPTION_KEY = Endpoint(
    method="GET",
    path="/keystore/key_encryption_key",
    summary="Read the encrypted key encryption key.",
    credential=Credential.keystore_session,
    answer=KeyEncryptionKeyResponse,
    status=200,
    refusals=(Refusal.not_found,),
)
