"""Planted secrets: after a full journey none of them is in a database, a journal, a log, an error or a traceback."""

import base64
import gzip
import io
import json
import sys
import urllib.parse
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from strongroom import AsyncStrongroom
from strongroom.client.observing import Exchange
from strongroom.crypto import randomness
from strongroom.crypto.derivation import parse_derivation_artefacts
from strongroom.runtime.logging import configure

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "raw": lambda secret: secret,
    "hex": lambda secret: secret.hex().encode(),
    "HEX": lambda secret: secret.hex().upper().encode(),
    "base64": lambda secret: base64.b64encode(secret)[:-4],
    "base64, second place": lambda secret: base64.b64encode(b"x" + secret)[4:-4],
    "base64, third place": lambda secret: base64.b64encode(b"xx" + secret)[4:-4],
    "base64url": lambda secret: base64.urlsafe_b64encode(secret)[:-4],
    "url": lambda secret: urllib.parse.quote_from_bytes(secret).encode(),
    "utf-16": lambda secret: secret.decode("latin-1").encode("utf-16-le"),
    "reversed": lambda secret: secret[::-1],
    "deflated": lambda secret: zlib.compress(secret)[2:-4],
    "json": lambda secret: json.dumps(secret.decode("latin-1"))[1:-1].encode(),
}


class Planted:
    """The secrets, and the places they must not be in."""

    def __init__(self) -> None:
        self.secrets: dict[str, bytes] = {}

    def plant(self, name: str, secret: str | bytes) -> str:
        raw = secret.encode() if isinstance(secret, str) else secret
        self.secrets[name] = raw
        return raw.decode("latin-1")

    def found_in(self, place: str, content: bytes) -> list[str]:
        return [
            f"{name} as {form} in {place}"
            for name, secret in self.secrets.items()
            for form, encode in ENCODINGS.items()
            if encode(secret) in content
        ]


def test_the_scan_finds_what_is_there() -> None:
    planted = Planted()
    planted.plant("secret", "correct horse battery staple")
    for form, encode in ENCODINGS.items():
        hidden = b"before " + encode(b"correct horse battery staple") + b" after"
        assert f"secret as {form} in here" in planted.found_in("here", hidden)
    assert planted.found_in("here", base64.b64encode(b"?correct horse battery staple?"))
    assert not planted.found_in("here", b"something else")


async def test_no_secret_is_kept_logged_or_sent(
    tmp_path: Path, service: Any, private_pem: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = io.StringIO()
    configure("debug", log)
    planted, answers, sent = Planted(), [], list[Exchange]()

    # What the client draws at random: keys, salts, nonces. Salts and nonces are no secrets, 32-byte values are keys.
    drawn: list[bytes] = []
    original = randomness.random_bytes

    def drawing(size: int) -> bytes:
        drawn.append(original(size))
        return drawn[-1]

    for module in _users_of_randomness():
        monkeypatch.setattr(module, "random_bytes", drawing)

    passphrase = planted.plant("passphrase of the client", "Tr0ub4dor&3 in the strongroom")
    async with AsyncStrongroom(
        "http://127.0.0.1:8000",
        subscription_key=service.keys.subscription_key,
        provider_api_key=service.keys.provider_api_key,
        transport=httpx.ASGITransport(service.application),
        observer=sent.append,
    ) as client:
        account = await client.register("ada", passphrase)
        salt = _salt(sent)
        for number, key in enumerate(value for value in drawn if len(value) == 32 and value != salt):
            planted.plant(f"key {number}", key)
        for number in range(10):
            plaintext = f"plaintext number {number} of the journey"
            planted.plant(f"plaintext {number}", plaintext)
            await account.seal(plaintext.encode())
        await account.log_out()
        again = await client.unlock("ada", passphrase)
        await again.log_out()
    keys = [name for name in planted.secrets if name.startswith("key ")]
    assert len(keys) >= 2, "the key encryption key and a data encryption key at least"

    # Callers who do it wrong: raw passphrases, private keys in clear, secrets where they do not belong.
    session = await service.user("bob", planted.plant("raw passphrase", "raw passphrase of bob"))
    for number in range(9):
        guess = planted.plant(f"guess {number}", f"wrong guess {number} at the door")
        answers.append(await service.call("POST", "/keystore/session", {"username": "bob", "passphrase": guess}))
    for number, name in enumerate(("ada", "bob", "cleo", "dora")):
        pem = private_pem(name)
        planted.plant(f"private key {number}", pem.splitlines()[5])
        for path, field in (
            ("/keystore/key_encryption_key", "serialized_key_encryption_key"),
            ("/keystore/data_encryption_keys", "serialized_data_encryption_key"),
        ):
            packed = base64.urlsafe_b64encode(gzip.compress(pem.encode())).decode()
            answers += [await service.call("POST", path, {field: value}, auth=session) for value in (pem, packed)]
    for number in range(6):
        text = planted.plant(f"misplaced {number}", f"misplaced secret number {number}")
        answers += [
            await service.call("GET", path, auth=session, headers={"X-Request-Id": text})
            for path in (f"/keystore/keypairs/{text}", f"/keystore/keypairs/external_id/{text}", f"/{text}")
        ]
        answers.append(await service.call("GET", f"/vault/classification_nodes?by_name={text}", auth=text))
        answers.append(await service.call("POST", "/keystore/admission_tokens", auth=text, key=text))
        answers.append(await service.call("POST", "/vault/session", {"public_key": text}))
        answers.append(await service.call("POST", "/keystore/session", {text: text}))

    # A programming error with a secret in its message.
    hidden = planted.plant("in an exception", "secret inside of an exception")

    async def fail(*_: object, **__: object) -> None:
        local = hidden
        raise RuntimeError(local)

    monkeypatch.setattr("strongroom.keystore.key_encryption_key.read", fail)
    answers.append(await service.call("GET", "/keystore/key_encryption_key", auth=session))
    assert answers[-1].status_code == 500

    # Credentials of the service itself: shown once, stored as hashes.
    planted.plant("session string", session.partition(".")[2])
    planted.plant("admission token", await service.admission_token())
    planted.plant("subscription key", service.keys.subscription_key)
    planted.plant("provider key", service.keys.provider_api_key)
    planted.plant("server secret", (tmp_path / "data" / "secret").read_text("ascii").strip())

    assert len(planted.secrets) >= 40
    assert all(answer.status_code >= 400 for answer in answers)
    found = []
    for number, answer in enumerate(answers):
        found += planted.found_in(f"answer {number}", answer.content)
        found += planted.found_in(f"headers {number}", str(answer.headers).encode())
    files = [file for file in (tmp_path / "data").iterdir() if file.name != "secret" and file.is_file()]
    assert {file.name for file in files} >= {"keystore.sqlite", "keystore.sqlite-wal", "vault.sqlite"}
    for file in files:
        found += planted.found_in(file.name, file.read_bytes())
    written = log.getvalue().encode()
    assert b'"event": "failed"' in written
    found += planted.found_in("the log", written)
    assert found == []

    client_only = {
        name: value for name, value in planted.secrets.items() if name.startswith(("passphrase", "key ", "plain"))
    }
    planted.secrets = client_only
    for exchange in sent:
        assert planted.found_in(exchange.path, exchange.request_body) == []


def _salt(sent: list[Exchange]) -> bytes:
    body = next(e for e in sent if e.path.endswith("derivation_artefact") and e.method == "POST").request_body
    return parse_derivation_artefacts(json.loads(body)["derivation_artefacts"]).salt


def _users_of_randomness() -> list[Any]:
    return [
        module
        for name, module in list(sys.modules.items())
        if name.startswith("strongroom.") and hasattr(module, "random_bytes")
    ]
