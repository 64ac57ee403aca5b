"""The API reference says what the OpenAPI document says, for every operation."""

import ast
import inspect
import json
import shlex

import pytest

from strongroom import Strongroom
from strongroom.client.blocking.calls import Calls
from strongroom.portal.documentation import examples
from strongroom.portal.documentation.reference import TABLES, Operation, Reference, reference
from strongroom.wire.endpoint import Condition, Credential
from strongroom.wire.refusal import Refusal

BASE_URL = "https://vault.example"
KNOWN = reference(BASE_URL)
PUBLIC = [endpoint for endpoints in TABLES.values() for endpoint in endpoints if not endpoint.internal]


def name(operation: Operation) -> str:
    return operation.id


def test_every_public_endpoint_has_a_page() -> None:
    assert [(o.method, o.path) for o in KNOWN.operations] == [(e.method, e.path) for e in PUBLIC]
    assert len(KNOWN.by_slug) == len(PUBLIC)
    assert sum(len(operations) for _, operations in KNOWN.by_tag()) == len(PUBLIC)


def test_pages_say_what_the_table_says() -> None:
    for operation, endpoint in zip(KNOWN.operations, PUBLIC, strict=True):
        credential = endpoint.credential.value if isinstance(endpoint.credential, Credential) else None
        assert operation.credential == credential
        assert operation.subscription_key == endpoint.subscription_key
        assert operation.summary == endpoint.summary
        assert operation.aliases == endpoint.aliases
        held = {304} if endpoint.is_conditional else set()
        held |= {206} if Condition.range in endpoint.conditions else set()
        assert set(operation.statuses) == {endpoint.status, *endpoint.statuses, *held}
        assert ("If-None-Match" in {field.name for field in operation.parameters}) == endpoint.is_conditional
        documented = {code for _, codes in operation.refusals for code in codes}
        assert documented == {refusal.code for refusal in endpoint.all_refusals}


def test_fields_tell_type_limits_and_what_is_taken_instead() -> None:
    keypair = {field.name: field for field in KNOWN.record("StoreKeypair").fields}
    assert keypair["public_key"].kind == "string"
    assert keypair["public_key"].limits == "The public key as PEM (SPKI), RSA with 4096 bits; 1 to 1,024 characters"
    assert keypair["public_key"].required
    assert keypair["external_identifiers"].kind == "array of string"
    assert keypair["external_identifiers"].limits.startswith(
        "The tags, each on one keypair only; at most 16 members; each: "
    )
    assert keypair["external_identifiers"].default == "[]"
    node = {field.name: field for field in KNOWN.record("ClassificationNode").fields}
    assert node["description"].kind == "string or null"
    listing = {field.name: field for field in KNOWN.record("ClassificationNodesResponse").fields}
    assert listing["classification_nodes"].record == "ClassificationNode"


def test_refusals_know_who_answers_them() -> None:
    assert [o.path for o in KNOWN.answering("username_taken")] == ["/keystore/users"]
    assert KNOWN.answering("nothing_like_it") == []
    assert {r.code for r in Refusal if KNOWN.answering(r.code)} >= {"session_invalid", "unavailable", "not_found"}


@pytest.mark.parametrize("operation", KNOWN.operations, ids=name)
def test_every_curl_line_is_one_the_shell_can_read(operation: Operation) -> None:
    words = shlex.split(examples.curl(KNOWN, operation).replace("\\\n", ""))
    assert words[0] == "curl"
    assert words[-1].startswith(f"{BASE_URL}/")
    assert "{" not in words[-1]
    assert ("-d" in words) == bool(operation.requests)
    if "-d" in words:
        sent = json.loads(words[words.index("-d") + 1])
        assert set(sent) == {field.name for field in operation.requests[0].fields}


@pytest.mark.parametrize("operation", KNOWN.operations, ids=name)
def test_every_answer_has_an_example(operation: Operation) -> None:
    example = examples.body(operation.response_example)
    if operation.responses:
        assert set(json.loads(example)) == {field.name for field in operation.responses[0].fields}
    else:
        assert example == ""


@pytest.mark.parametrize("operation", KNOWN.operations, ids=name)
def test_python_calls_are_those_of_the_client(operation: Operation) -> None:
    text = examples.python(KNOWN, operation)
    if not text:
        assert operation.id in {"refusal", "openapi"}
        return
    with_block = ast.parse(text).body[1]
    assert isinstance(with_block, ast.With)
    call = with_block.body[0].value  # type: ignore[attr-defined]  # an assignment, as the line below shows
    assert ast.unparse(call.func) == f"service.calls.{operation.id}"
    method = getattr(Calls, operation.id)
    inspect.signature(method).bind(None, *call.args, **{keyword.arg: keyword.value for keyword in call.keywords})


def test_python_examples_compile() -> None:
    for operation in KNOWN.operations:
        compile(examples.python(KNOWN, operation), operation.id, "exec")
    text = examples.first_call_python(BASE_URL, subscription_key="srk_made", provider_api_key="srp_made")
    compile(text, "first call", "exec")
    assert 'provider_api_key="srp_made"' in text
    assert "issue_admission_token" in text
    assert hasattr(Strongroom, "issue_admission_token")


def test_the_first_call_holds_the_key_that_was_just_made() -> None:
    text = examples.first_call_curl(BASE_URL, subscription_key="srk_made")
    assert text.startswith("export STRONGROOM_SUBSCRIPTION_KEY=srk_made\ncurl ")
    words = shlex.split(text.replace("\\\n", ""))
    assert "Service-Subscription-Key: $STRONGROOM_SUBSCRIPTION_KEY" in words
    assert "Authorization: $STRONGROOM_PROVIDER_API_KEY" in words
    assert words[-1] == f"{BASE_URL}/keystore/admission_tokens"


def test_a_body_with_a_quote_stays_one_word() -> None:
    line = examples.curl_line("POST", BASE_URL, [], '{"name": "it\'s"}')
    assert json.loads(shlex.split(line.replace("\\\n", ""))[-2]) == {"name": "it's"}


def test_a_problem_is_shown_as_the_service_sends_it() -> None:
    shown = json.loads(examples.problem(KNOWN, Refusal.username_taken))
    assert set(shown) == {field.name for field in KNOWN.record("Problem").fields}
    assert shown["type"] == f"{BASE_URL}/refusals/username_taken"


def test_a_reference_is_of_one_document() -> None:
    document = {"components": {"schemas": {}}, "servers": [{"url": "http://localhost"}], "paths": {}}
    assert Reference(document).operations == ()
