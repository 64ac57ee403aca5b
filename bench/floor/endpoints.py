"""The hot endpoints, each as short as its SQL and its cryptography allow."""

import asyncio
import base64
import hashlib
import hmac
import secrets
import struct
import time
import uuid
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias
from urllib.parse import parse_qsl

import msgspec
from argon2.low_level import Type, verify_secret
from cryptography.hazmat.primitives.asymmetric.padding import MGF1, OAEP
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

from bench.floor.databases import Database
from strongroom.access import subscriptions
from strongroom.keystore import data_encryption_keys, key_encryption_key
from strongroom.keystore import session as keystore_session
from strongroom.keystore import users as keystore_users
from strongroom.runtime.secret import ServerSecret
from strongroom.vault import classification_nodes
from strongroom.vault import session as vault_session
from strongroom.vault import users as vault_users

Headers: TypeAlias = dict[bytes, bytes]
Handler: TypeAlias = Callable[[Headers, bytes, bytes], Awaitable[tuple[int, bytes]]]

_VAULT_CLAIMS = struct.Struct(">B16s16sQQQ")
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Refused(Exception):
    """Nothing but 401 is ever said here."""


class Endpoints:
    def __init__(self, database: Database, secret: ServerSecret, public_url: str) -> None:
        self._database = database
        self._pepper = secret.current_key("passphrase-pepper")
        self._vault_key = secret.current_key("vault-session")
        self._public_url = public_url
        self._hashing = ThreadPoolExecutor(1)
        self.handlers: dict[tuple[str, str], Handler] = {
            ("GET", "/keystore/key_encryption_key"): self.read,
            ("POST", "/keystore/data_encryption_keys"): self.write,
            ("POST", "/keystore/session"): self.keystore_login,
            ("POST", "/vault/session"): self.vault_login,
            ("GET", "/vault/classification_nodes"): self.nodes,
        }

    async def read(self, headers: Headers, query: bytes, body: bytes) -> tuple[int, bytes]:
        await self._subscription(headers)
        user_id, _ = await self._keystore_session(headers)
        row = await self._database.one("keystore", key_encryption_key.READ, {"user_id": user_id})
        record = {"id": str(uuid.UUID(bytes=row[0])), "serialized_key_encryption_key": row[1]}
        return 200, _encode({"key_encryption_key": record})

    async def write(self, headers: Headers, query: bytes, body: bytes) -> tuple[int, bytes]:
        await self._subscription(headers)
        user_id, session_id = await self._keystore_session(headers)
        serialized = _decode(body)["serialized_data_encryption_key"]
        now = _now()
        row_id = _new_id(now)
        values = {
            "user_id": user_id,
            "id": row_id,
            "digest": hashlib.sha256(serialized.encode()).digest(),
            "serialized": serialized,
            "now": now,
        }
        held = {"user_id": user_id, "id": session_id, "now": now}
        insert = [(data_encryption_keys.INSERT, values)]
        await self._database.write("keystore", (keystore_session.RECHECK, held), insert)
        record = {"id": str(uuid.UUID(bytes=row_id)), "serialized_data_encryption_key": serialized}
        return 201, _encode({"data_encryption_key": record})

    async def keystore_login(self, headers: Headers, query: bytes, body: bytes) -> tuple[int, bytes]:
        provider_id = await self._subscription(headers)
        given = _decode(body)
        by_name = {"provider_id": provider_id, "canonical": given["username"]}
        user_id, username, stored, generation, _ = await self._database.one("keystore", keystore_users.BY_NAME, by_name)
        phc = "$" + stored.partition("$")[2]
        peppered = hmac.digest(self._pepper, given["passphrase"].encode(), "sha256")
        await asyncio.get_running_loop().run_in_executor(self._hashing, verify_secret, phc.encode(), peppered, Type.ID)
        now, session_id, second = _now(), secrets.token_bytes(16), secrets.token_urlsafe(32)
        values = {
            "user_id": user_id,
            "id": session_id,
            "provider_id": provider_id,
            "secret_hash": hashlib.sha256(second.encode()).digest(),
            "valid_from": now,
            "valid_till": now + 43_200_000,
        }
        held = {"user_id": user_id, "generation": generation}
        await self._database.write("keystore", (keystore_session.STILL, held), [(keystore_session.INSERT, values)])
        text = base64.urlsafe_b64encode(user_id + session_id).decode()
        record = {
            "session_authentication_string": f"srs_{text}.{second}",
            "id": str(uuid.UUID(bytes=session_id)),
            "valid_from": str(now),
            "valid_till": str(now),
            "username": username,
        }
        return 201, _encode({"session": record})

    async def vault_login(self, headers: Headers, query: bytes, body: bytes) -> tuple[int, bytes]:
        provider_id = await self._subscription(headers)
        key = load_pem_public_key(_decode(body)["public_key"].encode())
        assert isinstance(key, RSAPublicKey)
        fingerprint = hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()
        by_key = {"fingerprint": fingerprint, "provider_id": provider_id}
        user_id, generation, _ = await self._database.one("vault", vault_users.BY_FINGERPRINT, by_key)
        now = _now()
        claims = _VAULT_CLAIMS.pack(1, user_id, secrets.token_bytes(16), now, now + 43_200_000, generation)
        text = base64.urlsafe_b64encode(claims + hmac.digest(self._vault_key, claims, "sha256"))
        encrypted = key.encrypt(b"srv1_00000000000_" + text, OAEP(MGF1(SHA1()), SHA1(), None))
        record = {"encrypted_session_authentication_string": f"Rsa4096.{base64.urlsafe_b64encode(encrypted).decode()}."}
        return 201, _encode({"session": record})

    async def nodes(self, headers: Headers, query: bytes, body: bytes) -> tuple[int, bytes]:
        await self._subscription(headers)
        await self._vault_session(headers)
        scheme = dict(parse_qsl(query.decode())).get("scheme_name")
        where = f" WHERE {classification_nodes.OF_SCHEME}" if scheme else ""
        values = {"scheme": scheme.encode()} if scheme else {}
        rows = await self._database.all("vault", classification_nodes.LIST.format(where=where), values)
        found = [
            {
                "id": str(uuid.UUID(bytes=node_id)),
                "background_color": background_color,
                "description": description,
                "image": f"{self._public_url}/vault/global/images/{uuid.UUID(bytes=image_id)}",
                "label": label,
                "name": name,
                "ordinal": ordinal,
                "scheme": of_scheme.decode(),
            }
            for node_id, background_color, description, image_id, label, name, ordinal, of_scheme in rows
        ]
        return 200, _encode({"classification_nodes": found, "meta": {"pages": None, "total_count": None}})

    async def _subscription(self, headers: Headers) -> bytes:
        key_hash = hashlib.sha256(headers[b"service-subscription-key"]).digest()
        row = await self._database.one("access", subscriptions.AUTHENTICATE, {"key_hash": key_hash})
        if row is None or row[2] != "active":
            raise Refused
        provider_id: bytes = row[0]
        return provider_id

    async def _keystore_session(self, headers: Headers) -> tuple[bytes, bytes]:
        first, _, second = headers[b"authorization"].partition(b".")
        ids = base64.urlsafe_b64decode(first[4:] + b"=")
        values = {"user_id": ids[:16], "id": ids[16:]}
        row = await self._database.one("keystore", keystore_session.READ, values)
        if row is None or row[0] != hashlib.sha256(second[:43]).digest() or not row[2] <= _now() < row[3] or row[4]:
            raise Refused
        return ids[:16], ids[16:]

    async def _vault_session(self, headers: Headers) -> None:
        body = headers[b"authorization"][17:-6]
        raw = base64.urlsafe_b64decode(body + b"=" * (-len(body) % 4))
        claims = raw[: _VAULT_CLAIMS.size]
        if not hmac.compare_digest(hmac.digest(self._vault_key, claims, "sha256"), raw[_VAULT_CLAIMS.size :]):
            raise Refused
        _, user_id, session_id, *_ = _VAULT_CLAIMS.unpack(claims)
        values = {"user_id": user_id, "id": session_id}
        row = await self._database.one("vault", vault_session.READ, values)
        if row is None or row[4] is None or row[4] <= _now() or row[5]:
            raise Refused


def _now() -> int:
    return time.time_ns() // 1_000_000


def _new_id(now: int) -> bytes:
    return (now & (1 << 48) - 1).to_bytes(6, "big") + secrets.token_bytes(10)
