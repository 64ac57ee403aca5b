"""Every endpoint of the tables is served by a method whose types say the same as the table."""

import inspect
import types
import typing
from typing import Any, get_type_hints

import httpx
import msgspec
import pytest

from strongroom.http import openapi
from strongroom.http.answers import Answer, Content, Stream, Versioned
from strongroom.http.call import Call
from strongroom.http.refusals import MEDIA_TYPE
from strongroom.http.system import SystemApi
from strongroom.keystore.api import KeystoreApi
from strongroom.runtime import principals
from strongroom.runtime.principals import KeystoreSession, Provider, Subscription, VaultSession
from strongroom.testing import Service
from strongroom.vault.api import VaultApi
from strongroom.version import __version__
from strongroom.wire import keystore, system, vault
from strongroom.wire.endpoint import AnyEndpoint, Condition, Credential, Endpoint, NoBody, Open
from strongroom.wire.octets import Octets
from strongroom.wire.refusal import RESERVED, Refusal
from tools import examples

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


def expected_principal(endpoint: AnyEndpoint) -> type:
    if isinstance(endpoint.credential, Credential):
        return PRINCIPALS[endpoint.credential]
    return Subscription if endpoint.subscription_key else types.NoneType


def expected_result(endpoint: AnyEndpoint) -> tuple[type, tuple[type, ...]]:
    """What a handler gives back, and of what."""
    if endpoint.statuses:
        return Answer, (endpoint.answer,)  # only an Answer can choose between two statuses
    if endpoint.is_conditional and endpoint.gives_record:
        return Versioned, (endpoint.answer,)
    if endpoint.gives_record:
        return endpoint.answer, ()
    if endpoint.answer is Octets:
        return Stream, ()
    return (types.NoneType if endpoint.status == 204 else Content), ()


@pytest.mark.parametrize(("api", "endpoint"), SERVED)
def test_handler_is_typed_as_the_table_says(api: type, endpoint: AnyEndpoint) -> None:
    handler = getattr(api, endpoint.name)
    hints = get_type_hints(handler)
    assert inspect.iscoroutinefunction(handler)
    assert list(inspect.signature(handler).parameters) == ["self", "call"]
    taken = (expected_principal(endpoint), endpoint.parameters, endpoint.query, endpoint.body)
    assert typing.get_origin(hints["call"]) is Call
    assert typing.get_args(hints["call"]) == taken
    given = hints["return"]
    assert (typing.get_origin(given) or given, typing.get_args(given)) == expected_result(endpoint)


@pytest.mark.parametrize("api", APIS)
def test_handlers_stand_in_the_order_of_the_table(api: type) -> None:
    handlers = [
        name
        for name, method in vars(api).items()
        if inspect.iscoroutinefunction(method) and list(inspect.signature(method).parameters)[1:] == ["call"]
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
        if endpoint.method == "POST" and endpoint.gives_record:
            assert endpoint.status == (200 if endpoint.name in CREATIONS_WITH_200 else 201)


def test_only_get_answers_may_be_cached() -> None:
    assert all(e.method == "GET" and isinstance(e.credential, Open) for e in ENDPOINTS if e.cacheable)


def test_only_get_answers_are_conditional() -> None:
    assert all(e.method == "GET" for e in ENDPOINTS if e.is_conditional)


def test_paths_are_unique() -> None:
    keys = [(e.method, path) for e in ENDPOINTS for path in e.paths]
    assert len(set(keys)) == len(keys)


def test_reserved_refusals_stand_in_no_endpoint_of_their_own() -> None:
    declared: set[Refusal] = set()
    for endpoint in ENDPOINTS:
        declared |= set(endpoint.refusals)
    assert not declared & RESERVED


# The OpenAPI document is the tables in another language.


TABLES: dict[str, typing.Iterable[AnyEndpoint]] = {
    "keystore": keystore.ENDPOINTS,
    "vault": vault.ENDPOINTS,
    "system": system.ENDPOINTS,
}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return openapi.document(TABLES, "1.2.3", "https://vault.example")


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


def test_a_running_service_serves_it(strongroom_session_service: Service) -> None:
    with httpx.Client(
        transport=strongroom_session_service.transport, base_url=strongroom_session_service.base_url
    ) as http:
        served = http.get("/openapi.json").json()
    expected = openapi.document(TABLES, __version__, served["servers"][0]["url"])
    assert served == msgspec.json.decode(msgspec.json.encode(expected))


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
    used = {reference for reference in references(document) if reference.startswith("#/components/schemas/")}
    assert {reference.rpartition("/")[2] for reference in used} == document["components"]["schemas"].keys()


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
            statuses |= {304} if endpoint.is_conditional else set()
            statuses |= {206} if Condition.range in endpoint.conditions else set()
            query = {p["name"] for p in operation["parameters"] if p["in"] == "query"}
            (security,) = operation["security"]
            assert operation["responses"].keys() == {str(status) for status in statuses}
            assert query == set(endpoint.query.__struct_fields__)
            assert ("requestBody" in operation) is (endpoint.body is not NoBody)
            assert ("subscription_key" in security) is endpoint.subscription_key
            assert (len(security) - endpoint.subscription_key == 1) is isinstance(endpoint.credential, Credential)
            if endpoint.gives_record:
                content = operation["responses"][str(endpoint.status)]["content"]
                assert references(content) == [f"#/components/schemas/{endpoint.answer.__name__}"]


def test_problem_schema_is_rfc_9457(document: dict[str, Any]) -> None:
    problem = document["components"]["schemas"]["Problem"]
    assert {"type", "title", "status", "detail", "instance"} <= problem["properties"].keys()


def test_every_field_and_every_parameter_is_described(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    silent = [
        f"{name}.{field}"
        for name, schema in schemas.items()
        for field, about in schema["properties"].items()
        if not about.get("description")
    ]
    assert silent == []
    assert all(p.get("description") for o in operations(document).values() for p in o["parameters"])


def test_refusal_codes_are_an_enumeration_of_each_operation(document: dict[str, Any]) -> None:
    found = operations(document)
    for endpoint in ENDPOINTS:
        if endpoint.internal:
            continue
        codes = {
            code
            for status, answer in found[endpoint.method, endpoint.path]["responses"].items()
            if int(status) >= 400
            for code in answer["content"][MEDIA_TYPE]["schema"]["allOf"][1]["properties"]["code"]["enum"]
        }
        assert codes == {refusal.code for refusal in endpoint.all_refusals}


def test_aliases_are_marked_as_such(document: dict[str, Any]) -> None:
    found = operations(document)
    marked = {key[1]: operation["x-alias-of"] for key, operation in found.items() if "x-alias-of" in operation}
    assert marked == {path: e.name for e in ENDPOINTS for path in e.aliases}


@pytest.mark.parametrize("endpoint", [e for e in ENDPOINTS if not e.internal], ids=lambda e: e.name)
def test_examples_are_of_the_records_they_stand_for(document: dict[str, Any], endpoint: AnyEndpoint) -> None:
    operation = operations(document)[endpoint.method, endpoint.path]
    if endpoint.takes_record:
        shown = operation["requestBody"]["content"]["application/json"]["example"]
        assert set(shown) == set(endpoint.body.__struct_fields__)
        msgspec.convert(shown, endpoint.body)
    if endpoint.gives_record:
        shown = operation["responses"][str(endpoint.status)]["content"]["application/json"]["example"]
        assert set(shown) == set(endpoint.answer.__struct_fields__)
        msgspec.convert(shown, endpoint.answer)


def test_the_values_of_examples_are_fresh_from_the_vectors() -> None:
    fresh = examples.FILE.read_text("utf-8") == examples.written()
    assert fresh, "run `make docs`, please"


def test_the_names_of_endpoints_are_those_of_their_constants() -> None:
    for module in (keystore, vault, system):
        named = {name.lower() for name, value in vars(module).items() if isinstance(value, Endpoint)}
        assert named == {endpoint.name for endpoint in module.ENDPOINTS}
    assert len({endpoint.name for endpoint in ENDPOINTS}) == len(ENDPOINTS)
