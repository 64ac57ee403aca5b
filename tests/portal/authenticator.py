"""A security key in software: makes passkeys and signs with them, as a browser would hand it on."""

import base64
import hashlib
import json
import secrets
import struct
from typing import Any

import cbor2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


def encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Authenticator:
    """One passkey. `origin` is the page the browser shows; `verifies` whether the device asked for its PIN."""

    def __init__(
        self, host: str = "localhost", origin: str = "http://localhost:8000", *, verifies: bool = True
    ) -> None:
        self.host = host
        self.origin = origin
        self.verifies = verifies
        self.count = 0
        self.id = secrets.token_bytes(16)
        self._key = ec.generate_private_key(ec.SECP256R1())

    def make(self, options: dict[str, Any]) -> str:
        """The answer to creation options, as JSON."""
        numbers = self._key.public_key().public_numbers()
        public_key = cbor2.dumps(
            {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        )
        attested = bytes(16) + struct.pack(">H", len(self.id)) + self.id + public_key
        data = self._data(ATTESTED) + attested
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        response = {
            "clientDataJSON": self._client(options, "webauthn.create"),
            "attestationObject": encode(attestation),
        }
        return self._credential(response)

    def use(self, options: dict[str, Any]) -> str:
        """The answer to request options, as JSON."""
        data, client = self._data(), self._client(options, "webauthn.get")
        hashed = hashlib.sha256(base64.urlsafe_b64decode(client + "==")).digest()
        signature = self._key.sign(data + hashed, ec.ECDSA(hashes.SHA256()))
        return self._credential(
            {"clientDataJSON": client, "authenticatorData": encode(data), "signature": encode(signature)}
        )

    def _data(self, flags: int = 0) -> bytes:
        self.count += 1
        flags |= PRESENT | (VERIFIED if self.verifies else 0)
        return hashlib.sha256(self.host.encode()).digest() + struct.pack(">BI", flags, self.count)

    def _client(self, options: dict[str, Any], kind: str) -> str:
        data = {"type": kind, "challenge": options["challenge"], "origin": self.origin, "crossOrigin": False}
        return encode(json.dumps(data).encode())

    def _credential(self, response: dict[str, str]) -> str:
        name = encode(self.id)
        return json.dumps({"id": name, "rawId": name, "type": "public-key", "response": response})
