"""The key store's records and endpoints, in the words and the order of the specification."""

from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

from strongroom.wire.endpoint import KIB, Credential, Endpoint, NoBody, Open
from strongroom.wire.paging import Paging, PagingMeta
from strongroom.wire.record import Record
from strongroom.wire.refusal import Refusal

MAX_EXTERNAL_IDENTIFIERS = 16

Identifier: TypeAlias = Annotated[str, Meta(min_length=1, max_length=128, description="At most 128 bytes.")]
Serialized: TypeAlias = Annotated[
    str,
    Meta(min_length=1, max_length=8 * KIB, description="Three parts joined by a dot, strategy Aes256Gcm."),
]
Pem: TypeAlias = Annotated[str, Meta(min_length=1, max_length=1024, description="PEM public key, RSA 4096.")]
Token: TypeAlias = Annotated[str, Meta(min_length=1, max_length=256)]
# Limits of the protocol are bytes or code points after normalisation; these only keep the decoder from larger work.
Username: TypeAlias = Annotated[str, Meta(max_length=1024)]
Passphrase: TypeAlias = Annotated[str, Meta(max_length=1024)]
Artefacts: TypeAlias = Annotated[str, Meta(max_length=4 * KIB)]


class AdmissionToken(Record, frozen=True):
    id: str
    token_value: str
    used: bool


class AdmissionTokenResponse(Record, frozen=True):
    admission_token: AdmissionToken


class CreateUser(Record, frozen=True):
    admission_token: Token
    username: Username
    passphrase: Passphrase


class User(Record, frozen=True):
    id: str
    username: str


class UserResponse(Record, frozen=True):
    user: User


class CreateSession(Record, frozen=True):
    username: Username
    passphrase: Passphrase


class Session(Record, frozen=True):
    session_authentication_string: str
    id: str
    valid_from: str
    valid_till: str
    username: str


class SessionResponse(Record, frozen=True):
    session: Session


class StorePassphraseDerivationArtefact(Record, frozen=True):
    derivation_artefacts: Annotated[str, Meta(min_length=1, max_length=4 * KIB)]
    verification_artefacts: Artefacts = ""


class PassphraseDerivationArtefact(Record, frozen=True):
    id: str
    derivation_artefacts: str
    verification_artefacts: str


class PassphraseDerivationArtefactResponse(Record, frozen=True):
    passphrase_derivation_artefact: PassphraseDerivationArtefact


class StoreKeyEncryptionKey(Record, frozen=True):
    serialized_key_encryption_key: Serialized


class KeyEncryptionKey(Record, frozen=True):
    id: str
    serialized_key_encryption_key: str


class KeyEncryptionKeyResponse(Record, frozen=True):
    key_encryption_key: KeyEncryptionKey


class StoreDataEncryptionKey(Record, frozen=True):
    serialized_data_encryption_key: Serialized


class DataEncryptionKey(Record, frozen=True):
    id: str
    serialized_data_encryption_key: str


class DataEncryptionKeyResponse(Record, frozen=True):
    data_encryption_key: DataEncryptionKey


class DataEncryptionKeysResponse(Record, frozen=True):
    data_encryption_keys: list[DataEncryptionKey]
    meta: PagingMeta


class StoreKeypair(Record, frozen=True):
    encrypted_serialized_key: Serialized
    public_key: Pem
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    external_identifiers: Annotated[list[Identifier], Meta(max_length=MAX_EXTERNAL_IDENTIFIERS)] = msgspec.field(
        default_factory=list
    )


class ExternalIdentifier(Record, frozen=True):
    id: str
    identifier: str
    keypair_id: str


class Keypair(Record, frozen=True):
    id: str
    public_key: str
    encrypted_serialized_key: str
    metadata: dict[str, Any]
    external_identifiers: list[ExternalIdentifier]


class KeypairResponse(Record, frozen=True):
    keypair: Keypair


class KeypairsResponse(Record, frozen=True):
    keypairs: list[Keypair]
    meta: PagingMeta


class ExternalAdmissionToken(Record, frozen=True):
    vault_api_admission_token: str
    passphrase_store_admission_token: str | None = None


class ExternalAdmissionTokenResponse(Record, frozen=True):
    external_admission_token: ExternalAdmissionToken


class ClaimAdmissionToken(Record, frozen=True):
    """From the vault: use a token of the key store up for the holder of this public key."""

    token_value: Token
    provider_id: str
    claimant: Annotated[str, Meta(min_length=43, max_length=43, description="Fingerprint of the public key.")]


_SESSION = Credential.keystore_session

ENDPOINTS = (
    Endpoint(
        name="issue_admission_token",
        method="POST",
        path="/keystore/admission_tokens",
        summary="Issue an admission token: good once, for a key store user or for a vault user.",
        source="spec: key store 1",
        credential=Credential.provider,
        response=AdmissionTokenResponse,
    ),
    Endpoint(
        name="create_user",
        method="POST",
        path="/keystore/users",
        summary="Create a user with an admission token. `passphrase` may be the login secret that the client derives.",
        source="spec: key store 2",
        credential=Open(because="the admission token in the body is the permission"),
        request=CreateUser,
        response=UserResponse,
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
    ),
    Endpoint(
        name="create_session",
        method="POST",
        path="/keystore/session",
        summary="Log in. The answer to a wrong passphrase and to an unknown username is the same.",
        source="spec: key store 3",
        credential=Open(because="username and passphrase in the body are the credential"),
        request=CreateSession,
        response=SessionResponse,
        body_limit=8 * KIB,
        refusals=(Refusal.invalid_credentials,),
    ),
    Endpoint(
        name="delete_session",
        method="DELETE",
        path="/keystore/session",
        summary="Log out: the session string in `Authorization` opens nothing any more.",
        credential=_SESSION,
        status=204,
    ),
    Endpoint(
        name="store_passphrase_derivation_artefact",
        method="POST",
        path="/keystore/passphrase_derivation_artefact",
        summary="Store the derivation artefacts. Once per user; identical bytes answer with what is stored.",
        source="spec: key store 4",
        credential=_SESSION,
        request=StorePassphraseDerivationArtefact,
        response=PassphraseDerivationArtefactResponse,
        status=200,
        refusals=(Refusal.passphrase_derivation_artefact_exists, Refusal.plaintext_key_refused),
    ),
    Endpoint(
        name="read_passphrase_derivation_artefact",
        method="GET",
        path="/keystore/passphrase_derivation_artefact",
        summary="Read the stored derivation artefacts.",
        source="spec: key store 5",
        credential=_SESSION,
        response=PassphraseDerivationArtefactResponse,
        status=200,
        refusals=(Refusal.not_found,),
    ),
    Endpoint(
        name="store_key_encryption_key",
        method="POST",
        path="/keystore/key_encryption_key",
        summary="Store the encrypted key encryption key. Exactly one per user, never replaced by this call.",
        source="spec: key store 6",
        credential=_SESSION,
        request=StoreKeyEncryptionKey,
        response=KeyEncryptionKeyResponse,
        statuses=(200,),
        refusals=(
            Refusal.key_encryption_key_exists,
            Refusal.malformed_ciphertext,
            Refusal.plaintext_key_refused,
        ),
    ),
    Endpoint(
        name="read_key_encryption_key",
        method="GET",
        path="/keystore/key_encryption_key",
        summary="Read the encrypted key encryption key.",
        credential=_SESSION,
        response=KeyEncryptionKeyResponse,
        status=200,
        refusals=(Refusal.not_found,),
    ),
    Endpoint(
        name="store_data_encryption_key",
        method="POST",
        path="/keystore/data_encryption_keys",
        summary="Store an encrypted data encryption key. Identical bytes answer with what is stored.",
        source="spec: key store 7",
        credential=_SESSION,
        request=StoreDataEncryptionKey,
        response=DataEncryptionKeyResponse,
        statuses=(200,),
        refusals=(Refusal.malformed_ciphertext, Refusal.plaintext_key_refused),
    ),
    Endpoint(
        name="list_data_encryption_keys",
        method="GET",
        path="/keystore/data_encryption_keys",
        summary="List the encrypted data encryption keys, oldest first.",
        credential=_SESSION,
        query=Paging,
        response=DataEncryptionKeysResponse,
        status=200,
    ),
    Endpoint(
        name="read_data_encryption_key",
        method="GET",
        path="/keystore/data_encryption_keys/{id}",
        summary="Read one encrypted data encryption key.",
        credential=_SESSION,
        response=DataEncryptionKeyResponse,
        status=200,
        refusals=(Refusal.not_found,),
    ),
    Endpoint(
        name="store_keypair",
        method="POST",
        path="/keystore/keypairs",
        summary="Store a keypair: the public key in clear, the private key encrypted. Identical bytes answer with "
        "what is stored.",
        source="spec: key store 8",
        credential=_SESSION,
        request=StoreKeypair,
        response=KeypairResponse,
        statuses=(200,),
        body_limit=32 * KIB,
        refusals=(
            Refusal.malformed_ciphertext,
            Refusal.malformed_public_key,
            Refusal.plaintext_key_refused,
            Refusal.external_identifier_taken,
        ),
    ),
    Endpoint(
        name="list_keypairs",
        method="GET",
        path="/keystore/keypairs",
        summary="List the keypairs, oldest first.",
        credential=_SESSION,
        query=Paging,
        response=KeypairsResponse,
        status=200,
    ),
    Endpoint(
        name="read_keypair",
        method="GET",
        path="/keystore/keypairs/{id}",
        summary="Read one keypair.",
        credential=_SESSION,
        response=KeypairResponse,
        status=200,
        refusals=(Refusal.not_found,),
    ),
    Endpoint(
        name="read_keypair_by_external_identifier",
        method="GET",
        path="/keystore/keypairs/external_id/{identifier}",
        summary="Read the keypair that carries this external identifier.",
        credential=_SESSION,
        response=KeypairResponse,
        status=200,
        refusals=(Refusal.not_found,),
    ),
    Endpoint(
        name="read_external_admission_token",
        method="GET",
        path="/keystore/external_admission_tokens",
        summary="Obtain the user's vault admission token through the key store: the same one until it is used or "
        "has expired.",
        source="spec: key store 9",
        credential=_SESSION,
        response=ExternalAdmissionTokenResponse,
        status=200,
        refusals=(Refusal.vault_account_exists,),
    ),
    Endpoint(
        name="claim_admission_token",
        method="POST",
        path="/keystore/admission_tokens/claim",
        summary="For the vault: use up an admission token of the key store for the holder of a public key.",
        credential=Credential.service,
        request=ClaimAdmissionToken,
        response=NoBody,
        status=204,
        subscription_key=False,
        internal=True,
        refusals=(
            Refusal.admission_token_invalid,
            Refusal.admission_token_expired,
            Refusal.admission_token_used,
        ),
    ),
)
CLAIM_ADMISSION_TOKEN = next(endpoint for endpoint in ENDPOINTS if endpoint.name == "claim_admission_token")
