"""Every published vector, run as `vectors/README.md` says."""

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from strongroom.crypto import compat, errors
from strongroom.crypto.artefacts import read_artefacts
from strongroom.crypto.derivation import derive, parse_derivation_artefacts
from strongroom.crypto.formats import Mode
from strongroom.crypto.inspection import explain
from strongroom.crypto.keys import DataEncryptionKey, KeyEncryptionKey, PasswordDerivedKey
from strongroom.crypto.passphrases import code_units, exact_passphrase
from strongroom.crypto.public_keys import PublicKey
from strongroom.crypto.rsa4096 import PrivateKey
from strongroom.crypto.signatures import verify
from strongroom.crypto.vault_session_strings import open_vault_session
from strongroom.crypto.verification import check_verification

VECTORS = Path(__file__).resolve().parents[2] / "vectors"
INTEROP = json.loads((VECTORS / "interop.json").read_text("utf-8"))["vectors"]
ARTEFACTS = json.loads((VECTORS / "artefacts.json").read_text("utf-8"))["vectors"]
STRICT = json.loads((VECTORS / "strict.json").read_text("utf-8"))
ACCOUNT = STRICT["account"]["acct"]
ANY_ACCOUNT = "A" * 22
Vector = dict[str, Any]


def _bytes(text: str) -> bytes:
    return base64.b64decode(text.replace("-", "+").replace("_", "/"))


@pytest.mark.parametrize("vector", ARTEFACTS, ids=lambda vector: vector["id"])
def test_artefacts_as_general_writers_spell_them(vector: Vector) -> None:
    if vector["kind"] == "derivation":
        read = parse_derivation_artefacts(vector["artefacts"], Mode.COMPAT)
        assert read.salt == _bytes(vector["salt"])
        assert (read.iter, read.length, read.hash) == (vector["iter"], vector["length"], vector["hash"])
    else:
        fields, _ = read_artefacts(_bytes(vector["artefacts"]), Mode.COMPAT)
        assert fields == {"iv": _bytes(vector["iv"]), "at": _bytes(vector["at"]), "ad": vector["ad"]}


def _account(vector: Vector) -> None:
    want, mode = vector["want"], Mode.COMPAT
    artefacts = parse_derivation_artefacts(vector["derivation_artefacts"], mode)
    pdk = derive(exact_passphrase(vector["passphrase"]), artefacts, mode)
    assert pdk.reveal() == _bytes(want["pdk"])
    kek = pdk.unwrap(vector["serialized_key_encryption_key"], ANY_ACCOUNT, mode)
    assert kek.reveal() == _bytes(want["kek"])
    dek = kek.unwrap_data_encryption_key(vector["serialized_data_encryption_key"], ANY_ACCOUNT, mode)
    assert dek.reveal() == _bytes(want["dek"])
    assert dek.open(vector["item_value"], ANY_ACCOUNT, mode=mode).decode() == want["item_value"]
    public_key = PublicKey.parse(vector["public_key"])
    private_key = kek.unwrap_private_key(vector["encrypted_serialized_key"], ANY_ACCOUNT, "vault", public_key, mode)
    assert private_key.pem.splitlines() == want["private_key"].splitlines()
    session = vector["encrypted_session_authentication_string"]
    assert open_vault_session(private_key, session, realm="http://localhost", mode=mode).reveal() == want["session"]


def _interop(vector: Vector) -> bytes | None:
    kind, serialized = vector["kind"], vector.get("serialized", "")
    match kind:
        case "key":
            return compat.open_with_key(_bytes(vector["key"]), serialized)
        case "passphrase":
            return compat.open_with_passphrase(vector["passphrase"], serialized, vector["passphrase_encoding"])
        case "derive":
            return compat.derive_key(vector["passphrase"], serialized, vector["passphrase_encoding"])
        case "rsa":
            private_key = PrivateKey.parse(vector["private_key"], trusted=True)
            assert private_key.public_key == PublicKey.parse(vector["public_key"])
            return private_key.decrypt(serialized, Mode.COMPAT)
        case "signature":
            return verify(PublicKey.parse(vector["public_key"]), serialized, Mode.COMPAT)
    return None


@pytest.mark.parametrize("vector", INTEROP, ids=lambda vector: vector["id"])
def test_values_of_other_ports(vector: Vector) -> None:
    if vector["kind"] == "account":
        _account(vector)
        return
    expect = vector.get("expect", "ok")
    try:
        opened = _interop(vector)
    except errors.CryptoError:
        assert expect in ("fail", "either")
        return
    assert opened is not None
    assert expect in ("ok", "either")
    if "plaintext_sha256" in vector:
        assert len(opened) == vector["plaintext_length"]
        assert hashlib.sha256(opened).hexdigest() == vector["plaintext_sha256"]
    else:
        assert opened == (_bytes(vector["plaintext"]) if "plaintext" in vector else vector["text"].encode())
    if "effective_passphrase" in vector:
        assert code_units(vector["passphrase"]) == _bytes(vector["effective_passphrase"])


@pytest.mark.parametrize("vector", [v for v in INTEROP if "serialized" in v], ids=lambda vector: vector["id"])
def test_values_of_other_ports_are_explained(vector: Vector) -> None:
    if vector.get("expect", "ok") == "ok":
        assert explain(vector["serialized"]).kind != "unknown"


def _strict_openers() -> dict[str, Callable[[Vector], dict[str, object]]]:
    account = STRICT["account"]
    pdk = PasswordDerivedKey(bytes.fromhex(account["pdk_hex"]))
    kek = KeyEncryptionKey(bytes.fromhex(account["kek_hex"]))
    dek = DataEncryptionKey(bytes.fromhex(account["dek_hex"]), "notes", account["dek_uid"])
    public_key = PublicKey.parse(account["public_key"])
    private_key = PrivateKey.parse(account["private_key"], trusted=True)

    def data_encryption_key(vector: Vector) -> dict[str, object]:
        opened = kek.unwrap_data_encryption_key(vector["serialized"], ACCOUNT)
        return {"plaintext_hex": opened.reveal().hex(), "purpose": opened.purpose, "uid": opened.uid}

    def unwrap_private_key(vector: Vector) -> dict[str, object]:
        opened = kek.unwrap_private_key(vector["serialized"], ACCOUNT, vector["tag"], public_key)
        assert opened.pem == account["private_key"]
        return {}

    def derivation(vector: Vector) -> dict[str, object]:
        parse_derivation_artefacts(vector["derivation_artefacts"]).check_strict()
        return {}

    def verification(vector: Vector) -> dict[str, object]:
        text, artefacts = vector["verification_artefacts"], vector["derivation_artefacts"]
        read = check_verification(pdk, text, account=ACCOUNT, derivation_artefacts=artefacts)
        return {"generation": read.generation, "iterations": read.iterations}

    return {
        "key_encryption_key": lambda v: {"plaintext_hex": pdk.unwrap(v["serialized"], ACCOUNT).reveal().hex()},
        "data_encryption_key": data_encryption_key,
        "private_key": unwrap_private_key,
        "data": lambda v: {"plaintext_hex": dek.open(v["serialized"], ACCOUNT, v["context"]).hex()},
        "vault_session": lambda v: {
            "plaintext_hex": open_vault_session(private_key, v["serialized"], realm=account["realm"])
            .reveal()
            .encode()
            .hex()
        },
        "derivation_artefacts": derivation,
        "verification_artefacts": verification,
    }


OPENERS = _strict_openers()


@pytest.mark.parametrize("vector", STRICT["vectors"], ids=lambda vector: vector["id"])
def test_strict_values(vector: Vector) -> None:
    opener = OPENERS[vector["kind"]]
    if vector["expect"] == "ok":
        for name, value in opener(vector).items():
            assert vector[name] == value
        return
    with pytest.raises(getattr(errors, vector["expect"])):
        opener(vector)


def test_the_strict_file_is_large_and_names_each_vector_once() -> None:
    ids = [vector["id"] for vector in STRICT["vectors"]]
    assert len(ids) == len(set(ids))
    assert sum(vector["expect"] != "ok" for vector in STRICT["vectors"]) >= 60
