"""Races against a real server: many processes hold back the last byte of a request, then send it together."""

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

pytestmark = pytest.mark.slow

PROCESSES, CONNECTIONS = 4, 8
PARALLEL = PROCESSES * CONNECTIONS
RACER = str(Path(__file__).parent / "racer.py")


@dataclass
class Running:
    """A served data folder, called over the network."""

    keys: dict[str, str]
    process: subprocess.Popen[bytes]

    def call(self, method: str, path: str, body: Any = None, auth: str | None = None) -> httpx.Response:
        headers = {"Service-Subscription-Key": self.keys["subscription_key"]}
        if auth:
            headers["Authorization"] = auth
        return httpx.request(
            method, self.keys["base_url"] + path, json=body, headers=headers, timeout=30, trust_env=False
        )

    def token(self) -> str:
        answer = self.call("POST", "/keystore/admission_tokens", auth=self.keys["provider_api_key"])
        found: str = answer.json()["admission_token"]["token_value"]
        return found

    def together(self, requests: list[tuple[str, str, Any, str | None]]) -> list[tuple[int, Any]]:
        """Send all requests at the same moment from several processes; status and body of each, in order."""
        raw = [base64.b64encode(self._raw(*request)).decode() for request in requests]
        address = urlsplit(self.keys["base_url"])
        racers = []
        for number in range(PROCESSES):
            racer = subprocess.Popen([sys.executable, RACER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            share = {"host": address.hostname, "port": address.port, "requests": raw[number::PROCESSES]}
            assert racer.stdin is not None
            racer.stdin.write(json.dumps(share) + "\n")
            racer.stdin.flush()
            racers.append(racer)
        for racer in racers:
            assert racer.stdout is not None
            assert racer.stdout.readline() == "ready\n"
        for racer in racers:
            assert racer.stdin is not None
            racer.stdin.write("go\n")
            racer.stdin.flush()
        answered = [json.loads(racer.communicate(timeout=60)[0]) for racer in racers]
        return [tuple(answered[n % PROCESSES][n // PROCESSES]) for n in range(len(requests))]

    def _raw(self, method: str, path: str, body: Any, auth: str | None) -> bytes:
        content = json.dumps(body).encode()
        head = [
            f"{method} {path} HTTP/1.1",
            "Host: localhost",
            f"Service-Subscription-Key: {self.keys['subscription_key']}",
            "Content-Type: application/json",
            f"Content-Length: {len(content)}",
            "Connection: close",
        ]
        if auth:
            head.append(f"Authorization: {auth}")
        return "\r\n".join(head).encode() + b"\r\n\r\n" + content


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("races")
    process, keys = serve(folder, "--sandbox")
    yield Running(keys, process)
    stop(process)


def serve(folder: Path, *flags: str) -> tuple[subprocess.Popen[bytes], dict[str, str]]:
    """Start the real command; the process and the line it prints once it listens."""
    command = [sys.executable, "-m", "strongroom.cli", "serve", "--data", str(folder), "--port", "0", "--json", *flags]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ | {"STRONGROOM_ACCESS_LOG": "off"}
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, "the service did not start"
    return process, json.loads(line)


def stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    assert process.stdout is not None
    process.stdout.close()


def user_body(token: str, name: str, login_secret: Any) -> dict[str, str]:
    return {"admission_token": token, "username": name, "passphrase": login_secret()}


def test_one_token_against_32_requests(running: Running, login_secret: Any) -> None:
    token = running.token()
    answers = running.together(
        [("POST", "/keystore/users", user_body(token, f"one-{n}", login_secret), None) for n in range(PARALLEL)]
    )
    assert Counter(status for status, _ in answers) == {201: 1, 409: PARALLEL - 1}
    assert {body["code"] for status, body in answers if status == 409} == {"admission_token_used"}


def test_one_username_with_32_tokens_leaves_31_of_them_good(running: Running, login_secret: Any) -> None:
    tokens = [running.token() for _ in range(PARALLEL)]
    answers = running.together(
        [("POST", "/keystore/users", user_body(token, "taken", login_secret), None) for token in tokens]
    )
    assert Counter(status for status, _ in answers) == {201: 1, 409: PARALLEL - 1}
    assert {body["code"] for status, body in answers if status == 409} == {"username_taken"}
    losers = [token for token, (status, _) in zip(tokens, answers, strict=True) if status == 409]
    again = [
        running.call("POST", "/keystore/users", user_body(token, f"later-{n}", login_secret)).status_code
        for n, token in enumerate(losers)
    ]
    assert Counter(again) == {201: PARALLEL - 1}


def test_two_key_encryption_keys_have_one_winner(running: Running, login_secret: Any, sealed: Any) -> None:
    body = user_body(running.token(), "kek", login_secret)
    assert running.call("POST", "/keystore/users", body).status_code == 201
    session = running.call("POST", "/keystore/session", body).json()["session"]["session_authentication_string"]
    values = [sealed(), sealed()]
    path = "/keystore/key_encryption_key"
    answers = running.together(
        [("POST", path, {"serialized_key_encryption_key": values[n % 2]}, session) for n in range(PARALLEL)]
    )
    stored = running.call("GET", path, auth=session).json()
    same = [body for status, body in answers if status in (200, 201)]
    assert Counter(status for status, _ in answers) == {201: 1, 200: PARALLEL // 2 - 1, 409: PARALLEL // 2}
    assert all(body == stored for body in same)


def test_one_token_for_two_areas_opens_one_of_them(running: Running, login_secret: Any, public_pem: Any) -> None:
    for name in ("ada", "bob", "cleo"):
        token = running.token()
        user = ("POST", "/keystore/users", user_body(token, f"area-{name}", login_secret), None)
        vault = ("POST", "/vault/me", {"user": {"public_key": public_pem(name), "admission_token": token}}, None)
        answers = running.together([user, vault] * 4)
        users, vaults = answers[::2], answers[1::2]
        # The holder of the key that claimed the token may repeat the request, and learns that the account exists.
        assert sum(status == 201 for status, _ in answers) == 1
        assert {body["code"] for status, body in users if status != 201} <= {"admission_token_used"}
        assert {body["code"] for status, body in vaults if status != 201} <= {
            "admission_token_used",
            "public_key_taken",
        }


def test_the_areas_run_apart(tmp_path: Path, login_secret: Any, sealed: Any, public_pem: Any, opened: Any) -> None:
    """Two processes, one database each; endpoint 9 and the claim of a key store token go over HTTP."""
    ports = [_free_port(), _free_port()]
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    keystore, keys = serve(
        tmp_path, "--sandbox", "--areas", "keystore", "--port", str(ports[0]), "--other-area-url", urls[1]
    )
    vault, _ = serve(tmp_path, "--areas", "vault", "--port", str(ports[1]), "--other-area-url", urls[0])
    try:
        here, there = Running(keys, keystore), Running(keys | {"base_url": urls[1]}, vault)
        body = user_body(here.token(), "ada", login_secret)
        assert here.call("POST", "/keystore/users", body).status_code == 201
        session = here.call("POST", "/keystore/session", body).json()["session"]["session_authentication_string"]
        keypair = {"encrypted_serialized_key": sealed(), "public_key": public_pem(), "external_identifiers": ["vault"]}
        assert here.call("POST", "/keystore/keypairs", keypair, session).status_code == 201
        answers = [here.call("GET", "/keystore/external_admission_tokens", auth=session) for _ in range(2)]
        assert answers[0].json() == answers[1].json()
        token = answers[0].json()["external_admission_token"]["vault_api_admission_token"]
        user = {"user": {"public_key": public_pem(), "admission_token": token}}
        made = there.call("POST", "/vault/me", user)
        assert made.status_code == 201
        string = opened(made.json()["encrypted_session_authentication_string"])
        assert there.call("GET", "/vault/classification_nodes", auth=string).status_code == 200
        assert here.call("GET", "/keystore/external_admission_tokens", auth=session).status_code == 409
        # A token of endpoint 1 lives in the key store and is claimed by the vault.
        claimed = {"public_key": public_pem("bob"), "admission_token": here.token()}
        assert there.call("POST", "/vault/me", {"user": claimed}).status_code == 201
        used = there.call("POST", "/vault/me", {"user": claimed | {"public_key": public_pem("cleo")}})
        assert (used.status_code, used.json()["code"]) == (409, "admission_token_used")
        # What belongs to the other area is not served here, and the calls between the areas need their credential.
        assert here.call("POST", "/vault/session", {"public_key": public_pem()}).status_code == 404
        for running, path in ((here, "/keystore/admission_tokens/claim"), (there, "/vault/external_admission_tokens")):
            assert running.call("POST", path, {}, keys["provider_api_key"]).status_code == 401
        # Without the other area the answer is 503, and nothing is lost.
        stop(vault)
        token = here.token()
        assert here.call("GET", "/keystore/external_admission_tokens", auth=session).status_code == 503
    finally:
        stop(keystore)
        if vault.poll() is None:
            stop(vault)


def test_an_area_runs_alone(tmp_path: Path, login_secret: Any, public_pem: Any, opened: Any) -> None:
    """Without the URL of the other area: its own endpoints work, and what needs the other one is answered 503."""
    process, keys = serve(tmp_path / "keystore", "--sandbox", "--areas", "keystore")
    try:
        running = Running(keys, process)
        body = user_body(running.token(), "ada", login_secret)
        assert running.call("POST", "/keystore/users", body).status_code == 201
        session = running.call("POST", "/keystore/session", body).json()["session"]["session_authentication_string"]
        refused = running.call("GET", "/keystore/external_admission_tokens", auth=session)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert running.call("GET", "/vault/classification_nodes").status_code == 404
    finally:
        stop(process)
    process, keys = serve(tmp_path / "vault", "--sandbox", "--areas", "vault")
    try:
        running = Running(keys, process)
        issued = running.call("POST", "/vault/admission_tokens", auth=keys["provider_api_key"]).json()
        user = {"public_key": public_pem(), "admission_token": issued["admission_token"]["token_value"]}
        made = running.call("POST", "/vault/me", {"user": user})
        string = opened(made.json()["encrypted_session_authentication_string"])
        assert running.call("GET", "/vault/classification_nodes", auth=string).status_code == 200
        assert running.call("POST", "/keystore/session", {}).status_code == 404
    finally:
        stop(process)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def test_an_answered_write_survives_kill_9(tmp_path: Path, login_secret: Any, sealed: Any) -> None:
    process, keys = serve(tmp_path, "--sandbox")
    running = Running(keys, process)
    body = user_body(running.token(), "ada", login_secret)
    assert running.call("POST", "/keystore/users", body).status_code == 201
    session = running.call("POST", "/keystore/session", body).json()["session"]["session_authentication_string"]
    acknowledged = []
    until = time.monotonic() + 1
    while time.monotonic() < until:
        value = sealed()
        answer = running.call(
            "POST", "/keystore/data_encryption_keys", {"serialized_data_encryption_key": value}, session
        )
        if answer.status_code == 201:
            acknowledged.append(value)
    process.kill()
    process.wait(10)
    assert process.stdout is not None
    process.stdout.close()
    process, keys = serve(tmp_path, "--sandbox")
    try:
        listing = Running(keys, process).call("GET", "/keystore/data_encryption_keys", auth=session).json()
    finally:
        stop(process)
    stored = [key["serialized_data_encryption_key"] for key in listing["data_encryption_keys"]]
    assert acknowledged
    assert set(acknowledged) <= set(stored)
