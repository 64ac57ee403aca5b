"""What many tests share: a service in process, spoken to over ASGI, and values that look like a client's."""

import base64
import itertools
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from strongroom.access.sandbox import SandboxKeys
from strongroom.app import Application
from strongroom.crypto.checksum import with_checksum
from strongroom.crypto.rsa4096 import PrivateKey
from strongroom.runtime.clock import MovableClock
from strongroom.runtime.settings import load

KEYS = Path(__file__).parent / "keys"
BASE_URL = "http://127.0.0.1:8000"


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Service:
    """The service in process. `call` sends one request with the sandbox subscription key."""

    application: Application
    keys: SandboxKeys
    clock: MovableClock
    http: httpx.AsyncClient

    async def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        auth: str | None = None,
        key: str | None = "",
        headers: dict[str, str] | None = None,
        content: bytes | None = None,
    ) -> httpx.Response:
        """`key`: another subscription key, or None for none."""
        sent = dict(headers or {})
        if key is not None:
            sent["Service-Subscription-Key"] = key or self.keys.subscription_key
        if auth is not None:
            sent["Authorization"] = auth
        if content is not None:
            return await self.http.request(method, path, content=content, headers=sent)
        return await self.http.request(method, path, json=body, headers=sent)

    async def admission_token(self, path: str = "/keystore/admission_tokens") -> str:
        answer = await self.call("POST", path, auth=self.keys.provider_api_key)
        assert answer.status_code == 201
        token: str = answer.json()["admission_token"]["token_value"]
        return token

    async def user(self, username: str = "ada", passphrase: str | None = None) -> str:
        """Create a user and log in; the session string."""
        passphrase = passphrase or login_secret()
        token = await self.admission_token()
        made = await self.call(
            "POST",
            "/keystore/users",
            {"admission_token": token, "username": username, "passphrase": passphrase},
        )
        assert made.status_code == 201, made.text
        return await self.log_in(username, passphrase)

    async def log_in(self, username: str = "ada", passphrase: str | None = None) -> str:
        answer = await self.call(
            "POST", "/keystore/session", {"username": username, "passphrase": passphrase or login_secret()}
        )
        assert answer.status_code == 201, answer.text
        session: str = answer.json()["session"]["session_authentication_string"]
        return session

    async def vault_session(self, name: str = "ada") -> str:
        """Create the vault user of a test key and log in; the session string, decrypted."""
        token = await self.admission_token("/vault/admission_tokens")
        answer = await self.call(
            "POST", "/vault/me", {"user": {"public_key": public_pem(name), "admission_token": token}}
        )
        assert answer.status_code == 201, answer.text
        return opened(answer.json()["encrypted_session_authentication_string"], name)


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    clock = MovableClock()
    settings = load({}, {"data": str(tmp_path / "data"), "access_log": "off", "areas": "keystore,vault"})
    application = Application(settings, clock=clock)
    await application.start()
    try:
        keys = await application.ensure_sandbox()
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url=BASE_URL) as http:
            yield Service(application, keys, clock, http)
    finally:
        await application.close()


def login_secret(seed: bytes = b"ada") -> str:
    """A login secret as the client would derive it: cheap for the service to hash."""
    body = base64.urlsafe_b64encode(seed.ljust(32, b".")[:32]).decode().rstrip("=")
    return with_checksum("srl1_" + body)


_counter = itertools.count()


def sealed(size: int = 32, *, seed: int | None = None) -> str:
    """A well-formed Aes256Gcm value; a fresh one each time, or the same one for the same seed."""
    number = next(_counter) if seed is None else seed
    random = os.urandom if seed is None else lambda length: number.to_bytes(4, "big").ljust(length, b"x")[:length]
    iv = base64.b64encode(random(12)).decode()
    tag = base64.b64encode(random(16)).decode()
    hash_ = f"---\niv: !binary |-\n  {iv}\nat: !binary |-\n  {tag}\nad: none\n"
    data = base64.urlsafe_b64encode(random(size)).decode()
    return f"Aes256Gcm.{data}.{base64.urlsafe_b64encode(hash_.encode()).decode()}"


def opened(serialized: str, name: str = "ada") -> str:
    """A value encrypted to a test key."""
    key = PrivateKey.parse(private_pem(name), trusted=True)
    return key.decrypt(serialized).decode()


def public_pem(name: str = "ada") -> str:
    return (KEYS / f"{name}.public.pem").read_text("ascii")


def private_pem(name: str = "ada") -> str:
    return (KEYS / f"{name}.private.pem").read_text("ascii")


@pytest.fixture(name="sealed", scope="session")
def _sealed() -> Callable[..., str]:
    return sealed


@pytest.fixture(name="login_secret", scope="session")
def _login_secret() -> Callable[..., str]:
    return login_secret


@pytest.fixture(name="public_pem", scope="session")
def _public_pem() -> Callable[..., str]:
    return public_pem


@pytest.fixture(name="private_pem")
def _private_pem() -> Callable[..., str]:
    return private_pem


@pytest.fixture(name="opened", scope="session")
def _opened() -> Callable[..., str]:
    return opened
