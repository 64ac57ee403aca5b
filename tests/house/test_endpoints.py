"""Every endpoint of the tables is served by a method whose types say the same as the table."""

import inspect
import types
import typing
from typing import Any, get_type_hints

import httpx
import msgspec
import pytest

from strongroom.http import openapi
from strongroom.http.answers import Answer, Content, Versioned
from strongroom.http.system import SystemApi
from strongroom.keystore.api import KeystoreApi
from strongroom.runtime import principals
from strongroom.runtime.principals import KeystoreSession, Provider, Subscription, VaultSession
from strongroom.testing import Service
from strongroom.vault.api import VaultApi
from strongroom.wire import keystore, system, vault
from strongroom.wire.endpoint import Credential, Endpoint, NoBody, NoQuery, Open
from strongroom.wire.refusal import RESERVED, Refusal

PRINCIPALS: dict[Credential, type] = {
    Credential.provider: Provider,
    Credential.keystore_session: KeystoreSession,
    Credential.vault_session: VaultSession,
    Credential.service: principals.Service,
}
APIS = {KeystoreApi: keystore.ENDPOINTS, VaultApi: vault.ENDPOINTS, SystemApi: system.ENDPOINTS}
SERVED = [pytest.param(api, e, id=f"{e.method} {e.path}") for api, endpoints in APIS.items() for e in endpoints]
ENDPOINTS = [e for endpoints in APIS.values() for e in endpoints]
CREATIONS_WITH_200 = {
    "store_passphrase_derivation_artefact": "the specification says 200",
    "issue_external_admission_token": "the same token comes back until it is used",
}


def expected_principal(endpoint: Endpoint) -> type:
    if isinstance(endpoint.credential, Credential):
        return PRINCIPALS[endpoint.credential]
    return Subscription if endpoint.subscription_key else types.NoneType


def expected_input(endpoint: Endpoint) -> type:
    if endpoint.has_body:
        return endpoint.request
    if endpoint.query is not NoQuery:
        return endpoint.query
    return str if "{" in endpoint.path else types.NoneType


def expected_result(endpoint: Endpoint) -> type:
    if endpoint.statuses:
        return Answer  # only an Answer can choose between two statuses
    if endpoint.conditional and endpoint.response is not NoBody:
        return Versioned
    if endpoint.response is not NoBody:
        return endpoint.response
    return types.NoneType if endpoint.status == 204 else Content


@pytest.mark.parametrize(("api", "endpoint"), SERVED)
def test_handler_is_typed_as_the_table_says(api: type, endpoint: Endpoint) -> None:
    handler = getattr(api, endpoint.name)
    hints = get_type_hints(handler)
    assert inspect.iscoroutinefunction(handler)
    assert list(inspect.signature(handler).parameters) == ["self", "who", "what"]
    assert hints["who"] is expected_principal(endpoint)
    assert hints["what"] is expected_input(endpoint)
    assert hints["return"] is expected_result(endpoint)


@pytest.mark.parametrize("api", APIS)
def test_handlers_stand_in_the_order_of_the_table(api: type) -> None:
    handlers = [
        name
        for name, method in vars(api).items()
        if inspect.iscoroutinefunction(method) and list(inspect.signature(method).parameters)[1:] == ["who", "what"]
    ]
    assert handlers == [endpoint.name for endpoint in APIS[api]]


def test_open_endpoints_say_why() -> None:
    assert all(len(e.credential.because) > 15 for e in ENDPOINTS if isinstance(e.credential, Open))


def test_a_subscription_key_is_needed_wherever_the_specification_names_an_endpoint() -> None:
    assert all(e.subscription_key for e in ENDPOINTS if e.source.startswith("spec: "))


def test_the_specification_is_covered() -> None:
    numbered = {e.source for e in ENDPOINTS if e.source.rpartition(" ")[2].isdigit() and "rule" not in e.source}
    assert numbered == {f"spec: key store {n}" for n in range(1, 10)} | {f"spec: vault {n}" for n in range(10, 13)}


def test_creations_answer_201() -> None:
    for endpoint in ENDPOINTS:
        if endpoint.method == "POST" and endpoint.response is not NoBody:
            assert endpoint.status == (200 if endpoint.name in CREATIONS_WITH_200 else 201)


def test_only_get_answers_may_be_cached() -> None:
    assert all(e.method == "GET" and isinstance(e.credential, Open) for e in ENDPOINTS if e.cacheable)


def test_only_get_answers_are_conditional() -> None:
    assert all(e.method == "GET" for e in ENDPOINTS if e.conditional)


def test_paths_are_unique() -> None:
    keys = [(e.method, path) for e in ENDPOINTS for path in e.paths]
    assert len(set(keys)) == len(keys)


def test_reserved_refusals_stand_in_no_endpoint_of_their_own() -> None:
    declared: set[Refusal] = set()
    for endpoint in ENDPOINTS:
        declared |= set(endpoint.refusals)
    assert not declared & RESERVED


# The OpenAPI document is the tables in another language.


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    tables: dict[str, typing.Iterable[Endpoint]] = {
        "keystore": keystore.ENDPOINTS,
        "vault": vault.ENDPOINTS,
        "system": system.ENDPOINTS,
    }
    return openapi.document(tables, "1.2.3", "https://vault.example")


def operations(document: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(method.upper(), path): o for path, item in document["paths"].items() for method, o in item.items()}


def references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [r for member in value.values() for r in references(member)]
    if isinstance(value, list):
        return [r for member in value for r in references(member)]
    return []


def test_document_has_the_members_of_openapi_31(document: dict[str, Any]) -> None:
    assert document["openapi"].startswith("3.1.")
    assert {"title", "version"} <= document["info"].keys()
    assert document["info"]["version"] == "1.2.3"
    assert document["servers"] == [{"url": "https://vault.example"}]
    assert all(path.startswith("/") for path in document["paths"])


def test_a_running_service_serves_it(document: dict[str, Any], strongroom_session_service: Service) -> None:
    with httpx.Client(
        transport=strongroom_session_service.transport, base_url=strongroom_session_service.base_url
    ) as http:
        served = http.get("/openapi.json").json()
    own = {"info": document["info"], "servers": document["servers"]}
    assert served | own == msgspec.to_builtins(document)


def test_every_reference_resolves(document: dict[str, Any]) -> None:
    found = references(document)
    assert found
    for reference in found:
        target: Any = document
        assert reference.startswith("#/")
        for step in reference[2:].split("/"):
            target = target[step]
        assert isinstance(target, dict)


def test_every_schema_is_used(document: dict[str, Any]) -> None:
    used = {reference.rpartition("/")[2] for reference in references(document)}
    assert used == document["components"]["schemas"].keys()


def test_document_holds_exactly_the_public_endpoints(document: dict[str, Any]) -> None:
    public = {(e.method, path) for e in ENDPOINTS if not e.internal for path in e.paths}
    assert operations(document).keys() == public


def test_operations_are_complete(document: dict[str, Any]) -> None:
    found = operations(document)
    ids = [operation["operationId"] for operation in found.values()]
    schemes = document["components"]["securitySchemes"]
    assert len(set(ids)) == len(ids)
    for (_, path), operation in found.items():
        assert operation["summary"]
        assert any(status.startswith("2") for status in operation["responses"])
        assert all(response["description"] for response in operation["responses"].values())
        assert all(set(needed) <= schemes.keys() for needed in operation["security"])
        in_path = {p["name"] for p in operation["parameters"] if p["in"] == "path"}
        assert in_path == {part.rstrip("}") for part in path.split("{")[1:]}
        assert all("schema" in parameter for parameter in operation["parameters"])


def test_operations_equal_the_tables(document: dict[str, Any]) -> None:
    found = operations(document)
    for endpoint in ENDPOINTS:
        if endpoint.internal:
            continue
        for path in endpoint.paths:
            operation = found[(endpoint.method, path)]
            statuses = {endpoint.status, *endpoint.statuses, *(r.status for r in endpoint.all_refusals)}
            statuses |= {304} if endpoint.conditional else set()
            query = {p["name"] for p in operation["parameters"] if p["in"] == "query"}
            (security,) = operation["security"]
            assert operation["responses"].keys() == {str(status) for status in statuses}
            assert query == set(endpoint.query.__struct_fields__)
            assert ("requestBody" in operation) is endpoint.has_body
            assert ("subscription_key" in security) is endpoint.subscription_key
            assert (len(security) - endpoint.subscription_key == 1) is isinstance(endpoint.credential, Credential)
            if endpoint.response is not NoBody:
                content = operation["responses"][str(endpoint.status)]["content"]
                assert references(content) == [f"#/components/schemas/{endpoint.response.__name__}"]


def test_problem_schema_is_rfc_9457(document: dict[str, Any]) -> None:
    problem = document["components"]["schemas"]["Problem"]
    assert {"type", "title", "status", "detail", "instance"} <= problem["properties"].keys()
