"""Endpoints 4 to 9 and the reads that logging in again needs."""

import asyncio
import base64
import gzip
import itertools
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

pytestmark = pytest.mark.anyio

ARTEFACT = "/keystore/passphrase_derivation_artefact"
KEK = "/keystore/key_encryption_key"
DEKS = "/keystore/data_encryption_keys"
KEYPAIRS = "/keystore/keypairs"
EXTERNAL = "/keystore/external_admission_tokens"


def code(answer: Any) -> str:
    found: str = answer.json()["code"]
    return found


async def test_derivation_artefacts_come_back_byte_for_byte(service: Any) -> None:
    session = await service.user()
    missing = await service.call("GET", ARTEFACT, auth=session)
    assert (missing.status_code, code(missing)) == (404, "not_found")
    given = {"derivation_artefacts": '{"salt"=>"\\x0E", "iter"=>21129}', "verification_artefacts": ""}
    stored = await service.call("POST", ARTEFACT, given, auth=session)
    assert stored.status_code == 200
    artefact = stored.json()["passphrase_derivation_artefact"]
    assert artefact == given | {"id": artefact["id"]}
    assert (await service.call("GET", ARTEFACT, auth=session)).json() == stored.json()
    assert (await service.call("POST", ARTEFACT, given, auth=session)).json() == stored.json()
    other = await service.call("POST", ARTEFACT, given | {"verification_artefacts": "x"}, auth=session)
    assert (other.status_code, code(other)) == (409, "passphrase_derivation_artefact_exists")
    assert (await service.call("GET", ARTEFACT, auth=session)).json() == stored.json()


@pytest.mark.parametrize("text", ["é", "a\nb", "\x7f", "x" * 4097, ""])
async def test_derivation_artefacts_are_printable_ascii(service: Any, text: str) -> None:
    session = await service.user()
    answer = await service.call("POST", ARTEFACT, {"derivation_artefacts": text}, auth=session)
    assert (answer.status_code, code(answer)) == (422, "validation_failed")
    assert (await service.call("GET", ARTEFACT, auth=session)).status_code == 404


async def test_there_is_one_key_encryption_key(service: Any, sealed: Any) -> None:
    session = await service.user()
    value = {"serialized_key_encryption_key": sealed()}
    first = await service.call("POST", KEK, value, auth=session)
    assert first.status_code == 201
    assert set(first.json()["key_encryption_key"]) == {"id", "serialized_key_encryption_key"}
    again = await service.call("POST", KEK, value, auth=session)
    assert (again.status_code, again.json()) == (200, first.json())
    other = await service.call("POST", KEK, {"serialized_key_encryption_key": sealed()}, auth=session)
    assert (other.status_code, code(other)) == (409, "key_encryption_key_exists")
    assert (await service.call("GET", KEK, auth=session)).json() == first.json()


async def test_different_key_encryption_keys_in_parallel_have_one_winner(service: Any, sealed: Any) -> None:
    session = await service.user()
    values = [{"serialized_key_encryption_key": sealed()} for _ in range(16)]
    answers = await asyncio.gather(*(service.call("POST", KEK, value, auth=session) for value in values))
    won = [answer for answer in answers if answer.status_code == 201]
    assert len(won) == 1
    assert {code(answer) for answer in answers if answer not in won} == {"key_encryption_key_exists"}
    assert (await service.call("GET", KEK, auth=session)).json() == won[0].json()


async def test_data_encryption_keys_are_stored_listed_and_read(service: Any, sealed: Any) -> None:
    session = await service.user()
    values = [sealed() for _ in range(5)]
    made = []
    for value in values:
        answer = await service.call("POST", DEKS, {"serialized_data_encryption_key": value}, auth=session)
        assert answer.status_code == 201
        made.append(answer.json()["data_encryption_key"])
    assert [key["serialized_data_encryption_key"] for key in made] == values
    again = await service.call("POST", DEKS, {"serialized_data_encryption_key": values[2]}, auth=session)
    assert (again.status_code, again.json()["data_encryption_key"]) == (200, made[2])
    listing = (await service.call("GET", DEKS, auth=session)).json()
    assert listing["meta"] == {"pages": None, "total_count": None}
    assert sorted(listing["data_encryption_keys"], key=lambda key: key["id"]) == listing["data_encryption_keys"]
    assert {key["id"] for key in listing["data_encryption_keys"]} == {key["id"] for key in made}
    for key in made:
        read = await service.call("GET", f"{DEKS}/{key['id']}", auth=session)
        assert read.json()["data_encryption_key"] == key
    pages = [(await service.call("GET", f"{DEKS}?per=2&page={n}", auth=session)).json() for n in (1, 2, 3, 4)]
    assert [len(page["data_encryption_keys"]) for page in pages] == [2, 2, 1, 0]
    assert all(page["meta"] == {"pages": 3, "total_count": 5} for page in pages)
    paged = itertools.chain.from_iterable(page["data_encryption_keys"] for page in pages)
    assert list(paged) == listing["data_encryption_keys"]


async def test_a_keypair_as_specified(service: Any, sealed: Any, public_pem: Any) -> None:
    session = await service.user()
    crlf = public_pem().replace("\n", "\r\n")
    given = {
        "encrypted_serialized_key": sealed(2400),
        "public_key": crlf,
        "metadata": {"b": [1, 2.5, None], "a": {"é": True}},
        "external_identifiers": ["vault", "z", "a/b ä%2F"],
    }
    made = await service.call("POST", KEYPAIRS, given, auth=session)
    assert made.status_code == 201
    keypair = made.json()["keypair"]
    assert set(keypair) == {"id", "public_key", "encrypted_serialized_key", "metadata", "external_identifiers"}
    assert keypair["public_key"] == crlf
    assert keypair["metadata"] == given["metadata"]
    tags = keypair["external_identifiers"]
    assert [tag["identifier"] for tag in tags] == given["external_identifiers"]
    assert all(set(tag) == {"id", "identifier", "keypair_id"} for tag in tags)
    assert {tag["keypair_id"] for tag in tags} == {keypair["id"]}
    again = await service.call("POST", KEYPAIRS, given, auth=session)
    assert (again.status_code, again.json()) == (200, made.json())
    for path in (keypair["id"], "external_id/vault", "external_id/a%2Fb%20%C3%A4%252F"):
        assert (await service.call("GET", f"{KEYPAIRS}/{path}", auth=session)).json() == made.json()
    listing = (await service.call("GET", KEYPAIRS, auth=session)).json()
    assert listing == {"keypairs": [keypair], "meta": {"pages": None, "total_count": None}}


async def test_a_tag_on_another_keypair_is_refused_and_nothing_stored(
    service: Any, sealed: Any, public_pem: Any
) -> None:
    session = await service.user()
    given = {"encrypted_serialized_key": sealed(), "public_key": public_pem(), "external_identifiers": ["a", "vault"]}
    assert (await service.call("POST", KEYPAIRS, given, auth=session)).status_code == 201
    second = given | {"public_key": public_pem("bob"), "external_identifiers": ["new", "vault"]}
    answer = await service.call("POST", KEYPAIRS, second, auth=session)
    assert (answer.status_code, code(answer)) == (409, "external_identifier_taken")
    assert answer.json()["errors"][0]["pointer"] == "/external_identifiers/1"
    assert len((await service.call("GET", KEYPAIRS, auth=session)).json()["keypairs"]) == 1
    assert (await service.call("GET", f"{KEYPAIRS}/external_id/new", auth=session)).status_code == 404


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("metadata", []),
        ("metadata", None),
        ("metadata", {"x": "y" * 5000}),
        ("external_identifiers", "vault"),
        ("external_identifiers", [""]),
        ("external_identifiers", ["é" * 65]),
        ("external_identifiers", ["a", "a"]),
        ("external_identifiers", [str(n) for n in range(17)]),
        ("public_key", ""),
        ("public_key", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"),
    ],
)
async def test_a_keypair_with_a_wrong_field_is_refused(
    service: Any, sealed: Any, public_pem: Any, field: str, value: Any
) -> None:
    session = await service.user()
    given = {
        "encrypted_serialized_key": sealed(),
        "public_key": public_pem(),
        "metadata": {},
        "external_identifiers": [],
    }
    answer = await service.call("POST", KEYPAIRS, given | {field: value}, auth=session)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"].startswith(f"/{field}")
    assert (await service.call("GET", KEYPAIRS, auth=session)).json()["keypairs"] == []


def in_clear(pem: str) -> list[str]:
    """A private key in the disguises that a mistaken client may send."""
    raw = pem.encode()
    der = base64.b64decode("".join(pem.splitlines()[1:-1]))
    url = base64.urlsafe_b64encode
    artefacts = url(b"---\niv: x\n").decode()
    return [
        pem,
        url(raw).decode(),
        base64.b64encode(raw).decode(),
        url(gzip.compress(raw)).decode(),
        f"Aes256Gcm.{url(raw).decode()}.{artefacts}",
        f"Aes256Gcm.{url(der).decode()}.{artefacts}",
        f"Aes256Gcm.{url(gzip.compress(raw)).decode()}.{artefacts}",
    ]


@pytest.mark.parametrize("number", range(7))
async def test_a_private_key_in_clear_is_refused_everywhere(
    service: Any, sealed: Any, private_pem: Any, public_pem: Any, number: int
) -> None:
    session = await service.user()
    value = in_clear(private_pem())[number]
    keypair = {"encrypted_serialized_key": sealed(), "public_key": public_pem(), "metadata": {}}
    for path, body in [
        (KEK, {"serialized_key_encryption_key": value}),
        (DEKS, {"serialized_data_encryption_key": value}),
        (KEYPAIRS, keypair | {"encrypted_serialized_key": value}),
        (KEYPAIRS, keypair | {"metadata": {"backup": value}}),
    ]:
        answer = await service.call("POST", path, body, auth=session)
        assert answer.status_code == 422, path
        assert code(answer) == "plaintext_key_refused" or len(value) > 4096


def b64url(number: int) -> str:
    return base64.urlsafe_b64encode(number.to_bytes(512, "big")).rstrip(b"=").decode()


async def test_a_private_jwk_in_the_metadata_is_refused(
    service: Any, sealed: Any, private_pem: Any, public_pem: Any
) -> None:
    session = await service.user()
    key = load_pem_private_key(private_pem().encode(), None)
    assert isinstance(key, RSAPrivateKey)
    jwk = {"kty": "RSA", "n": b64url(key.public_key().public_numbers().n), "e": "AQAB"}
    keypair = {"encrypted_serialized_key": sealed(), "public_key": public_pem()}
    private = {"metadata": {"backup": jwk | {"d": b64url(key.private_numbers().d)}}}
    answer = await service.call("POST", KEYPAIRS, keypair | private, auth=session)
    assert (answer.status_code, code(answer)) == (422, "plaintext_key_refused")
    answer = await service.call("POST", KEYPAIRS, keypair | {"metadata": {"public": jwk}}, auth=session)
    assert answer.status_code == 201


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value.replace("Aes256Gcm", "Aes256Ctr"),
        lambda value: value.replace("Aes256Gcm", "aes256gcm"),
        lambda value: value.replace("Aes256Gcm", "Rsa4096"),
        lambda value: value.rsplit(".", 1)[0],
        lambda value: value + ".x",
        lambda value: value + "." + value,
        lambda value: "Aes256Gcm.." + value.rsplit(".", 1)[1],
        lambda value: value.rsplit(".", 1)[0] + ".",
        lambda value: " " + value,
        lambda value: value + "\n",
        lambda value: value[:-1] + "*",
        lambda value: "Aes256Gcm.AAAA." + base64.urlsafe_b64encode(b"--- {}\n").decode(),
        lambda value: "plain text",
    ],
)
async def test_what_is_no_encrypted_value_is_refused(service: Any, sealed: Any, change: Any) -> None:
    session = await service.user()
    value = change(sealed())
    for path, field in [(KEK, "serialized_key_encryption_key"), (DEKS, "serialized_data_encryption_key")]:
        answer = await service.call("POST", path, {field: value}, auth=session)
        assert (answer.status_code, code(answer)) == (422, "malformed_ciphertext")
        assert answer.json()["errors"][0]["pointer"] == f"/{field}"
    assert (await service.call("GET", KEK, auth=session)).status_code == 404


async def test_objects_of_others_answer_like_objects_that_do_not_exist(
    service: Any, sealed: Any, public_pem: Any, login_secret: Any
) -> None:
    ada = await service.user("ada")
    bob = await service.user("bob", login_secret(b"bob"))
    dek = await service.call("POST", DEKS, {"serialized_data_encryption_key": sealed()}, auth=ada)
    keypair = {"encrypted_serialized_key": sealed(), "public_key": public_pem(), "external_identifiers": ["vault"]}
    pair = await service.call("POST", KEYPAIRS, keypair, auth=ada)
    nobody = "0198f6a0-0000-7000-8000-000000000000"
    for theirs, absent in [
        (f"{DEKS}/{dek.json()['data_encryption_key']['id']}", f"{DEKS}/{nobody}"),
        (f"{KEYPAIRS}/{pair.json()['keypair']['id']}", f"{KEYPAIRS}/{nobody}"),
        (f"{KEYPAIRS}/external_id/vault", f"{KEYPAIRS}/external_id/none"),
        (f"{DEKS}/not-an-id", f"{DEKS}/{nobody}"),
    ]:
        first, second = [await service.call("GET", path, auth=bob) for path in (theirs, absent)]
        assert first.status_code == second.status_code == 404
        assert first.json() | {"instance": ""} == second.json() | {"instance": ""}


async def test_endpoint_9_gives_one_token_until_it_is_used(service: Any, sealed: Any, public_pem: Any) -> None:
    session = await service.user()
    answers = await asyncio.gather(*(service.call("GET", EXTERNAL, auth=session) for _ in range(32)))
    assert {answer.status_code for answer in answers} == {200}
    tokens = {answer.json()["external_admission_token"]["vault_api_admission_token"] for answer in answers}
    assert len(tokens) == 1
    assert answers[0].json()["external_admission_token"]["passphrase_store_admission_token"] is None
    (token,) = tokens
    body = {"user": {"public_key": public_pem(), "admission_token": token}}
    assert (await service.call("POST", "/vault/me", body)).status_code == 201
    refused = await service.call("GET", EXTERNAL, auth=session)
    assert (refused.status_code, code(refused)) == (409, "vault_account_exists")


async def test_endpoint_9_is_refused_where_the_key_has_an_account(service: Any, sealed: Any, public_pem: Any) -> None:
    await service.vault_session("ada")
    session = await service.user()
    keypair = {"encrypted_serialized_key": sealed(), "public_key": public_pem(), "external_identifiers": ["vault"]}
    assert (await service.call("POST", KEYPAIRS, keypair, auth=session)).status_code == 201
    refused = await service.call("GET", EXTERNAL, auth=session)
    assert (refused.status_code, code(refused)) == (409, "vault_account_exists")


async def test_nothing_is_stored_after_an_acknowledged_logout(service: Any, sealed: Any) -> None:
    """The session is read before the body is taken; the write has to look again."""
    session = await service.user()
    other = await service.log_in()
    writes = [service.call("POST", DEKS, {"serialized_data_encryption_key": sealed()}, auth=session) for _ in range(20)]
    answers = await asyncio.gather(
        *writes[:10], service.call("DELETE", "/keystore/session", auth=session), *writes[10:]
    )
    assert answers[10].status_code == 204
    stored = sum(answer.status_code == 201 for answer in answers)
    listing = await service.call("GET", DEKS, auth=other)
    assert len(listing.json()["data_encryption_keys"]) == stored
    assert {answer.status_code for answer in answers} <= {201, 204, 401}
