"""Malformed input of every kind, at every endpoint that takes a body: a problem document, and nothing changed."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strongroom.wire import keystore, vault
from strongroom.wire.endpoint import AnyEndpoint, Credential

pytestmark = pytest.mark.anyio

WITH_BODY = [
    endpoint for endpoint in (*keystore.ENDPOINTS, *vault.ENDPOINTS) if endpoint.takes_record and not endpoint.internal
]
BODIES = {
    "empty": b"",
    "cut": b'{"username": "a',
    "deep": b'{"x":' * 50_000,
    "deep list": b'{"x":' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    "nan": b'{"username": NaN}',
    "infinity": b'{"username": -Infinity}',
    "duplicate keys": b'{"username":"a","username":"b"}',
    "lone surrogate": b'{"username":"\\ud800"}',
    "nul": b'{"username":"\\u0000"}',
    "raw nul": b'{"username":"\x00"}',
    "long integer": b'{"username":' + b"9" * 5_000 + b"}",
    "broken utf-8": b'{"username":"\xc3\x28"}',
    "overlong utf-8": b'{"username":"\xc0\xaf"}',
    "encoded surrogate": b'{"username":"\xed\xa0\x80"}',
    "utf-16": '{"username":"a"}'.encode("utf-16"),
    "bom": b'\xef\xbb\xbf{"username":"a"}',
    "list": b"[]",
    "text": b'"x"',
    "number": b"1",
    "null": b"null",
    "wrong types": json.dumps(
        dict.fromkeys(("username", "passphrase", "admission_token", "public_key", "user", "metadata"), 7)
    ).encode(),
    "oversized": b'{"username":"' + b"a" * 200_000 + b'"}',
}


def credential_of(endpoint: AnyEndpoint, session: str) -> str | None:
    return session if endpoint.credential is Credential.keystore_session else None


async def rows(service: Any) -> list[tuple[str, int]]:
    """How many rows every table of both areas holds."""
    counted = []
    for area in (service.application.keystore, service.application.vault):
        tables = await area.store.read(
            lambda tx: tx.all("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        )
        for (table,) in tables:
            found = await area.store.read(lambda tx, table=table: tx.one(f"SELECT count(*) FROM {table}"))
            counted.append((table, found[0]))
    return counted


def assert_refused(answer: Any, *, allowed: tuple[int, ...] = (400, 401, 408, 409, 413, 415, 422)) -> None:
    assert answer.status_code in allowed, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == answer.status_code


@pytest.mark.parametrize("endpoint", WITH_BODY, ids=lambda endpoint: endpoint.path)
async def test_a_malformed_body_is_refused_and_changes_nothing(service: Any, endpoint: AnyEndpoint) -> None:
    session = await service.user()
    before = await rows(service)
    for body in BODIES.values():
        answer = await service.call(
            endpoint.method,
            endpoint.path,
            content=body,
            auth=credential_of(endpoint, session),
            headers={"Content-Type": "application/json"},
        )
        assert_refused(answer)
    assert await rows(service) == before


PUBLIC_KEYS: dict[str, Callable[[str], str]] = {
    "two blocks": lambda pem: pem + pem,
    "text before": lambda pem: "hello\n" + pem,
    "text after": lambda pem: pem + "hello",
    "a certificate": lambda pem: pem.replace("PUBLIC KEY", "CERTIFICATE"),
    "pkcs1": lambda pem: pem.replace("PUBLIC KEY", "RSA PUBLIC KEY"),
    "cut": lambda pem: pem[:400],
    "changed": lambda pem: pem[:200] + ("A" if pem[200] != "A" else "B") + pem[201:],
    "no armour": lambda pem: "".join(pem.splitlines()[1:-1]),
    "empty": lambda pem: " ",
    "nul": lambda pem: pem + "\u0001",
}


@pytest.mark.parametrize("name", PUBLIC_KEYS)
async def test_an_odd_public_key_is_refused_and_changes_nothing(
    service: Any, sealed: Any, public_pem: Any, name: str
) -> None:
    session = await service.user()
    tokens = [await service.admission_token(), await service.admission_token("/vault/admission_tokens")]
    before = await rows(service)
    key = PUBLIC_KEYS[name](public_pem())
    keypair = {"encrypted_serialized_key": sealed(), "public_key": key}
    answers = [
        await service.call("POST", "/keystore/keypairs", keypair, auth=session),
        await service.call("POST", "/vault/session", {"public_key": key}),
        *[
            await service.call("POST", "/vault/me", {"user": {"public_key": key, "admission_token": token}})
            for token in tokens
        ],
    ]
    for answer in answers:
        assert_refused(answer, allowed=(401,) if name == "changed" and answer is answers[1] else (422,))
    assert await rows(service) == before


any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def fields_of(endpoint: AnyEndpoint) -> st.SearchStrategy[tuple[AnyEndpoint, dict[str, Any]]]:
    """The endpoint with some of its fields, holding anything."""
    names = endpoint.body.__struct_fields__
    return st.tuples(st.just(endpoint), st.fixed_dictionaries({}, optional=dict.fromkeys(names, any_json)))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=120, deadline=None)
@given(st.sampled_from(WITH_BODY).flatmap(fields_of))
async def test_any_values_in_the_fields_are_answered_as_documented(
    service: Any, call: tuple[AnyEndpoint, dict[str, Any]]
) -> None:
    endpoint, body = call
    answer = await service.call(
        endpoint.method,
        endpoint.path,
        content=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
        auth="srs_x" if isinstance(endpoint.credential, Credential) else None,
    )
    assert_refused(answer)
    assert answer.json()["code"] in {refusal.code for refusal in endpoint.all_refusals}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=80, deadline=None)
@given(path=st.text(), query=st.text(), auth=st.text(st.characters(min_codepoint=33, max_codepoint=126)))
async def test_any_path_query_and_credential_are_answered(service: Any, path: str, query: str, auth: str) -> None:
    for prefix in ("/keystore/keypairs/external_id/", "/vault/classification_nodes/", "/vault/global/images/", "/"):
        answer = await service.call("GET", f"{prefix}{quote(path, safe='')}?{quote(query)}", auth=auth)
        assert answer.status_code in (200, 400, 401, 404, 405)
