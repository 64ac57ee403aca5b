"""Writes `vectors/strict.json`: values of the strict profile with fixed randomness, and bad ones with one fault each.

Run `python vectors/generate_strict.py` in the top folder after a deliberate change of format; a test reads each vector.
RSA ciphertexts are drawn by the cryptography library and differ from run to run; everything else comes out the same.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from pathlib import Path

from strongroom.crypto import binding, randomness
from strongroom.crypto.aes256gcm import encrypt
from strongroom.crypto.artefacts import DERIVATION, write_artefacts
from strongroom.crypto.checksum import with_checksum
from strongroom.crypto.derivation import DerivationArtefacts
from strongroom.crypto.encoding import encode_padded, encode_unpadded
from strongroom.crypto.formats import ArtefactFormat
from strongroom.crypto.grammar import vault_session_string
from strongroom.crypto.key_stretching import expand
from strongroom.crypto.keys import DataEncryptionKey, KeyEncryptionKey, PasswordDerivedKey
from strongroom.crypto.names import account_tag, realm_tag
from strongroom.crypto.rsa4096 import PrivateKey
from strongroom.crypto.verification import make_verification

TOP = Path(__file__).resolve().parent.parent
USERNAME, REALM = "Ada", "https://vault.example"
ACCOUNT = account_tag(USERNAME)
PDK, KEK = PasswordDerivedKey(bytes(range(32))), KeyEncryptionKey(bytes(range(32, 64)))
DEK = DataEncryptionKey(bytes(range(64, 96)), "notes", "AAECAwQFBgcICQoLDA0ODw")
ADA = PrivateKey.parse((TOP / "tests/keys/ada.private.pem").read_bytes(), trusted=True)
BOB = PrivateKey.parse((TOP / "tests/keys/bob.private.pem").read_bytes(), trusted=True)
KEK_AD = binding.key_encryption_key(ACCOUNT)
YAML, BSON = ArtefactFormat.YAML, ArtefactFormat.BSON
Vector = dict[str, object]


def _stream(label: bytes) -> Iterator[bytes]:
    counter = 0
    while True:
        yield hashlib.sha256(label + counter.to_bytes(4, "big")).digest()
        counter += 1


def _fix_randomness() -> None:
    blocks = _stream(b"strongroom strict vectors")

    def fixed(count: int) -> bytes:
        return b"".join(next(blocks) for _ in range(-(-count // 32)))[:count]

    randomness.os.urandom = fixed  # type: ignore[attr-defined]  # the one seam, replaced for this process alone


def _kek(name: str, serialized: str, expect: str = "ok") -> Vector:
    vector: Vector = {"id": f"kek/{name}", "kind": "key_encryption_key", "expect": expect, "serialized": serialized}
    return vector | ({"plaintext_hex": KEK.reveal().hex()} if expect == "ok" else {})


def _parts(strategy: str, data: bytes | str, artefacts: bytes | str) -> str:
    return ".".join((strategy, *(part if isinstance(part, str) else encode_padded(part) for part in (data, artefacts))))


def key_encryption_keys() -> Iterator[Vector]:
    good = PDK.wrap(KEK, ACCOUNT)
    strategy, data, artefacts = good.split(".")
    hash_text = third_part(good)
    yield _kek("yaml", good)
    yield _kek("bson", PDK.wrap(KEK, ACCOUNT, BSON))
    yield _kek("yaml-double-bang", _parts(strategy, data, hash_text.replace(b"!binary", b"!!binary")))
    yield _kek("yaml-inline", _parts(strategy, data, hash_text.replace(b"|-\n  ", b"")))
    yield _kek(
        "yaml-quoted-keys", _parts(strategy, data, hash_text.replace(b"iv:", b'"iv":').replace(b"at:", b"'at':"))
    )
    yield _kek("yaml-quoted-ad", _parts(strategy, data, hash_text.replace(KEK_AD.encode(), f"'{KEK_AD}'".encode())))
    head, iv, at, ad = hash_text.replace(b"\n  ", b"\0").split(b"\n")[:4]
    reordered = b"\n".join((head, ad, at, iv, b"")).replace(b"\0", b"\n  ")
    yield _kek("yaml-other-order", _parts(strategy, data, reordered))
    malformed = {
        "strategy-ctr": _parts("Aes256Ctr", data, artefacts),
        "strategy-lower-case": _parts("aes256gcm", data, artefacts),
        "strategy-space": _parts("Aes256Gcm ", data, artefacts),
        "two-parts": f"{strategy}.{data}",
        "four-parts": f"{good}.{data}",
        "five-parts": f"{good}.{data}.{artefacts}",
        "empty-data": f"{strategy}..{artefacts}",
        "empty-artefacts": f"{strategy}.{data}.",
        "base64-no-padding": f"{strategy}.{data.rstrip('=')}.{artefacts}",
        "base64-too-much-padding": f"{strategy}.{data}=.{artefacts}",
        "base64-line-break": f"{strategy}.{data[:20]}\n{data[20:]}.{artefacts}",
        "base64-spare-bits": f"{strategy}.{data[:-2]}{_next(data[-2])}=.{artefacts}",
        "base64-standard-alphabet": f"{strategy}.{encode_padded(bytes([251]) * 32).replace('-', '+')}.{artefacts}",
        "yaml-no-start": _parts(strategy, data, hash_text.removeprefix(b"---\n")),
        "yaml-crlf": _parts(strategy, data, hash_text.replace(b"\n", b"\r\n")),
        "yaml-tab": _parts(strategy, data, hash_text.replace(b"  ", b"\t")),
        "yaml-bom": _parts(strategy, data, b"\xef\xbb\xbf" + hash_text),
        "yaml-anchor": _parts(strategy, data, hash_text.replace(b"ad: ", b"ad: &a ")),
        "yaml-alias": _parts(strategy, data, hash_text + b"x: *a\n"),
        "yaml-merge-key": _parts(strategy, data, hash_text + b"<<: *a\n"),
        "yaml-other-tag": _parts(strategy, data, hash_text.replace(b"ad: ", b"ad: !!str ")),
        "yaml-duplicate": _parts(strategy, data, hash_text + b"ad: none\n"),
        "yaml-extra-key": _parts(strategy, data, hash_text + b"hash: SHA256\n"),
        "yaml-missing-key": _parts(strategy, data, hash_text.rpartition(b"ad:")[0]),
        "yaml-flow-mapping": _parts(strategy, data, b"--- {iv: a, at: b, ad: none}\n"),
        "yaml-two-documents": _parts(strategy, data, hash_text + hash_text),
        "yaml-comment": _parts(strategy, data, hash_text + b"# comment\n"),
        "yaml-binary-ad": _parts(strategy, data, hash_text.rpartition(b"ad:")[0] + b"ad: !binary |-\n  bm9uZQ==\n"),
        "yaml-plain-iv": _parts(strategy, data, b"---\niv: 0123456789ab\n" + hash_text[hash_text.index(b"at:") :]),
        "yaml-over-1-kib": _parts(strategy, data, hash_text + b"\n" * 1024),
    }
    for size in (1, 8, 11, 13, 16):
        malformed[f"iv-of-{size}"] = _parts(strategy, data, _hash(iv=bytes(size)))
    for size in (1, 4, 12, 15, 17):
        malformed[f"tag-of-{size}"] = _parts(strategy, data, _hash(at=bytes(size)))
    bson = write_artefacts({"iv": bytes(12), "at": bytes(16), "ad": KEK_AD}, BSON)
    malformed |= {
        "bson-other-version": _parts(strategy, data, b"Z" + bson[1:]),
        "bson-trailing-byte": _parts(strategy, data, bson + b"\0"),
        "bson-length-too-large": _parts(strategy, data, b"A" + bytes([bson[1] + 1]) + bson[2:]),
        "bson-negative-length": _parts(strategy, data, b"A\xfb\xff\xff\xff" + bson[5:]),
        "bson-binary-subtype": _parts(strategy, data, bson.replace(b"\x0c\0\0\0\0", b"\x0c\0\0\0\x02")),
        "bson-code-element": _parts(strategy, data, bson.replace(b"\x02ad", b"\x0dad")),
    }
    for name, serialized in malformed.items():
        yield _kek(name, serialized, "MalformedCiphertext")
    other = account_tag("Ada's twin")
    fails = {
        "unbound": encrypt(PDK.reveal(), KEK.reveal()),
        "other-account": PDK.wrap(KEK, other),
        "other-key": PasswordDerivedKey(bytes(32)).wrap(KEK, ACCOUNT),
        "a-data-encryption-key": encrypt(
            PDK.reveal(), KEK.reveal(), ad=binding.data_encryption_key(ACCOUNT, "notes", DEK.uid or "")
        ),
        "31-bytes": encrypt(PDK.reveal(), bytes(31), ad=KEK_AD),
        "33-bytes": encrypt(PDK.reveal(), bytes(33), ad=KEK_AD),
        "pem-inside": encrypt(PDK.reveal(), ADA.pem.encode(), ad=KEK_AD),
        "ciphertext-bit": _parts(strategy, bytes([1]) + bytes(31), artefacts),
        "zero-tag": _parts(strategy, data, _hash()),
        "ad-rewritten": _parts(strategy, encrypt(PDK.reveal(), KEK.reveal()).split(".")[1], _hash()),
    }
    for name, serialized in fails.items():
        yield _kek(name, serialized, "DecryptionFailed")


def third_part(serialized: str) -> bytes:
    """The decoded third part."""
    return base64.urlsafe_b64decode(serialized.split(".")[2])


def _next(digit: str) -> str:
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return alphabet[alphabet.index(digit) + 1]


def _hash(iv: bytes = bytes(12), at: bytes = bytes(16)) -> bytes:
    return write_artefacts({"iv": iv, "at": at, "ad": KEK_AD})


def data_encryption_keys() -> Iterator[Vector]:
    def dek(name: str, serialized: str, expect: str = "ok") -> Vector:
        vector: Vector = {
            "id": f"dek/{name}",
            "kind": "data_encryption_key",
            "expect": expect,
            "serialized": serialized,
        }
        good = {"plaintext_hex": DEK.reveal().hex(), "purpose": DEK.purpose, "uid": DEK.uid}
        return vector | (good if expect == "ok" else {})

    yield dek("yaml", KEK.wrap_data_encryption_key(DEK, ACCOUNT))
    yield dek("bson", KEK.wrap_data_encryption_key(DEK, ACCOUNT, BSON))
    for name, ad in {
        "unbound": "none",
        "upper-case-purpose": f"sr1:dek:{ACCOUNT}:Notes:{DEK.uid}",
        "empty-purpose": f"sr1:dek:{ACCOUNT}::{DEK.uid}",
        "short-uid": f"sr1:dek:{ACCOUNT}:notes:AAAA",
        "spare-bits-in-uid": f"sr1:dek:{ACCOUNT}:notes:{'A' * 21}B",
        "extra-component": f"sr1:dek:{ACCOUNT}:notes:{DEK.uid}:x",
        "other-account": f"sr1:dek:{account_tag('bob')}:notes:{DEK.uid}",
        "a-key-encryption-key": KEK_AD,
        "data": binding.data(ACCOUNT, DEK.uid or ""),
    }.items():
        yield dek(name, encrypt(KEK.reveal(), DEK.reveal(), ad=ad), "DecryptionFailed")


def private_keys() -> Iterator[Vector]:
    def key(name: str, serialized: str, expect: str = "ok", tag: str = "vault") -> Vector:
        return {
            "id": f"private-key/{name}",
            "kind": "private_key",
            "expect": expect,
            "tag": tag,
            "serialized": serialized,
        }

    yield key("vault", KEK.wrap_private_key(ADA, ACCOUNT, "vault"))
    yield key("untagged", KEK.wrap_private_key(ADA, ACCOUNT, ""), tag="")
    yield key("tag-with-colon", KEK.wrap_private_key(ADA, ACCOUNT, "a:b é", BSON), tag="a:b é")
    fails = "DecryptionFailed"
    yield key("other-tag", KEK.wrap_private_key(ADA, ACCOUNT, "share"), fails)
    yield key("other-pair", KEK.wrap_private_key(BOB, ACCOUNT, "vault"), fails)
    ad = binding.private_key(ACCOUNT, "vault", ADA.public_key.fingerprint)
    yield key("other-key-under-our-fingerprint", encrypt(KEK.reveal(), BOB.pem.encode(), ad=ad), fails)
    yield key("not-a-key", encrypt(KEK.reveal(), b"not a key", ad=ad), fails)
    yield key("unbound", encrypt(KEK.reveal(), ADA.pem.encode()), fails)


def sealed_data() -> Iterator[Vector]:
    for name, context, given, artefact_format in (
        ("default", "data", "data", YAML),
        ("context", "notes.2026", "notes.2026", BSON),
        ("other-context", "notes", "data", YAML),
    ):
        expect = "ok" if context == given else "DecryptionFailed"
        serialized = DEK.seal("sealed \N{SNOWMAN}".encode(), ACCOUNT, given, artefact_format)
        vector: Vector = {
            "id": f"data/{name}",
            "kind": "data",
            "expect": expect,
            "context": context,
            "serialized": serialized,
        }
        yield vector | ({"plaintext_hex": "sealed \N{SNOWMAN}".encode().hex()} if expect == "ok" else {})


def sessions() -> Iterator[Vector]:
    tag, body = realm_tag(REALM), bytes(range(48))
    good = vault_session_string(tag, body)
    plaintexts = {
        "good": good.encode(),
        "other-realm": vault_session_string(realm_tag("https://evil.example"), body).encode(),
        "other-label": with_checksum("srw1_" + good[5:-6]).encode(),
        "bad-checksum": good[:-1].encode() + (b"0" if good[-1] != "0" else b"1"),
        "line-break": good.encode() + b"\r\n",
        "nul": good.encode() + b"\0",
        "raw-key": bytes(range(32)),
        "key-in-base64": encode_unpadded(bytes(range(32))).encode(),
        "pem-line": ADA.pem.splitlines()[1].encode(),
        "compat-string": b"vault-session-string",
        "470-bytes": b"A" * 470,
    }
    for name, plaintext in plaintexts.items():
        expect = "ok" if name == "good" else "SessionStringRefused"
        serialized = ADA.public_key.encrypt(plaintext, BSON if name == "good" else YAML)
        vector: Vector = {"id": f"session/{name}", "kind": "vault_session", "expect": expect, "serialized": serialized}
        yield vector | ({"plaintext_hex": plaintext.hex()} if expect == "ok" else {})


def derivations() -> Iterator[Vector]:
    def made(name: str, text: str, expect: str = "ok") -> Vector:
        return {
            "id": f"derivation/{name}",
            "kind": "derivation_artefacts",
            "expect": expect,
            "derivation_artefacts": text,
        }

    def fields(**changes: object) -> str:
        return encode_padded(
            json.dumps({"salt": "A" * 43, "iter": 600000, "length": 32, "hash": "SHA256"} | changes).encode()
        )

    salt = bytes(range(32))
    yield made("yaml", DerivationArtefacts(salt, 1_000_000).serialize())
    yield made("json", fields())
    bson = write_artefacts({"iv": salt, "i": 600_000, "l": 32, "hash": "SHA256"}, BSON, DERIVATION)
    yield made("bson", encode_padded(bson))
    outside: dict[str, dict[str, object]] = {
        "599999-iterations": {"iter": 599_999},
        "one-iteration": {"iter": 1},
        "no-iterations": {"iter": 0},
        "10000001-iterations": {"iter": 10_000_001},
        "length-16": {"length": 16},
        "length-64": {"length": 64},
        "hash-sha1": {"hash": "SHA1"},
        "hash-prototype": {"hash": "__proto__"},
        "salt-of-15": {"salt": "A" * 20},
        "salt-of-65": {"salt": "A" * 87},
    }
    for name, changes in outside.items():
        yield made(name, fields(**changes), "ParametersRefused")
    for name, text in {
        "iterations-as-text": fields(iter="600000"),
        "iterations-as-float": fields(iter=6e5),
        "iterations-true": fields(iter=True),
        "extra-key": fields(iterations=1),
        "yaml-sexagesimal": encode_padded(b"---\nsalt: !binary |-\n  AAAA\niter: 1:0:0\nlength: 32\nhash: SHA256\n"),
        "yaml-octal": encode_padded(b"---\nsalt: !binary |-\n  AAAA\niter: 600000\nlength: 040\nhash: SHA256\n"),
        "ruby-literal": encode_padded(b'{"salt"=>"\\x0E", "iter"=>600000, "length"=>32, "hash"=>"SHA256"}'),
        "ruby-interpolation": encode_padded(b'{"salt"=>"#{exit}", "iter"=>600000, "length"=>32, "hash"=>"SHA256"}'),
        "prefix": "Pbkdf2Hmac." + fields(),
    }.items():
        yield made(name, text, "MalformedArtefacts")


def verifications() -> Iterator[Vector]:
    artefacts = DerivationArtefacts(bytes(range(32)), 1_000_000).serialize()
    given = {"account": ACCOUNT, "derivation_artefacts": artefacts, "time": "2026-01-31T12:00:00Z"}
    good = make_verification(PDK, iterations=1_000_000, generation=3, **given)

    def made(name: str, text: str, expect: str = "VerificationFailed", against: str = artefacts) -> Vector:
        return {
            "id": f"verification/{name}",
            "kind": "verification_artefacts",
            "expect": expect,
            "derivation_artefacts": against,
            "verification_artefacts": text,
        } | ({"generation": 3, "iterations": 1_000_000} if expect == "ok" else {})

    yield made("good", good, "ok")
    yield made("empty", "")
    yield made("no-tag", good.rpartition(".")[0] + ".")
    yield made("cut", good[:-1])
    yield made("other-version", "srva2" + good[5:])
    yield made("other-artefacts", good, against=artefacts[:-4])
    yield made("other-key", make_verification(PasswordDerivedKey(bytes(32)), iterations=1, generation=3, **given))
    for name, payload in {
        "no-features": {"a": ACCOUNT, "f": []},
        "other-account": {"a": "A" * 22, "f": ["ad"]},
    }.items():
        digest = encode_unpadded(hashlib.sha256(artefacts.encode()).digest())
        fields = payload | {"d": digest, "g": 3, "i": 1_000_000, "t": "2026-01-31T12:00:00Z"}
        raw = json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()
        label = b"strongroom/1/verification-artefacts"
        tag = hmac.digest(expand(PDK.reveal(), label), label + b"\0" + raw, hashlib.sha256)
        yield made(name, f"srva1.{encode_unpadded(raw)}.{encode_unpadded(tag)}")


def main() -> None:
    _fix_randomness()
    groups = (
        key_encryption_keys,
        data_encryption_keys,
        private_keys,
        sealed_data,
        sessions,
        derivations,
        verifications,
    )
    document = {
        "format": "strict-vectors/1",
        "origin": "written by generate_strict.py with fixed randomness; fields are explained in README.md",
        "account": {
            "username": USERNAME,
            "acct": ACCOUNT,
            "realm": REALM,
            "realm_tag": realm_tag(REALM),
            "pdk_hex": PDK.reveal().hex(),
            "kek_hex": KEK.reveal().hex(),
            "dek_hex": DEK.reveal().hex(),
            "dek_uid": DEK.uid,
            "private_key": ADA.pem,
            "public_key": ADA.public_key.pem,
            "fingerprint": ADA.public_key.fingerprint,
        },
        "vectors": [vector for group in groups for vector in group()],
    }
    (TOP / "vectors/strict.json").write_text(json.dumps(document, indent=1) + "\n", "ascii")


if __name__ == "__main__":
    main()
