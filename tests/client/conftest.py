"""A peer for the client's tests: the contract kept in memory with real cryptography, and faults on request.

It serves over `httpx.MockTransport`, so nothing of the client is patched; only key derivation is remembered by its
arguments and keypairs are the fixed ones, which saves seconds a test.
"""

import contextlib
import copy
import functools
import itertools
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
from tests.client.sockets import Serve, servers

from strongroom import Strongroom
from strongroom.crypto import derivation, key_stretching, login_secret
from strongroom.crypto.grammar import vault_session_string
from strongroom.crypto.names import canonical_username, realm_tag
from strongroom.crypto.public_keys import PublicKey
from strongroom.crypto.randomness import random_bytes
from strongroom.crypto.rsa4096 import PrivateKey
from strongroom.wire import keystore, system, vault
from strongroom.wire.endpoint import AnyEndpoint
from strongroom.wire.refusal import Refusal

KEYS = Path(__file__).parent.parent / "keys"
NAME = "Ada"
PASSPHRASE = "correct horse battery staple"
ITERATIONS = 600_000
URL = "http://127.0.0.1:8000"

ENDPOINTS: dict[str, AnyEndpoint] = {
    f"{area}.{endpoint.name}": endpoint
    for area, table in (("keystore", keystore), ("vault", vault), ("system", system))
    for endpoint in table.ENDPOINTS
}


@dataclass
class Seen:
    """One request as it arrived."""

    name: str
    url: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Person:
    username: str
    passphrase: str
    artefact: dict[str, Any] | None = None
    key_encryption_key: dict[str, Any] | None = None
    data_encryption_keys: list[dict[str, Any]] = field(default_factory=list)
    keypairs: list[dict[str, Any]] = field(default_factory=list)
    vault_token: str | None = None


class No(Exception):
    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.code)
        self.refusal = refusal


class Peer:
    """The state of a service. `alter` changes answers, `drop` confirms without storing, `break_at` interrupts."""

    def __init__(self) -> None:
        self.count = itertools.count(1)
        self.tokens: dict[str, bool] = {}
        self.people: dict[str, Person] = {}
        self.sessions: dict[str, str] = {}
        self.vault_accounts: set[str] = set()
        self.vault_sessions: set[str] = set()
        self.realm = "http://localhost"
        self.seen: list[Seen] = []
        self.alter: dict[str, Callable[[Any], Any]] = {}
        self.drop: set[str] = set()
        self.vault_plaintext: bytes | None = None
        self._fault: tuple[str, str, str] | None = None

    def fork(self) -> "Peer":
        """The same state in a peer of its own."""
        other = Peer()
        for name in ("tokens", "people", "sessions", "vault_accounts", "vault_sessions"):
            setattr(other, name, copy.deepcopy(getattr(self, name)))
        other.count = itertools.count(next(self.count) + 1000)
        return other

    def break_at(self, name: str, when: str, how: str) -> None:
        """Once: at the next request to `name`, `before` or `after` it took effect, answer `how`."""
        self._fault = (name, when, how)

    @property
    def names(self) -> list[str]:
        return [seen.name for seen in self.seen]

    def person(self, username: str = NAME) -> Person:
        return self.people[canonical_username(username)]

    def handle(self, request: httpx.Request) -> httpx.Response:
        name, parameters = _route(request)
        self.seen.append(Seen(name, str(request.url), dict(request.headers), request.content))
        fault = self._fault if self._fault is not None and self._fault[0] == name else None
        if fault is not None:
            self._fault = None
            if fault[1] == "before":
                return _break(fault[2], request)
        try:
            body = json.loads(request.content) if request.content else {}
            status, answer = getattr(self, name.replace(".", "_"))(body, request, **parameters)
        except No as no:
            return _problem(no.refusal)
        if fault is not None:
            return _break(fault[2], request)
        if name in self.alter:
            answer = self.alter[name](answer)
        if isinstance(answer, httpx.Response):
            return answer
        return httpx.Response(status) if answer is None else httpx.Response(status, json=answer)

    def _id(self) -> str:
        return f"00000000-0000-7000-8000-{next(self.count):012d}"

    def _who(self, request: httpx.Request) -> Person:
        name = self.sessions.get(request.headers.get("authorization", ""))
        if name is None:
            raise No(Refusal.session_invalid)
        return self.people[name]

    def keystore_issue_admission_token(self, body: Any, request: httpx.Request) -> Any:
        if request.headers.get("authorization") != "srp_provider":
            raise No(Refusal.provider_key_invalid)
        token = f"sra_token{next(self.count)}"
        self.tokens[token] = False
        return 201, {"admission_token": {"id": self._id(), "token_value": token, "used": False}}

    vault_issue_vault_admission_token = keystore_issue_admission_token

    def _use(self, token: str) -> None:
        if token not in self.tokens:
            raise No(Refusal.admission_token_invalid)
        if self.tokens[token]:
            raise No(Refusal.admission_token_used)

    def keystore_create_user(self, body: Any, request: httpx.Request) -> Any:
        self._use(body["admission_token"])
        name = canonical_username(body["username"])
        if name in self.people:
            raise No(Refusal.username_taken)
        self.tokens[body["admission_token"]] = True
        self.people[name] = Person(body["username"], body["passphrase"])
        return 201, {"user": {"id": self._id(), "username": body["username"]}}

    def keystore_create_session(self, body: Any, request: httpx.Request) -> Any:
        name = canonical_username(body["username"])
        if name not in self.people or self.people[name].passphrase != body["passphrase"]:
            raise No(Refusal.invalid_credentials)
        session = f"srs_{next(self.count)}.{next(self.count)}"
        self.sessions[session] = name
        return 201, {
            "session": {
                "session_authentication_string": session,
                "id": self._id(),
                "valid_from": "2026-01-31T12:00:00.000Z",
                "valid_till": "2026-02-01T00:00:00.000Z",
                "username": self.people[name].username,
            }
        }

    def keystore_delete_session(self, body: Any, request: httpx.Request) -> Any:
        self._who(request)
        del self.sessions[request.headers["authorization"]]
        return 204, None

    def keystore_store_passphrase_derivation_artefact(self, body: Any, request: httpx.Request) -> Any:
        person = self._who(request)
        record = {"id": self._id(), **body}
        if "artefact" not in self.drop:
            if person.artefact is not None and _differ(person.artefact, body):
                raise No(Refusal.passphrase_derivation_artefact_exists)
            person.artefact = person.artefact or record
        return 200, {"passphrase_derivation_artefact": record}

    def keystore_read_passphrase_derivation_artefact(self, body: Any, request: httpx.Request) -> Any:
        return 200, {"passphrase_derivation_artefact": _there(self._who(request).artefact)}

    def keystore_store_key_encryption_key(self, body: Any, request: httpx.Request) -> Any:
        person = self._who(request)
        record = {"id": self._id(), **body}
        if "key_encryption_key" not in self.drop:
            if person.key_encryption_key is not None and _differ(person.key_encryption_key, body):
                raise No(Refusal.key_encryption_key_exists)
            person.key_encryption_key = person.key_encryption_key or record
        return 201, {"key_encryption_key": record}

    def keystore_read_key_encryption_key(self, body: Any, request: httpx.Request) -> Any:
        return 200, {"key_encryption_key": _there(self._who(request).key_encryption_key)}

    def keystore_store_data_encryption_key(self, body: Any, request: httpx.Request) -> Any:
        record = {"id": self._id(), **body}
        if "data_encryption_key" not in self.drop:
            self._who(request).data_encryption_keys.append(record)
        return 201, {"data_encryption_key": record}

    def keystore_list_data_encryption_keys(self, body: Any, request: httpx.Request) -> Any:
        keys = self._who(request).data_encryption_keys
        return 200, {"data_encryption_keys": keys, "meta": {"pages": None, "total_count": None}}

    def keystore_read_data_encryption_key(self, body: Any, request: httpx.Request, id: str) -> Any:  # noqa: A002 - the path's own word
        keys = self._who(request).data_encryption_keys
        return 200, {"data_encryption_key": _there(next((key for key in keys if key["id"] == id), None))}

    def keystore_store_keypair(self, body: Any, request: httpx.Request) -> Any:
        person = self._who(request)
        keypair_id = self._id()
        for identifier in body["external_identifiers"]:
            if self._tagged(person, identifier) is not None:
                raise No(Refusal.external_identifier_taken)
        identifiers = [
            {"id": self._id(), "identifier": identifier, "keypair_id": keypair_id}
            for identifier in body["external_identifiers"]
        ]
        record = {**body, "id": keypair_id, "external_identifiers": identifiers}
        if "keypair" not in self.drop:
            person.keypairs.append(record)
        return 201, {"keypair": record}

    def _tagged(self, person: Person, identifier: str) -> dict[str, Any] | None:
        for keypair in person.keypairs:
            if any(item["identifier"] == identifier for item in keypair["external_identifiers"]):
                return keypair
        return None

    def keystore_list_keypairs(self, body: Any, request: httpx.Request) -> Any:
        return 200, {"keypairs": self._who(request).keypairs, "meta": {"pages": None, "total_count": None}}

    def keystore_read_keypair(self, body: Any, request: httpx.Request, id: str) -> Any:  # noqa: A002 - the path's own word
        pairs = self._who(request).keypairs
        return 200, {"keypair": _there(next((pair for pair in pairs if pair["id"] == id), None))}

    def keystore_read_keypair_by_external_identifier(self, body: Any, request: httpx.Request, identifier: str) -> Any:
        return 200, {"keypair": _there(self._tagged(self._who(request), identifier))}

    def keystore_read_external_admission_token(self, body: Any, request: httpx.Request) -> Any:
        person = self._who(request)
        keypair = self._tagged(person, "vault")
        if keypair is not None and PublicKey.parse(keypair["public_key"]).fingerprint in self.vault_accounts:
            raise No(Refusal.vault_account_exists)
        if person.vault_token is None:
            person.vault_token = f"sra_vault{next(self.count)}"
            self.tokens[person.vault_token] = False
        token = {"vault_api_admission_token": person.vault_token, "passphrase_store_admission_token": None}
        return 200, {"external_admission_token": token}

    def vault_create_vault_user(self, body: Any, request: httpx.Request) -> Any:
        user = body["user"]
        key = PublicKey.parse(user["public_key"])
        self._use(user["admission_token"])
        if key.fingerprint in self.vault_accounts:
            raise No(Refusal.public_key_taken)
        self.tokens[user["admission_token"]] = True
        self.vault_accounts.add(key.fingerprint)
        return 201, {"id": self._id(), "encrypted_session_authentication_string": self._vault_string(key)}

    def vault_create_vault_session(self, body: Any, request: httpx.Request) -> Any:
        key = PublicKey.parse(body["public_key"])
        if key.fingerprint not in self.vault_accounts:
            raise No(Refusal.invalid_credentials)
        return 201, {"session": {"encrypted_session_authentication_string": self._vault_string(key)}}

    def _vault_string(self, key: PublicKey) -> str:
        if self.vault_plaintext is not None:
            return key.encrypt(self.vault_plaintext)
        text = vault_session_string(realm_tag(self.realm), random_bytes(32))
        self.vault_sessions.add(text)
        return key.encrypt(text.encode())

    def _enter(self, request: httpx.Request) -> None:
        if request.headers.get("authorization") not in self.vault_sessions:
            raise No(Refusal.session_invalid)

    def vault_delete_vault_session(self, body: Any, request: httpx.Request) -> Any:
        self._enter(request)
        self.vault_sessions.discard(request.headers["authorization"])
        return 204, None

    def vault_list_classification_nodes(self, body: Any, request: httpx.Request) -> Any:
        self._enter(request)
        return 200, {"classification_nodes": [_NODE], "meta": {"pages": None, "total_count": None}}

    def vault_read_classification_node(self, body: Any, request: httpx.Request, id: str) -> Any:  # noqa: A002 - the path's own word
        self._enter(request)
        return 200, {"classification_node": {**_NODE, "id": id, "parent_id": None}}

    def vault_read_image(self, body: Any, request: httpx.Request, id: str) -> Any:  # noqa: A002 - the path's own word
        return 200, httpx.Response(200, content=b"\x89PNG", headers={"Content-Type": "image/png"})

    def system_healthz(self, body: Any, request: httpx.Request) -> Any:
        return 200, {"status": "ok"}

    system_readyz = system_healthz

    def system_version(self, body: Any, request: httpx.Request) -> Any:
        return 200, {"name": "strongroom", "version": "0", "areas": ["keystore", "vault"]}


_NODE = {
    "id": "00000000-0000-7000-8000-00000000000a",
    "background_color": "#336699",
    "description": None,
    "image": f"{URL}/vault/global/images/x",
    "label": "Pets",
    "name": "pets",
    "ordinal": 1,
    "scheme": "esafe_tags",
}


def _there(record: dict[str, Any] | None) -> dict[str, Any]:
    if record is None:
        raise No(Refusal.not_found)
    return record


def _differ(record: dict[str, Any], body: dict[str, Any]) -> bool:
    return any(record[name] != value for name, value in body.items())


def _route(request: httpx.Request) -> tuple[str, dict[str, str]]:
    path = request.url.raw_path.partition(b"?")[0].decode()
    for name, endpoint in ENDPOINTS.items():
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(endpoint.path))
        match = re.fullmatch(pattern, path)
        if match is not None and endpoint.method == request.method:
            return name, {key: unquote(value) for key, value in match.groupdict().items()}
    raise AssertionError(f"no endpoint for {request.method} {path}")


def _problem(refusal: Refusal, headers: dict[str, str] | None = None) -> httpx.Response:
    body = {
        "type": f"{URL}/refusals/{refusal.code}",
        "title": refusal.title,
        "status": refusal.status,
        "detail": refusal.mend,
        "instance": "request-1",
        "code": refusal.code,
        "errors": [{"error": refusal.code, "message": refusal.mend}],
    }
    content_type = {"Content-Type": "application/problem+json"}
    return httpx.Response(refusal.status, content=json.dumps(body), headers={**content_type, **(headers or {})})


def _break(how: str, request: httpx.Request) -> httpx.Response:
    match how:
        case "500":
            return _problem(Refusal.internal_error)
        case "429":
            return _problem(Refusal.rate_limited, {"Retry-After": "7"})
        case "lost":
            raise httpx.ReadError("gone", request=request)
        case "timeout":
            raise httpx.ReadTimeout("late", request=request)
    raise AssertionError(how)


@pytest.fixture(scope="session")
def private_keys() -> list[PrivateKey]:
    """Fixed keypairs: for tests, and for nothing else."""
    return [PrivateKey.parse(path.read_text(), trusted=True) for path in sorted(KEYS.glob("*.private.pem"))]


_remembered = functools.cache(key_stretching.pbkdf2)


@contextlib.contextmanager
def _quick(private_keys: list[PrivateKey]) -> Iterator[None]:
    """PBKDF2 by memory, salts from a short list and keypairs from the fixed ones; the keys themselves stay random."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(login_secret, "pbkdf2", _remembered)
        patch.setattr(derivation, "pbkdf2", _remembered)
        patch.setattr(derivation, "random_bytes", lambda count: b"\x5a" * count)
        pool = itertools.cycle(private_keys)
        patch.setattr(PrivateKey, "generate", classmethod(lambda cls: next(pool)))
        yield


@pytest.fixture(autouse=True)
def quick_keys(private_keys: list[PrivateKey]) -> Iterator[None]:
    """For one test at a time: what runs beside or after these tests has to meet the real thing."""
    with _quick(private_keys):
        yield


@pytest.fixture
def peer() -> Peer:
    """Nobody has registered yet."""
    return Peer()


@pytest.fixture(scope="session")
def _settled(private_keys: list[PrivateKey]) -> Peer:
    peer = Peer()
    with _quick(private_keys), connect(peer) as service:
        service.register(NAME, PASSPHRASE, iterations=ITERATIONS)
    return peer


@pytest.fixture
def settled(_settled: Peer) -> Peer:
    """Ada has registered."""
    return _settled.fork()


def connect(peer: Peer, **settings: Any) -> Strongroom:
    """A client of this peer, on a device that has seen nothing before."""
    given = {"subscription_key": "srk_subscription", "provider_api_key": "srp_provider", **settings}
    return Strongroom(given.pop("base_url", URL), transport=httpx.MockTransport(peer.handle), **given)


@pytest.fixture(name="connect")
def _connect() -> Callable[..., Strongroom]:
    return connect


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Listen on loopback and treat each connection as told; returns the base URL."""
    with servers() as start:
        yield start
