"""The key store's records and endpoints, in the words and the order of the specification."""

from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from strongroom.wire.endpoint import KIB, Credential, Endpoint, Open, named
from strongroom.wire.paging import ListingMeta, Paging
from strongroom.wire.record import Record
from strongroom.wire.refusal import Refusal

MAX_EXTERNAL_IDENTIFIERS = 16

Id: TypeAlias = Annotated[str, Meta(description="A lower-case UUID.")]
Time: TypeAlias = Annotated[str, Meta(description="ISO 8601 in UTC with milliseconds and `Z`.")]
# What answers hold is described; what is sent has limits besides. Those of the protocol are bytes or code points after
# normalisation; these keep the decoder from larger work.
Identifier: TypeAlias = Annotated[
    str,
    Meta(description="What the keypair is for, at most 128 bytes; `vault` marks the one that opens the vault."),
]
SentIdentifier: TypeAlias = Annotated[Identifier, Meta(min_length=1, max_length=128)]
Serialized: TypeAlias = Annotated[str, Meta(description="Three parts joined by a dot, strategy `Aes256Gcm`.")]
SentSerialized: TypeAlias = Annotated[Serialized, Meta(min_length=1, max_length=8 * KIB)]
Pem: TypeAlias = Annotated[str, Meta(description="The public key as PEM (SPKI), RSA with 4096 bits.")]
SentPem: TypeAlias = Annotated[Pem, Meta(min_length=1, max_length=1024)]
Token: TypeAlias = Annotated[
    str, Meta(min_length=1, max_length=256, description="The `token_value` of an admission token.")
]
Username: TypeAlias = Annotated[
    str, Meta(description="1 to 128 characters; as typed, and unique in its canonical form.")
]
SentUsername: TypeAlias = Annotated[Username, Meta(max_length=1024)]
Passphrase: TypeAlias = Annotated[
    str,
    Meta(
        max_length=1024,
        description="The login secret that the client derives from the passphrase; other clients send the passphrase.",
    ),
]
VerificationArtefacts: TypeAlias = Annotated[
    str, Meta(description="Binds the derivation artefacts to the passphrase; may be empty.")
]
SentVerificationArtefacts: TypeAlias = Annotated[VerificationArtefacts, Meta(max_length=4 * KIB)]
DerivationArtefacts: TypeAlias = Annotated[
    str, Meta(description="Base64 of the hash with `salt`, `iter`, `length` and `hash`; kept byte for byte.")
]
SentDerivationArtefacts: TypeAlias = Annotated[DerivationArtefacts, Meta(min_length=1, max_length=4 * KIB)]
Metadata: TypeAlias = Annotated[
    dict[str, Any], Meta(description="Anything of the client's own, readable by the service.")
]
SessionString: TypeAlias = Annotated[
    str, Meta(description="Goes in `Authorization` of every later call to the key store.")
]


class AdmissionToken(Record, frozen=True):
    id: Id
    token_value: Annotated[str, Meta(description="To be presented when a user is created.")]
    used: Annotated[bool, Meta(description="False when it is issued: a token can be used once.")]


class AdmissionTokenResponse(Record, frozen=True):
    admission_token: Annotated[AdmissionToken, Meta(description="The new token.")]


class CreateUser(Record, frozen=True):
    admission_token: Token
    username: SentUsername
    passphrase: Passphrase


class User(Record, frozen=True):
    id: Id
    username: Username


class UserResponse(Record, frozen=True):
    user: Annotated[User, Meta(description="The new user.")]


class CreateSession(Record, frozen=True):
    username: SentUsername
    passphrase: Passphrase


class Session(Record, frozen=True):
    session_authentication_string: SessionString
    id: Id
    valid_from: Time
    valid_till: Time
    username: Username


class SessionResponse(Record, frozen=True):
    session: Annotated[Session, Meta(description="The new session.")]


class StorePassphraseDerivationArtefact(Record, frozen=True):
    derivation_artefacts: SentDerivationArtefacts
    verification_artefacts: SentVerificationArtefacts = ""


class PassphraseDerivationArtefact(Record, frozen=True):
    id: Id
    derivation_artefacts: DerivationArtefacts
    verification_artefacts: VerificationArtefacts


class PassphraseDerivationArtefactResponse(Record, frozen=True):
    passphrase_derivation_artefact: Annotated[PassphraseDerivationArtefact, Meta(description="What is stored.")]


class StoreKeyEncryptionKey(Record, frozen=True):
    serialized_key_encryption_key: SentSerialized


class KeyEncryptionKey(Record, frozen=True):
    id: Id
    serialized_key_encryption_key: Serialized


class KeyEncryptionKeyResponse(Record, frozen=True):
    key_encryption_key: Annotated[KeyEncryptionKey, Meta(description="The one key encryption key of the user.")]


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
    keypair_id: Annotated[str, Meta(description="The `id` of the keypair that carries it.")]


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


class ExternalAdmissionToken(Record, frozen=True):
    vault_api_admission_token: Annotated[str, Meta(description="To be presented when the vault user is created.")]
    passphrase_store_admission_token: Annotated[
        str | None, Meta(description="Always null: the user is in the key store already.")
    ] = None


class ExternalAdmissionTokenResponse(Record, frozen=True):
    external_admission_token: Annotated[ExternalAdmissionToken, Meta(description="The user's tokens.")]


class ClaimAdmissionToken(Record, frozen=True):
    """From the vault: use a token of the key store up for the holder of this public key."""

    token_value: Token
    provider_id: Id
    claimant: Annotated[str, Meta(min_length=43, max_length=43, description="Fingerprint of the public key.")]


_SESSION = Credential.keystore_session

ISSUE_ADMISSION_TOKEN = Endpoint(
    method="POST",
    path="/keystore/admission_tokens",
    summary="Issue an admission token: good once, for a key store user or for a vault user.",
    source="spec: key store 1",
    credential=Credential.provider,
    answer=AdmissionTokenResponse,
)
CREATE_USER = Endpoint(
    method="POST",
    path="/keystore/users",
    summary="Create a user with an admission token. `passphrase` may be the login secret that the client derives.",
    source="spec: key store 2",
    credential=Open(because="the admission token in the body is the permission"),
    body=CreateUser,
    answer=UserResponse,
    body_limit=8 * KIB,
    refusals=(
        Refusal.admission_token_invalid,
        Refusal.admission_token_expired,
        Refusal.admission_token_used,
        Refusal.username_taken,
        Refusal.username_refused,
        Refusal.passphrase_refused,
        Refusal.derived_secret_required,
    ),
)
CREATE_SESSION = Endpoint(
    method="POST",
    path="/keystore/session",
    summary="Log in. The answer to a wrong passphrase and to an unknown username is the same.",
    source="spec: key store 3",
    credential=Open(because="username and passphrase in the body are the credential"),
    body=CreateSession,
    answer=SessionResponse,
    body_limit=8 * KIB,
    refusals=(Refusal.invalid_credentials,),
)
DELETE_SESSION = Endpoint(
    method="DELETE",
    path="/keystore/session",
    summary="Log out: the session string in `Authorization` opens nothing any more.",
    credential=_SESSION,
    status=204,
)
STORE_PASSPHRASE_DERIVATION_ARTEFACT = Endpoint(
    method="POST",
    path="/keystore/passphrase_derivation_artefact",
    summary="Store the derivation artefacts. Once per user; identical bytes answer with what is stored.",
    source="spec: key store 4",
    credential=_SESSION,
    body=StorePassphraseDerivationArtefact,
    answer=PassphraseDerivationArtefactResponse,
    status=200,
    refusals=(Refusal.passphrase_derivation_artefact_exists, Refusal.plaintext_key_refused),
)
READ_PASSPHRASE_DERIVATION_ARTEFACT = Endpoint(
    method="GET",
    path="/keystore/passphrase_derivation_artefact",
    summary="Read the stored derivation artefacts.",
    source="spec: key store 5",
    credential=_SESSION,
    answer=PassphraseDerivationArtefactResponse,
    status=200,
    refusals=(Refusal.not_found,),
)
STORE_KEY_ENCRYPTION_KEY = Endpoint(
    method="POST",
    path="/keystore/key_encryption_key",
    summary="Store the encrypted key encryption key. Exactly one per user, never replaced by this call.",
    source="spec: key store 6",
    credential=_SESSION,
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
    credential=_SESSION,
    answer=KeyEncryptionKeyResponse,
    status=200,
    refusals=(Refusal.not_found,),
)
STORE_DATA_ENCRYPTION_KEY = Endpoint(
    method="POST",
    path="/keystore/data_encryption_keys",
    summary="Store an encrypted data encryption key. Identical bytes answer with what is stored.",
    source="spec: key store 7",
    credential=_SESSION,
    body=StoreDataEncryptionKey,
    answer=DataEncryptionKeyResponse,
    statuses=(200,),
    refusals=(Refusal.malformed_ciphertext, Refusal.plaintext_key_refused),
)
LIST_DATA_ENCRYPTION_KEYS = Endpoint(
    method="GET",
    path="/keystore/data_encryption_keys",
    summary="List the encrypted data encryption keys, oldest first.",
    credential=_SESSION,
    query=Paging,
    answer=DataEncryptionKeysResponse,
    status=200,
)
READ_DATA_ENCRYPTION_KEY = Endpoint(
    method="GET",
    path="/keystore/data_encryption_keys/{id}",
    summary="Read one encrypted data encryption key.",
    credential=_SESSION,
    parameters=DataEncryptionKeyPath,
    answer=DataEncryptionKeyResponse,
    status=200,
)
STORE_KEYPAIR = Endpoint(
    method="POST",
    path="/keystore/keypairs",
    summary="Store a keypair: the public key in clear, the private key encrypted. Identical bytes answer with "
    "what is stored.",
    source="spec: key store 8",
    credential=_SESSION,
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
    credential=_SESSION,
    query=Paging,
    answer=KeypairsResponse,
    status=200,
)
READ_KEYPAIR = Endpoint(
    method="GET",
    path="/keystore/keypairs/{id}",
    summary="Read one keypair.",
    credential=_SESSION,
    parameters=KeypairPath,
    answer=KeypairResponse,
    status=200,
)
READ_KEYPAIR_BY_EXTERNAL_IDENTIFIER = Endpoint(
    method="GET",
    path="/keystore/keypairs/external_id/{identifier}",
    summary="Read the keypair that carries this external identifier.",
    credential=_SESSION,
    parameters=ExternalIdentifierPath,
    answer=KeypairResponse,
    status=200,
)
READ_EXTERNAL_ADMISSION_TOKEN = Endpoint(
    method="GET",
    path="/keystore/external_admission_tokens",
    summary="Obtain the user's vault admission token through the key store: the same one until it is used or "
    "has expired.",
    source="spec: key store 9",
    credential=_SESSION,
    answer=ExternalAdmissionTokenResponse,
    status=200,
    refusals=(Refusal.vault_account_exists,),
)
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

ENDPOINTS = named(globals())
