"""A caller with nothing but the specification: raw passphrase, `ad: none` values, CRLF PEM, extra unknown fields."""

import base64
import os
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC

pytestmark = pytest.mark.anyio

url64 = base64.urlsafe_b64encode


def encrypt(key: bytes, plaintext: bytes) -> str:
    """Aes256Gcm as the specification's example client writes it, with nothing of ours."""
    iv = os.urandom(12)
    sealed = AESGCM(key).encrypt(iv, plaintext, b"none")
    data, tag = sealed[:-16], sealed[-16:]
    text = (
        f"---\niv: !binary |-\n  {base64.b64encode(iv).decode()}\n"
        f"at: !binary |-\n  {base64.b64encode(tag).decode()}\nad: none\n"
    )
    return f"Aes256Gcm.{url64(data).decode()}.{url64(text.encode()).decode()}"


def decrypt_rsa(private: rsa.RSAPrivateKey, serialized: str) -> str:
    strategy, data, artefacts = serialized.split(".")
    assert strategy == "Rsa4096"
    assert base64.urlsafe_b64decode(artefacts) == b"--- {}\n"
    oaep = padding.OAEP(padding.MGF1(hashes.SHA1()), hashes.SHA1(), None)
    return private.decrypt(base64.urlsafe_b64decode(data), oaep).decode()


async def test_the_whole_flow_by_the_specification_alone(service: Any, private_pem: Any, public_pem: Any) -> None:
    passphrase, extra = "correct horse battery staple", {"device": {"os": "x"}, "role": "admin"}

    async def post(path: str, body: dict[str, Any] | None, auth: str | None = None, status: int = 201) -> Any:
        answer = await service.call("POST", path, None if body is None else body | extra, auth=auth)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/json"
        return answer.json()

    token = (await post("/keystore/admission_tokens", None, service.keys.provider_api_key))["admission_token"]
    credentials = {"username": "Run-Through", "passphrase": passphrase}
    await post("/keystore/users", credentials | {"admission_token": token["token_value"]})
    session = (await post("/keystore/session", credentials))["session"]["session_authentication_string"]

    salt = os.urandom(20)
    kdf = PBKDF2HMAC(hashes.SHA256(), 32, salt, 21_129)
    artefacts = f"---\nsalt: !binary |-\n  {base64.b64encode(salt).decode()}\niter: 21129\nlength: 32\nhash: SHA256\n"
    body = {"derivation_artefacts": url64(artefacts.encode()).decode(), "verification_artefacts": ""}
    echoed = await post("/keystore/passphrase_derivation_artefact", body, session, 200)
    assert echoed["passphrase_derivation_artefact"] == body | {"id": echoed["passphrase_derivation_artefact"]["id"]}

    kek, dek = os.urandom(32), os.urandom(32)
    wrapped_kek = encrypt(kdf.derive(passphrase.encode()), kek)
    made = await post("/keystore/key_encryption_key", {"serialized_key_encryption_key": wrapped_kek}, session)
    assert made["key_encryption_key"]["serialized_key_encryption_key"] == wrapped_kek
    wrapped_dek = encrypt(kek, dek)
    made = await post("/keystore/data_encryption_keys", {"serialized_data_encryption_key": wrapped_dek}, session)
    assert made["data_encryption_key"]["serialized_data_encryption_key"] == wrapped_dek

    private = serialization.load_pem_private_key(private_pem().encode(), None)
    assert isinstance(private, rsa.RSAPrivateKey)
    crlf = public_pem().replace("\n", "\r\n")
    keypair = {
        "encrypted_serialized_key": encrypt(kek, private_pem().encode()),
        "public_key": crlf,
        "metadata": {},
        "external_identifiers": ["vault"],
    }
    made = await post("/keystore/keypairs", keypair, session)
    assert made["keypair"]["public_key"] == crlf

    headers = {"Content-Type": "application/json"}
    answer = await service.call("GET", "/keystore/external_admission_tokens", auth=session, headers=headers)
    assert answer.status_code == 200
    external = answer.json()["external_admission_token"]
    assert external["passphrase_store_admission_token"] is None

    user = {"public_key": crlf, "admission_token": external["vault_api_admission_token"]}
    created = await post("/vault/me", {"user": user | extra})
    assert set(created) == {"id", "encrypted_session_authentication_string"}
    first = decrypt_rsa(private, created["encrypted_session_authentication_string"])
    logged_in = await post("/vault/session", {"public_key": crlf})
    second = decrypt_rsa(private, logged_in["session"]["encrypted_session_authentication_string"])
    assert first != second
    for bearer in (first, f"Bearer {second}"):
        answer = await service.call(
            "GET", "/vault/classification_nodes?by_name=heal&extra=1", auth=bearer, headers=headers
        )
        assert answer.status_code == 200
        listing = answer.json()
        assert listing["meta"] == {"pages": None, "total_count": None}
        assert all("heal" in node["name"] for node in listing["classification_nodes"])
        assert listing["classification_nodes"]


async def test_a_token_of_endpoint_1_also_opens_the_vault_by_a_flat_body(service: Any, public_pem: Any) -> None:
    body = {"public_key": public_pem(), "admission_token": await service.admission_token()}
    assert (await service.call("POST", "/vault/me", body)).status_code == 201
    again = await service.call("POST", "/vault/me", body | {"public_key": public_pem("bob")})
    assert (again.status_code, again.json()["code"]) == (409, "admission_token_used")
