"""Fills a deployment with a little of everything: by the client, by requests and by the pages of the portal alone."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.conftest import login_secret, opened, public_pem, sealed
from tests.portal.conftest import Site
from tests.portal.furnished import OPERATOR, PASSWORD, Organisation, furnish, operator, subscribe

from strongroom import AccountSecret, AsyncStrongroom
from strongroom.access.sandbox import SandboxKeys
from strongroom.app import Application
from strongroom.portal import reminders
from strongroom.portal.messaging.mail import MailQueue, Message
from strongroom.portal.messaging.mailers import OutboxMailer
from strongroom.runtime.clock import DAY, MINUTE, MovableClock, wire_time
from strongroom.runtime.settings import load

BASE_URL = "http://localhost:8000"
USERNAME, WITH_ACCOUNT_SECRET, OTHER_CLIENT = "ada", "bea", "Cleo ☃"
PASSPHRASE = "correct horse battery staple"
OWNER, MEMBER = "olga@example.com", "max@example.com"
PLAINTEXT = b"Dear diary"
CONTEXT = "diary"
ACCOUNT_SECRET = AccountSecret(bytes(range(32)))
KEYSTORE_TOKENS, VAULT_TOKENS = "/keystore/admission_tokens", "/vault/admission_tokens"


class Running:
    """The service in process, with everything a caller needs."""

    def __init__(self, application: Application, clock: MovableClock, keys: SandboxKeys) -> None:
        self.application = application
        self.clock = clock
        self.keys = keys
        self.transport = httpx.ASGITransport(application)
        self._http = httpx.AsyncClient(transport=self.transport, base_url=BASE_URL)

    def client(self) -> AsyncStrongroom:
        return AsyncStrongroom(
            BASE_URL,
            subscription_key=self.keys.subscription_key,
            provider_api_key=self.keys.provider_api_key,
            transport=self.transport,
        )

    async def made(self, method: str, path: str, body: Any = None, auth: str | None = None) -> Any:
        """The body of an answer that says it is done."""
        headers = {"Service-Subscription-Key": self.keys.subscription_key}
        if auth is not None:
            headers["Authorization"] = auth
        answer = await self._http.request(method, path, json=body, headers=headers)
        assert answer.status_code in (200, 201, 204), answer.text
        return answer.json() if answer.content else None

    async def token(self, path: str = KEYSTORE_TOKENS) -> str:
        made = await self.made("POST", path, auth=self.keys.provider_api_key)
        return str(made["admission_token"]["token_value"])

    async def close(self) -> None:
        await self._http.aclose()


@asynccontextmanager
async def running(settings: dict[str, str]) -> AsyncIterator[Running]:
    """Today's service on these databases, with the portal and a sandbox provider."""
    given = {"areas": "keystore,vault,portal", "public_url": BASE_URL, "access_log": "off", **settings}
    clock = MovableClock()
    application = Application(load({}, given), clock=clock)
    try:
        await application.start(warm=False)
        service = Running(application, clock, await application.ensure_sandbox())
        yield service
        await service.close()
    finally:
        await application.close()


async def fill(settings: dict[str, str]) -> dict[str, str]:
    """Make everything; gives values that the user sealed."""
    outbox = Path(settings["data"]) / "outbox"
    with _mail_waits(outbox) as sent:
        async with running({**settings, "operators": OPERATOR}) as service:
            values = await _users(service)
            await _tokens_and_sessions(service)
            await _portal(Site(service.application, service.clock, outbox, sent))
    return values


async def _users(service: Running) -> dict[str, str]:
    async with service.client() as client:
        account = await client.register(USERNAME, PASSPHRASE, iterations=600_000)
        await account.create_data_encryption_key("notes")
        await account.create_keypair("spare")
        value = await account.seal(PLAINTEXT, context=CONTEXT)
        note = await account.seal(PLAINTEXT, key="notes")
        # One session ends, one stays.
        await (await client.unlock(USERNAME, PASSPHRASE)).log_out()
        await client.register(WITH_ACCOUNT_SECRET, PASSPHRASE, account_secret=ACCOUNT_SECRET, iterations=600_000)
    return {"diary": value, "note": note}


async def _tokens_and_sessions(service: Running) -> None:
    """Admission tokens and sessions in each of their states, and what only other clients store."""
    passphrase = login_secret()
    body = {"admission_token": await service.token(), "username": OTHER_CLIENT, "passphrase": passphrase}
    await service.made("POST", "/keystore/users", body)
    login = {"username": OTHER_CLIENT, "passphrase": passphrase}
    session = (await service.made("POST", "/keystore/session", login))["session"]["session_authentication_string"]
    keypair = {
        "public_key": public_pem("cleo"),
        "encrypted_serialized_key": sealed(),
        "external_identifiers": ["vault", "spare", "é"],
        "metadata": {"é": "\U0001f511", "n": 1, "nested": {"list": [1, None, True]}},
    }
    await service.made("POST", "/keystore/keypairs", keypair, session)
    external = await service.made("GET", "/keystore/external_admission_tokens", None, session)
    assert external["external_admission_token"]["vault_api_admission_token"]  # and it stays unused
    for name, token in (("bob", await service.token()), ("dora", await service.token(VAULT_TOKENS))):
        user = {"public_key": public_pem(name), "admission_token": token}
        created = await service.made("POST", "/vault/me", {"user": user})
        vault_session = opened(created["encrypted_session_authentication_string"], name)
        await service.made("GET", "/vault/classification_nodes", None, vault_session)
        if name == "dora":
            await service.made("DELETE", "/vault/session", None, vault_session)
    for path in (KEYSTORE_TOKENS, VAULT_TOKENS):
        await service.token(path)


@contextmanager
def _mail_waits(outbox: Path) -> Iterator[list[Path]]:
    """Mail goes out only when a link of it is looked for, so that the last one stays; gives the files as they come."""
    sent: list[Path] = []
    send = OutboxMailer.send

    def look() -> None:
        sent.extend(set(outbox.glob("*.eml")) - set(sent))

    async def recorded(mailer: OutboxMailer, message: Message) -> None:
        await send(mailer, message)
        look()

    async def idle(queue: MailQueue) -> None:
        await asyncio.Event().wait()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OutboxMailer, "send", recorded)
        patch.setattr(MailQueue, "run", idle)
        yield sent


async def _portal(site: Site) -> None:
    acme = await furnish(site, "Acme", OWNER, MEMBER)
    chief = await operator(site)
    await _closed(site)
    await acme.owner.get(f"{acme.base}/users")
    await acme.owner.post(f"{acme.base}/users/keystore/{acme.ids['user']}/suspend")
    ends = wire_time(site.clock.now() + 2 * DAY)[:10]
    await acme.owner.post(f"{acme.subscription}/key-expiry", slot="primary", key_ends=ends)
    assert await reminders.send(site.portal) == 1
    await _half_done(site, acme)
    await chief.get("/operator")
    for browser in site.browsers:
        await browser.aclose()


async def _closed(site: Site) -> None:
    """An organisation that had a key and was closed."""
    owner = await site.sign_up("eve@example.com", name="Eve")
    await owner.get("/organisations/new")
    await owner.send("/organisations/new", name="Gone")
    base = owner.path
    await subscribe(owner, base, "sandbox")
    answer = await owner.post(f"{base}/settings/close", confirmation="Gone", password=PASSWORD)
    assert answer.is_success, answer.text


async def _half_done(site: Site, acme: Organisation) -> None:
    """What waits for a next step: a sign-up, a new password, a passkey, a second step, a mail."""
    stranger = site.browser()
    await stranger.get("/sign-up")
    await stranger.send("/sign-up", email="new@example.com", name="New", password=PASSWORD)
    await stranger.get("/reset")
    await stranger.post("/reset", email=MEMBER)
    await stranger.get("/sign-in")
    await stranger.send("/sign-in", email=MEMBER, password="not the password")
    await stranger.get("/sign-in")
    await stranger.post("/sign-in/passkey/options")
    site.clock.move(MINUTE // 1000)
    await acme.owner.get(f"{acme.base}/people")
    await acme.owner.send(f"{acme.base}/people/invite", email="dan@example.com", role="owner")
