"""The door: paths, headers, credentials and the one shape of every refusal."""

import re
from collections.abc import Awaitable, Callable
from itertools import islice
from typing import Any

import httpx
import pytest

from strongroom.app import Application
from strongroom.http.door import Door, _request_ids
from strongroom.http.routing import Route, routes
from strongroom.runtime.principals import Subscription
from strongroom.wire.endpoint import Endpoint, Open
from strongroom.wire.refusal import Refusal
from strongroom.wire.system import ENDPOINTS, Health

pytestmark = pytest.mark.anyio
PROBLEM = {"type", "title", "status", "detail", "instance", "code", "errors"}


def assert_problem(answer: httpx.Response, refusal: Refusal) -> None:
    """The one shape of every refusal, checked against the catalogue."""
    assert answer.status_code == refusal.status
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert set(problem) == PROBLEM
    assert problem["code"] == refusal.code
    assert problem["status"] == refusal.status
    assert problem["type"].endswith(f"/refusals/{refusal.code}")
    assert problem["instance"] == answer.headers["x-request-id"]
    assert problem["errors"]
    assert all(set(fault) <= {"error", "message", "pointer"} for fault in problem["errors"])
    assert ("www-authenticate" in answer.headers) == (refusal.status == 401)
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/nope",
        "//healthz",
        "/healthz/",
        "/%68ealthz",
        "/HEALTHZ",
        "/keystore",
        "/keystore/keypairs/",
        "/refusals/",
    ],
)
async def test_a_path_that_is_not_in_the_table_is_not_found(service: Any, path: str) -> None:
    assert_problem(await service.call("GET", path), Refusal.not_found)


@pytest.mark.parametrize("method", ["HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"])
async def test_another_method_is_told_what_is_allowed(service: Any, method: str) -> None:
    answer = await service.call(method, "/keystore/users")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("key", "refusal"),
    [
        (None, Refusal.subscription_key_missing),
        ("srk_nonsense", Refusal.subscription_key_invalid),
        ("x" * 5000, Refusal.subscription_key_invalid),
    ],
)
async def test_every_call_needs_a_subscription_key(service: Any, key: str | None, refusal: Refusal) -> None:
    assert_problem(await service.call("POST", "/keystore/session", {}, key=key), refusal)


async def test_both_subscription_keys_open_and_an_inactive_one_does_not(service: Any) -> None:
    for key in (service.keys.subscription_key, service.keys.secondary_subscription_key):
        answer = await service.call("POST", "/keystore/admission_tokens", key=key, auth=service.keys.provider_api_key)
        assert answer.status_code == 201
    answer = await service.call("POST", "/keystore/session", {}, key=service.keys.inactive_subscription_key)
    assert_problem(answer, Refusal.subscription_key_inactive)


@pytest.mark.parametrize("scheme", ["{}", "Bearer {}", "bearer {}", "  Bearer   {}  "])
async def test_authorization_is_taken_bare_or_as_bearer(service: Any, scheme: str) -> None:
    auth = scheme.format(service.keys.provider_api_key)
    assert (await service.call("POST", "/keystore/admission_tokens", auth=auth)).status_code == 201


@pytest.mark.parametrize("auth", [None, "", "Bearer", "Bearer "])
async def test_a_missing_authorization_is_told_as_such(service: Any, auth: str | None) -> None:
    assert_problem(await service.call("POST", "/keystore/admission_tokens", auth=auth), Refusal.authorization_missing)


async def test_a_header_sent_twice_is_refused(service: Any) -> None:
    headers = [
        ("Service-Subscription-Key", service.keys.subscription_key),
        ("Authorization", "a"),
        ("Authorization", "b"),
    ]
    answer = await service.http.request("POST", "/keystore/admission_tokens", headers=headers)
    assert_problem(answer, Refusal.malformed_request)


@pytest.mark.parametrize("media_type", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonp"])
async def test_another_media_type_is_refused(service: Any, media_type: str | None) -> None:
    headers = {} if media_type is None else {"Content-Type": media_type}
    answer = await service.call("POST", "/keystore/session", content=b"{}", headers=headers)
    assert_problem(answer, Refusal.unsupported_media_type)


async def test_a_charset_and_another_case_are_no_other_media_type(service: Any) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    answer = await service.call("POST", "/keystore/session", content=b"{}", headers=headers)
    assert_problem(answer, Refusal.validation_failed)


async def test_a_compressed_body_is_refused(service: Any) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    answer = await service.call("POST", "/keystore/session", content=b"{}", headers=headers)
    assert_problem(answer, Refusal.unsupported_media_type)


async def test_a_body_over_the_limit_is_refused_whether_announced_or_not(service: Any) -> None:
    large = b'{"username":"' + b"x" * 9000 + b'"}'
    headers = {"Content-Type": "application/json"}
    assert_problem(
        await service.call("POST", "/keystore/session", content=large, headers=headers), Refusal.body_too_large
    )

    async def chunks() -> Any:
        for _ in range(9):
            yield b"x" * 1024

    sent = headers | {"Service-Subscription-Key": service.keys.subscription_key}
    answer = await service.http.post("/keystore/session", content=chunks(), headers=sent)
    assert_problem(answer, Refusal.body_too_large)


def test_request_ids_differ() -> None:
    made = list(islice(_request_ids(), 2_000))
    assert len(set(made)) == 2_000
    assert all(re.fullmatch(r"[0-9a-f]{16}", number) for number in made)
    assert not set(made) & set(islice(_request_ids(), 2_000))


async def test_a_request_id_is_taken_if_it_is_harmless(service: Any) -> None:
    given = await service.call("GET", "/healthz", headers={"X-Request-Id": "abc-1.2"})
    assert given.headers["x-request-id"] == "abc-1.2"
    for bad in ("a b", "x" * 65, "sra_token", "{}", ""):
        answer = await service.call("GET", "/healthz", headers={"X-Request-Id": bad})
        assert re.fullmatch("[0-9a-f]{16}", answer.headers["x-request-id"])


@pytest.mark.parametrize("query", ["page=1&page=2", "per=%ff", "page=1" + "&x=1" * 40, "by_name=%00"])
async def test_a_query_that_can_be_read_two_ways_is_refused(service: Any, query: str) -> None:
    session = await service.user()
    path = "/keystore/data_encryption_keys"
    answer = await service.call("GET", f"{path}?{query}", auth=session)
    if query == "by_name=%00":  # not a parameter of this endpoint
        assert answer.status_code == 200
    else:
        assert_problem(answer, Refusal.malformed_request)


async def test_answers_carry_the_headers_that_keep_them_private(service: Any) -> None:
    answer = await service.call("POST", "/keystore/admission_tokens", auth=service.keys.provider_api_key)
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["vary"] == "Authorization"


async def test_a_conditional_request_for_an_image_is_answered_304(service: Any) -> None:
    session = await service.vault_session()
    listing = (await service.call("GET", "/vault/classification_nodes?per=1", auth=session)).json()
    path = listing["classification_nodes"][0]["image"].removeprefix("http://127.0.0.1:8000")
    found = await service.call("GET", path, key=None)
    assert found.status_code == 200
    again = await service.call("GET", path, key=None, headers={"If-None-Match": found.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


async def test_a_conditional_request_for_the_nodes_is_answered_304(service: Any) -> None:
    session = await service.vault_session()
    path = "/vault/classification_nodes?scheme_name=tag"
    found = await service.call("GET", path, auth=session)
    etag = found.headers["etag"]
    assert (found.status_code, found.headers["cache-control"]) == (200, "private, no-cache")
    for held in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        again = await service.call("GET", path, auth=session, headers={"If-None-Match": held})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)
        assert "content-length" not in again.headers
    for other in ('"other"', etag.strip('"'), f'*, {etag[:-2]}"'):
        changed = await service.call("GET", path, auth=session, headers={"If-None-Match": other})
        assert (changed.status_code, changed.content) == (200, found.content)


async def test_what_is_held_opens_nothing_without_a_session(service: Any) -> None:
    path = "/vault/classification_nodes"
    found = await service.call("GET", path, auth=await service.vault_session())
    refused = await service.call("GET", path, auth="nobody", headers={"If-None-Match": found.headers["etag"]})
    assert (refused.status_code, refused.headers["cache-control"]) == (401, "no-store")


class Broken:
    """An API whose handlers fail in ways no handler should."""

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Health]]:
        async def fail(call: Any) -> Health:
            raise RuntimeError("sra_secret in the message")

        return fail


def door(api: object) -> Door:
    async def nobody(key: str) -> Subscription:
        raise AssertionError

    return Door(routes(ENDPOINTS, api), authenticate_subscription=nobody, authenticate={}, public_url="http://h")


async def test_a_failure_is_a_500_without_a_message(caplog: pytest.LogCaptureFixture) -> None:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(door(Broken())), base_url="http://h") as http:
        answer = await http.get("/healthz")
    assert_problem(answer, Refusal.internal_error)
    assert "secret" not in answer.text


def test_an_endpoint_without_a_handler_does_not_start() -> None:
    with pytest.raises(TypeError, match="healthz"):
        routes(ENDPOINTS, object())


def test_two_endpoints_on_one_path_do_not_start() -> None:
    endpoint = Endpoint(method="GET", path="/healthz", summary="", credential=Open(because="test"))

    async def handler(call: Any) -> None:
        return None

    async def nobody(key: str) -> Subscription:
        raise AssertionError

    with pytest.raises(TypeError, match="twice"):
        Door([Route(endpoint, handler)] * 2, authenticate_subscription=nobody, authenticate={}, public_url="http://h")


async def test_the_application_serves_every_endpoint_of_the_tables(service: Any) -> None:
    application: Application = service.application
    document = (await service.call("GET", "/openapi.json")).json()
    for path, operations in document["paths"].items():
        for method in operations:
            answer = await service.call(method.upper(), path.replace("{", "").replace("}", ""), key=None)
            assert answer.status_code != 405
            if answer.status_code == 404:
                assert path.startswith(("/vault/global/images/", "/refusals/"))
    assert application.keystore is not None
