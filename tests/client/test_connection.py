"""Settings, requests and replies: what is sent where, and what each kind of answer becomes."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import httpx
import pytest

from strongroom import (
    AdmissionTokenUsed,
    ConfigurationRefused,
    CryptoError,
    InvalidCredentials,
    ProtocolViolation,
    ServiceRefused,
    ServiceUnavailable,
    SessionExpired,
    Strongroom,
    StrongroomError,
    UsernameTaken,
)
from strongroom.client.connection import ServiceConnection
from strongroom.wire.refusal import Refusal

if TYPE_CHECKING:
    from tests.client.conftest import Peer

Connect = Callable[..., Strongroom]


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000", "http://localhost", "http://[::1]:8000/", "https://v.example"]
)
def test_addresses_that_are_used(url: str) -> None:
    assert ServiceConnection(url).keystore_url == url.rstrip("/")


@pytest.mark.parametrize(
    "url",
    [
        "http://v.example",
        "http://10.0.0.1:8000",
        "http://localhost.example",
        "ftp://localhost",
        "v.example",
        "",
        "https://user:secret@v.example",
        "https://v.example/?x=1",
        "https://v.example/#x",
    ],
)
def test_addresses_that_are_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STRONGROOM_URL", raising=False)
    with pytest.raises(StrongroomError) as caught:
        ServiceConnection(url)
    assert "secret" not in str(caught.value)


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRONGROOM_URL", "https://v.example")
    monkeypatch.setenv("STRONGROOM_SUBSCRIPTION_KEY", "srk_one")
    monkeypatch.setenv("STRONGROOM_PROVIDER_API_KEY", "srp_one")
    seen: list[httpx.Request] = []

    def handle(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(500)

    with Strongroom(transport=httpx.MockTransport(handle)) as service, pytest.raises(ServiceUnavailable):
        service.issue_admission_token()
    assert str(seen[0].url) == "https://v.example/keystore/admission_tokens"
    assert seen[0].headers["service-subscription-key"] == "srk_one"
    assert seen[0].headers["authorization"] == "srp_one"


def test_the_realm_is_the_callers_or_follows_from_the_address() -> None:
    assert ServiceConnection("http://127.0.0.1:8000").realm == "http://localhost"
    assert ServiceConnection("https://V.example:443/").realm == "https://v.example"
    assert ServiceConnection("http://127.0.0.1:8000", realm="https://v.example").realm == "https://v.example"
    with pytest.raises(CryptoError):
        ServiceConnection("http://127.0.0.1:8000", realm="http://v.example")


def test_areas_apart_share_one_realm_and_no_credential(connect: Connect, peer: "Peer") -> None:
    with pytest.raises(ConfigurationRefused):
        ServiceConnection(keystore_url="https://k.example", vault_url="https://v.example")
    with pytest.raises(ConfigurationRefused):
        ServiceConnection(keystore_url="https://k.example")
    apart = {"base_url": None, "keystore_url": "https://k.example", "vault_url": "https://v.example"}
    with connect(peer, **apart, realm="http://localhost") as service:
        account = service.register("Ada", "a passphrase", iterations=600_000)
        account.log_out()
    for seen in peer.seen:
        area = "https://v.example/vault/" if seen.name.startswith("vault.") else "https://k.example/keystore/"
        assert seen.url.startswith(area)
        authorization = seen.headers.get("authorization", "")
        assert authorization.startswith(("srv1_", "") if area.endswith("vault/") else ("srs_", "srp_", ""))
        assert not (authorization.startswith("srs_") and area.endswith("vault/"))
        assert not (authorization.startswith("srv1_") and area.endswith("keystore/"))


def test_every_request_carries_the_headers_of_the_specification(connect: Connect, settled: "Peer") -> None:
    with connect(settled) as service:
        account = service.unlock("Ada", "correct horse battery staple")
        account.classification_nodes()
    for seen in settled.seen:
        assert seen.headers["service-subscription-key"] == "srk_subscription"
        assert seen.headers["content-type"] == "application/json"
        assert seen.headers["accept-encoding"] == "identity"
        assert "cookie" not in seen.headers
    for seen in settled.seen:
        if seen.name in {"keystore.create_session", "vault.create_vault_session"}:
            assert "authorization" not in seen.headers


def test_images_are_fetched_without_any_credential(connect: Connect, peer: "Peer") -> None:
    with connect(peer) as service:
        assert service.calls.read_image("00000000-0000-7000-8000-00000000000a").startswith(b"\x89PNG")
        for hostile in ("..", "", "../../keystore/session", "https://evil.example/x"):
            before = len(peer.seen)
            try:
                service.calls.read_image(hostile)
            except ConfigurationRefused:
                assert len(peer.seen) == before
    for seen in peer.seen:
        assert seen.url.startswith("http://127.0.0.1:8000/vault/global/images/")
        assert "service-subscription-key" not in seen.headers
        assert "authorization" not in seen.headers


@pytest.mark.parametrize("key", ["srk\r\nX: y", "a b", "\u00e9", "k" * 2000])
def test_keys_that_would_write_headers_of_their_own_are_refused(key: str, connect: Connect, peer: "Peer") -> None:
    with pytest.raises(ConfigurationRefused):
        ServiceConnection("https://v.example", subscription_key=key)
    with connect(peer) as service:
        with pytest.raises(ConfigurationRefused):
            service.calls.read_key_encryption_key(key)
        with pytest.raises(ConfigurationRefused):
            service.register("Ada", "a passphrase", admission_token=key)
    assert peer.seen == []


def test_text_that_cannot_be_sent_is_refused(connect: Connect, peer: "Peer") -> None:
    with connect(peer) as service:
        with pytest.raises(ConfigurationRefused):
            service.calls.create_session("\ud800", "x")
        with pytest.raises(ConfigurationRefused):
            service.calls.read_keypair("s.s", "\ud800")
        with pytest.raises(ConfigurationRefused):
            service.calls.list_classification_nodes("s", by_name="\ud800")


def test_without_a_subscription_key_only_open_resources_are_asked(connect: Connect, peer: "Peer") -> None:
    with connect(peer, subscription_key=None) as service:
        assert service.calls.healthz().status == "ok"
        with pytest.raises(ConfigurationRefused):
            service.calls.create_session("Ada", "x")
    assert peer.names == ["system.healthz"]


def answer(status: int, body: bytes | str, content_type: str = "application/json", **headers: str) -> httpx.Response:
    return httpx.Response(status, content=body, headers={"Content-Type": content_type, **headers})


def problem(refusal: Refusal, **headers: str) -> httpx.Response:
    body = {"type": "t", "title": "t", "status": refusal.status, "detail": "d", "instance": "id-1"}
    body |= {"code": refusal.code, "errors": [{"error": refusal.code, "message": "m", "pointer": "/x"}]}
    return answer(refusal.status, json.dumps(body), "application/problem+json", **headers)


def ask(response: httpx.Response) -> object:
    with Strongroom("http://localhost", transport=httpx.MockTransport(lambda _: response)) as service:
        return service.calls.healthz()


@pytest.mark.parametrize("refusal", Refusal)
def test_every_refusal_of_the_contract_becomes_one_error(refusal: Refusal) -> None:
    with pytest.raises(StrongroomError) as caught:
        ask(problem(refusal, **{"Retry-After": "3"}))
    error = caught.value
    if refusal.status == 429 or refusal.status >= 500:
        assert isinstance(error, ServiceUnavailable)
        assert (error.retry_after, error.status) == (3.0, refusal.status)
        return
    assert isinstance(error, ServiceRefused)
    assert (error.code, error.status, error.detail, error.request_id) == (refusal.code, refusal.status, "d", "id-1")
    assert error.errors[0].pointer == "/x"
    kinds = {
        Refusal.invalid_credentials: InvalidCredentials,
        Refusal.session_invalid: SessionExpired,
        Refusal.username_taken: UsernameTaken,
        Refusal.admission_token_used: AdmissionTokenUsed,
    }
    assert type(error) is kinds.get(refusal, ServiceRefused)


@pytest.mark.parametrize(
    "response",
    [
        answer(200, b""),
        answer(200, b"{"),
        answer(200, b"\xff"),
        answer(200, b"[" * 100_000),
        answer(200, '{"status": "\\ud800"}'),
        answer(200, '{"status": 1}'),
        answer(200, '{"status": "ok"}', "text/html"),
        answer(200, '{"status": "ok"}', ""),
        answer(301, "", Location="https://evil.example"),
        answer(307, "", Location="https://evil.example"),
        answer(404, "<html>", "text/html"),
        answer(404, "{}", "application/problem+json"),
        answer(199 + 1, '{"status": "ok"}', **{"Content-Encoding": "br"}),
    ],
    ids=range(13),
)
def test_answers_that_break_the_contract(response: httpx.Response) -> None:
    with pytest.raises(ProtocolViolation):
        ask(response)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 599])
def test_not_now_needs_no_problem_document(status: int) -> None:
    for value in ("", "soon", "-1", "9" * 30, "Wed, 21 Oct 2026 07:28:00 GMT"):
        with pytest.raises(ServiceUnavailable) as caught:
            ask(answer(status, "<html>", "text/html", **{"Retry-After": value}))
        assert caught.value.retry_after is None
