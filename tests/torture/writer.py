"""One client process: walks users through the service without end and writes down what was acknowledged."""

import base64
import hashlib
import http.client
import json
import os
import secrets
import struct
import sys
import time
from pathlib import Path
from typing import Any

from tests.torture.ledger import Writer

from strongroom.crypto.checksum import with_checksum
from strongroom.crypto.rsa4096 import PrivateKey

KEYS = Path(__file__).parents[1] / "keys"
NAMES = ("ada", "bob", "cleo", "dora", "emil", "fay")
DATA_ENCRYPTION_KEYS = 5
WAIT_SECONDS = 0.02
TIMEOUT_SECONDS = 15


class NotDone(Exception):
    """Anything but an acknowledgement: nothing is known about this write, and nothing is written down."""


class Client:
    def __init__(self, address: str, subscription_key: str) -> None:
        self._address = address
        self._key = subscription_key
        self._connection: http.client.HTTPConnection | None = None

    def call(self, method: str, path: str, body: Any = None, auth: str | None = None) -> dict[str, Any]:
        """The body of a 2xx answer; `NotDone` for any other and for none."""
        headers = {"Service-Subscription-Key": self._key, "Content-Type": "application/json"}
        if auth is not None:
            headers["Authorization"] = auth
        if self._connection is None:
            self._connection = http.client.HTTPConnection(self._address, timeout=TIMEOUT_SECONDS)
        try:
            self._connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = self._connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            self._connection = None
            raise NotDone from None
        if answer.status == 503:
            # The contract of an unknown outcome: it says when to come again.
            if answer.headers["Retry-After"] is None:
                raise SystemExit("a 503 without Retry-After")
            raise NotDone
        if answer.status >= 500:
            raise SystemExit(f"{method} {path} answered {answer.status}")
        if answer.status >= 300:
            raise NotDone
        return json.loads(content) if content else {}


class Walk:
    def __init__(self, task: dict[str, str]) -> None:
        self.client = Client(task["address"], task["subscription_key"])
        self.provider = task["provider_api_key"]
        self.ledger = Writer(Path(task["ledger"]))
        self.name = NAMES[int(task["number"]) % len(NAMES)]
        self.private_key = PrivateKey.parse((KEYS / f"{self.name}.private.pem").read_text("ascii"), trusted=True)
        self.public_pem = (KEYS / f"{self.name}.public.pem").read_text("ascii")

    def keystore(self) -> None:
        token = self.client.call("POST", "/keystore/admission_tokens", auth=self.provider)
        value = token["admission_token"]["token_value"]
        self.ledger.acknowledged("token issued", token_hash=hashed(value))
        username, passphrase = f"user-{secrets.token_hex(8)}", login_secret()
        body = {"admission_token": value, "username": username, "passphrase": passphrase}
        user_id = self.client.call("POST", "/keystore/users", body)["user"]["id"]
        self.ledger.acknowledged("user", user_id=user_id, username=username)
        self.ledger.acknowledged("token used", token_hash=hashed(value))
        session = self.client.call("POST", "/keystore/session", {"username": username, "passphrase": passphrase})
        session_id, auth = session["session"]["id"], session["session"]["session_authentication_string"]
        self.ledger.acknowledged("session", user_id=user_id, session_id=session_id)
        self.store(user_id, auth)
        self.client.call("DELETE", "/keystore/session", auth=auth)
        self.ledger.acknowledged("logout", user_id=user_id, session_id=session_id)

    def store(self, user_id: str, auth: str) -> None:
        value = secrets.token_urlsafe(24)
        body: dict[str, Any] = {"derivation_artefacts": value}
        self.client.call("POST", "/keystore/passphrase_derivation_artefact", body, auth)
        self.ledger.acknowledged("derivation artefact", user_id=user_id, value=value)
        value = sealed()
        self.client.call("POST", "/keystore/key_encryption_key", {"serialized_key_encryption_key": value}, auth)
        self.ledger.acknowledged("key encryption key", user_id=user_id, value=value)
        for _ in range(DATA_ENCRYPTION_KEYS):
            value = sealed()
            body = {"serialized_data_encryption_key": value}
            made = self.client.call("POST", "/keystore/data_encryption_keys", body, auth)
            key_id = made["data_encryption_key"]["id"]
            self.ledger.acknowledged("data encryption key", user_id=user_id, key_id=key_id, value=value)
        value = sealed()
        body = {
            "encrypted_serialized_key": value,
            "public_key": self.public_pem,
            "external_identifiers": [secrets.token_hex(4)],
        }
        made = self.client.call("POST", "/keystore/keypairs", body, auth)
        self.ledger.acknowledged("keypair", user_id=user_id, key_id=made["keypair"]["id"], value=value)

    def vault(self) -> None:
        token = self.client.call("POST", "/vault/admission_tokens", auth=self.provider)
        value = token["admission_token"]["token_value"]
        self.ledger.acknowledged("vault token issued", token_hash=hashed(value))
        try:
            made = self.client.call("POST", "/vault/session", {"public_key": self.public_pem})["session"]
        except NotDone:  # not known yet
            body = {"user": {"public_key": self.public_pem, "admission_token": value}}
            made = self.client.call("POST", "/vault/me", body)
        auth = self.private_key.decrypt(made["encrypted_session_authentication_string"]).decode()
        self.client.call("GET", "/vault/classification_nodes?page=1&per=1", auth=auth)
        user_id, session_id = vault_session_ids(auth)
        self.ledger.acknowledged("vault session", user_id=user_id, session_id=session_id)
        self.client.call("DELETE", "/vault/session", auth=auth)
        self.ledger.acknowledged("vault logout", user_id=user_id, session_id=session_id)


def main() -> None:
    walk = Walk(json.loads(sys.stdin.readline()))
    parent = os.getppid()
    while os.getppid() == parent:  # nobody is left behind by a harness that was killed
        for part in (walk.keystore, walk.vault):
            try:
                part()
            except NotDone:
                time.sleep(WAIT_SECONDS)


def hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def login_secret() -> str:
    """A value of the derived class: cheap for the service to hash."""
    return with_checksum("srl1_" + base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("="))


def sealed() -> str:
    """What passes for an encrypted key."""
    iv, tag = (base64.b64encode(secrets.token_bytes(size)).decode() for size in (12, 16))
    artefacts = f"---\niv: !binary |-\n  {iv}\nat: !binary |-\n  {tag}\nad: none\n"
    data = base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()
    return f"Aes256Gcm.{data}.{base64.urlsafe_b64encode(artefacts.encode()).decode()}"


def vault_session_ids(text: str) -> tuple[str, str]:
    """User id and session id as the string says them: nothing in it is secret from its holder."""
    body = text[len("srv1_") + 12 : -6]
    fields = base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))
    _, user_id, session_id = struct.unpack_from(">B16s16s", fields)
    return user_id.hex(), session_id.hex()


if __name__ == "__main__":
    main()
