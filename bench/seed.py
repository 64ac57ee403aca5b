"""Users by the thousand, put into the tables directly, and the requests that their sessions may send."""

import hashlib
import json
import os
import random
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

from bench.processes import PUBLIC_URL, sandbox_keys
from bench.requests import UNIQUE, Plan, Request
from strongroom.crypto import grammar
from strongroom.crypto.checksum import with_checksum
from strongroom.crypto.encoding import encode_padded, encode_unpadded
from strongroom.crypto.formats import ArtefactFormat
from strongroom.crypto.names import canonical_realm, realm_tag
from strongroom.crypto.public_keys import PublicKey
from strongroom.crypto.serialized_values import CipherArtefacts, join_artefacts
from strongroom.keystore import digests
from strongroom.runtime.clock import DAY, SystemClock
from strongroom.runtime.secret import ServerSecret, load_or_create
from strongroom.runtime.tokens import digest
from strongroom.services.passphrase_hashing import PassphraseHasher

ACTIVE = 64
"""Users whose sessions send the requests, if a measurement does not ask for more."""
PEM = (Path(__file__).parents[1] / "tests" / "keys" / "ada.public.pem").read_text()
LOGIN_SECRET = with_checksum(f"srl1_{encode_unpadded(bytes(32))}")

_ARTEFACTS = join_artefacts(CipherArtefacts(bytes(12), bytes(16), "none"), ArtefactFormat.YAML)
_PRIVATE_KEY_SIZE = 3_272
"""Of a 4096-bit private key in PEM."""

Rows = Iterator[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class User:
    """Everything about a user follows from a number."""

    number: int
    id: bytes = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", self.bytes_for("user"))

    def bytes_for(self, use: str, size: int = 16) -> bytes:
        return hashlib.shake_128(f"{use} {self.number}".encode()).digest(size)

    @property
    def name(self) -> str:
        return f"user{self.number}"

    @property
    def session_id(self) -> bytes:
        return self.bytes_for("session")

    @property
    def session_secret(self) -> str:
        return self.bytes_for("secret", 32).hex()[:43]

    def keystore_session(self) -> str:
        return with_checksum(f"srs_{encode_unpadded(self.id + self.session_id)}.{self.session_secret}")

    def sealed(self, use: str, size: int) -> str:
        return f"Aes256Gcm.{encode_padded(self.bytes_for(use, size))}.{_ARTEFACTS}"


@dataclass(frozen=True, slots=True)
class Seeded:
    """A deployment with its users."""

    folder: Path
    database: str | None
    keys: dict[str, str]
    secret: ServerSecret
    users: int
    now: int
    cool: Callable[[], None] = lambda: None
    """Have nothing of the databases in memory. While no server is running on them."""

    def active(self, count: int = ACTIVE) -> list[User]:
        """So many users, wherever in the tables they are."""
        chosen = random.Random(1).sample(range(1, self.users), min(count, self.users - 1))
        return [User(number) for number in chosen]

    def headers(self, authorization: str | None = None) -> dict[str, str]:
        headers = {"Service-Subscription-Key": self.keys["subscription_key"]}
        return headers if authorization is None else headers | {"Authorization": authorization}

    def read(self, active: int = ACTIVE) -> Plan:
        path = "/keystore/key_encryption_key"
        requests = [Request("GET", path, self.headers(user.keystore_session())) for user in self.active(active)]
        return Plan("session check + read", requests, 200)

    def write(self, active: int = ACTIVE) -> Plan:
        sealed = f"Aes256Gcm.{UNIQUE}{encode_padded(bytes(33))}.{_ARTEFACTS}"
        body = json.dumps({"serialized_data_encryption_key": sealed})
        path = "/keystore/data_encryption_keys"
        users = self.active(active)
        requests = [Request("POST", path, self.headers(user.keystore_session()), body) for user in users]
        return Plan("session check + write", requests, 201)

    def keystore_login(self) -> Plan:
        body = json.dumps({"username": User(0).name, "passphrase": LOGIN_SECRET})
        # Few connections: what waits for a hash when a round ends is still hashed, in the next one's time.
        return Plan("key store login", [Request("POST", "/keystore/session", self.headers(), body)], 201, 2)

    def vault_login(self) -> Plan:
        body = json.dumps({"public_key": PEM})
        return Plan("vault login", [Request("POST", "/vault/session", self.headers(), body)], 201)

    def nodes(self, query: str = "scheme_name=esafe_tags", **headers: str) -> Plan:
        path = f"/vault/classification_nodes?{query}"
        requests = [Request("GET", path, self.headers(self._vault_session(user)) | headers) for user in self.active()]
        return Plan(f"node listing, {query}" if query else "node listing, whole", requests, 200)

    def _vault_session(self, user: User) -> str:
        from strongroom.vault.session import Claims, _body

        body = _body(self.secret, Claims(user.id, user.session_id, self.now, self.now + DAY, 1))
        return grammar.vault_session_string(realm_tag(canonical_realm(PUBLIC_URL)), body)


def deploy(folder: Path, users: int, database: str | None = None, *, keypairs: bool = False) -> Seeded:
    """A sandbox deployment in an empty folder, or empty database, with so many users."""
    keys = sandbox_keys(folder, database)
    secret = ServerSecret(load_or_create(folder / "secret"))
    seeded = Seeded(folder, database, keys, secret, users, SystemClock().now())
    if database is None:
        _into_sqlite(seeded, keypairs)
    else:
        _into_postgres(seeded, database, keypairs)
    return seeded


def _tables(seeded: Seeded, provider_id: bytes, keypairs: bool) -> Iterator[tuple[str, str, Rows]]:
    """Area, table and rows; columns in the order of the schema, rows in that of the primary key.

    In that order the pages of an index are filled one after the other: a million users take minutes instead of hours.
    """
    now, users = seeded.now, sorted(map(User, range(seeded.users)), key=attrgetter("id"))
    hasher = PassphraseHasher(seeded.secret, 1)
    stored = hasher._hash(LOGIN_SECRET)
    hasher.close()
    fingerprint = PublicKey.parse(PEM).fingerprint_bytes
    yield "keystore", "users", ((u.id, provider_id, u.name, u.name, stored, 1, now, None, None) for u in users)
    yield "keystore", "usernames", ((provider_id, u.name, u.id) for u in sorted(users, key=attrgetter("name")))
    yield (
        "keystore",
        "sessions",
        ((u.id, u.session_id, provider_id, digest(u.session_secret), now, now + DAY, None) for u in users),
    )
    yield "keystore", "key_encryption_keys", ((u.id, u.bytes_for("kek"), u.sealed("kek", 32), now) for u in users)
    yield "keystore", "data_encryption_keys", _data_encryption_keys(users, now)
    if keypairs:
        yield "keystore", "keypairs", _keypairs(users, now)
    yield "vault", "users", ((u.id, provider_id, PEM, 1, None, now, None) for u in users)
    fingerprints = ((u.bytes_for("key", 32) if u.number else fingerprint, provider_id, u.id) for u in users)
    yield "vault", "public_key_fingerprints", iter(sorted(fingerprints))
    yield "vault", "sessions", ((u.id, u.session_id, 1, now, now + DAY, None) for u in users)


def _data_encryption_keys(users: Iterable[User], now: int) -> Rows:
    for user in users:
        for use in sorted(("dek 1", "dek 2"), key=user.bytes_for):
            yield user.id, user.bytes_for(use), user.bytes_for(f"{use} digest", digests.SIZE), user.sealed(use, 32), now


def _keypairs(users: Iterable[User], now: int) -> Rows:
    for user in users:
        sealed = user.sealed("private key", _PRIVATE_KEY_SIZE)
        yield (
            user.id,
            user.bytes_for("keypair"),
            user.bytes_for("digest", digests.SIZE),
            user.name,
            PEM,
            sealed,
            "{}",
            now,
        )


def _into_sqlite(seeded: Seeded, keypairs: bool) -> None:
    with sqlite3.connect(seeded.folder / "access.sqlite") as access:
        provider_id = access.execute("SELECT id FROM providers").fetchone()[0]
    access.close()
    for area, table, rows in _tables(seeded, provider_id, keypairs):
        connection = sqlite3.connect(seeded.folder / f"{area}.sqlite", isolation_level=None)
        # Straight into the file: what fails here is seeded again from the start.
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -262144"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("BEGIN")
        columns = len(connection.execute(f"PRAGMA table_info({table})").fetchall())
        connection.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * columns)})", rows)
        connection.execute("COMMIT")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.close()
    for area in ("keystore", "vault"):
        synced(seeded.folder / f"{area}.sqlite")


def _into_postgres(seeded: Seeded, database: str, keypairs: bool) -> None:
    import psycopg

    with psycopg.connect(database) as connection:
        found = connection.execute("SELECT id FROM access.providers").fetchone()
        assert found is not None
        for area, table, rows in _tables(seeded, found[0], keypairs):
            with connection.cursor().copy(f"COPY {area}.{table} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")


def synced(file: Path) -> None:
    """Flushed now, and not during a measurement."""
    descriptor = os.open(file, os.O_RDWR)
    os.fsync(descriptor)
    os.close(descriptor)
