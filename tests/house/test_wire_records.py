"""The records carry exactly the specification's field names: this table is written from its text, not from the code."""

from typing import Annotated, Any, get_args, get_origin

import msgspec
import pytest

from strongroom.wire import keystore, vault
from strongroom.wire.endpoint import AnyEndpoint
from strongroom.wire.paging import PagingMeta

# "Resources and their fields".
RESOURCES: dict[type[msgspec.Struct], str] = {
    keystore.AdmissionToken: "id token_value used",
    keystore.User: "id username",
    keystore.Session: "session_authentication_string id valid_from valid_till username",
    keystore.PassphraseDerivationArtefact: "id derivation_artefacts verification_artefacts",
    keystore.KeyEncryptionKey: "id serialized_key_encryption_key",
    keystore.DataEncryptionKey: "id serialized_data_encryption_key",
    keystore.Keypair: "id public_key encrypted_serialized_key metadata external_identifiers",
    keystore.ExternalIdentifier: "id identifier keypair_id",
    keystore.ExternalAdmissionToken: "vault_api_admission_token passphrase_store_admission_token",
    vault.VaultUserResponse: "id encrypted_session_authentication_string",
    vault.VaultSession: "encrypted_session_authentication_string",
    vault.ClassificationNode: "id background_color description image label name ordinal scheme",
}

# "Endpoints": number, method and path, fields of the request body, member of the response that holds the resource.
ENDPOINTS = {
    1: ("POST", "/keystore/admission_tokens", "", {"admission_token": keystore.AdmissionToken}),
    2: ("POST", "/keystore/users", "admission_token username passphrase", {"user": keystore.User}),
    3: ("POST", "/keystore/session", "username passphrase", {"session": keystore.Session}),
    4: (
        "POST",
        "/keystore/passphrase_derivation_artefact",
        "derivation_artefacts verification_artefacts",
        {"passphrase_derivation_artefact": keystore.PassphraseDerivationArtefact},
    ),
    5: (
        "GET",
        "/keystore/passphrase_derivation_artefact",
        "",
        {"passphrase_derivation_artefact": keystore.PassphraseDerivationArtefact},
    ),
    6: (
        "POST",
        "/keystore/key_encryption_key",
        "serialized_key_encryption_key",
        {"key_encryption_key": keystore.KeyEncryptionKey},
    ),
    7: (
        "POST",
        "/keystore/data_encryption_keys",
        "serialized_data_encryption_key",
        {"data_encryption_key": keystore.DataEncryptionKey},
    ),
    8: (
        "POST",
        "/keystore/keypairs",
        "encrypted_serialized_key public_key metadata external_identifiers",
        {"keypair": keystore.Keypair},
    ),
    9: (
        "GET",
        "/keystore/external_admission_tokens",
        "",
        {"external_admission_token": keystore.ExternalAdmissionToken},
    ),
    10: ("POST", "/vault/me", "user", {"id": str, "encrypted_session_authentication_string": str}),
    11: ("POST", "/vault/session", "public_key", {"session": vault.VaultSession}),
    12: (
        "GET",
        "/vault/classification_nodes",
        "",
        {"classification_nodes": list[vault.ClassificationNode], "meta": PagingMeta},
    ),
}
QUERY_OF_12 = "page per scheme_name by_name"
NULLABLE = {
    (keystore.ExternalAdmissionToken, "passphrase_store_admission_token"),
    (vault.ClassificationNode, "background_color"),
    (vault.ClassificationNode, "description"),
}


def endpoint_of(number: int) -> AnyEndpoint:
    area = "key store" if number < 10 else "vault"
    (found,) = [
        e for e in (*keystore.ENDPOINTS, *vault.ENDPOINTS) if e.source == f"spec: {area} {number}" and not e.internal
    ]
    return found


def types_of(record: type[msgspec.Struct]) -> dict[str, Any]:
    """Without the descriptions that stand around them."""
    return {field.encode_name: bare(field.type) for field in msgspec.structs.fields(record)}


def bare(kind: Any) -> Any:
    if get_origin(kind) is Annotated:
        return bare(get_args(kind)[0])
    return kind


@pytest.mark.parametrize("record", RESOURCES, ids=lambda record: record.__name__)
def test_resource_has_exactly_the_fields(record: type[msgspec.Struct]) -> None:
    assert list(types_of(record)) == RESOURCES[record].split()


@pytest.mark.parametrize("record", RESOURCES, ids=lambda record: record.__name__)
def test_only_the_nullable_fields_take_null(record: type[msgspec.Struct]) -> None:
    nullable = {(record, name) for name, kind in types_of(record).items() if kind == str | None}
    assert nullable == {entry for entry in NULLABLE if entry[0] is record}


@pytest.mark.parametrize("number", ENDPOINTS)
def test_endpoint_has_exactly_the_shapes(number: int) -> None:
    method, path, body, response = ENDPOINTS[number]
    endpoint = endpoint_of(number)
    assert (endpoint.method, endpoint.path) == (method, path)
    assert list(types_of(endpoint.body)) == body.split()
    assert types_of(endpoint.answer) == response


def test_vault_user_creation_is_wrapped_in_user() -> None:
    assert types_of(vault.CreateVaultUser) == {"user": vault.NewVaultUser}
    assert list(types_of(vault.NewVaultUser)) == ["public_key", "admission_token"]
    assert endpoint_of(10).wrapper == "user"


def test_query_of_the_listing() -> None:
    assert list(types_of(endpoint_of(12).query)) == QUERY_OF_12.split()


def test_meta_is_null_unless_a_page_was_asked_for() -> None:
    assert msgspec.to_builtins(PagingMeta()) == {"pages": None, "total_count": None}


def test_status_that_the_specification_gives() -> None:
    assert (endpoint_of(4).status, endpoint_of(4).statuses) == (200, ())
