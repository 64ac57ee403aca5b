from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.crypto import inspection
from strongroom.crypto.aes256gcm import encrypt
from strongroom.crypto.artefacts import write_artefacts
from strongroom.crypto.checksum import with_checksum
from strongroom.crypto.derivation import DerivationArtefacts
from strongroom.crypto.encoding import encode_padded
from strongroom.crypto.formats import ArtefactFormat
from strongroom.crypto.grammar import vault_session_string
from strongroom.crypto.inspection import explain
from strongroom.crypto.passphrases import AccountSecret
from strongroom.crypto.rsa4096 import PrivateKey
from strongroom.crypto.signatures import sign
from strongroom.crypto.verification import make_verification

Hierarchy = Any
DERIVATION = DerivationArtefacts(bytes(32), 600_000)


def test_bound_values(ada: Hierarchy) -> None:
    kek = explain(ada.serialized_kek)
    assert (kek.kind, kek.strategy, kek.format, kek.warnings) == ("encrypted value", "Aes256Gcm", "yaml", ())
    assert kek.sizes == {"data": 32, "iv": 12, "tag": 16}
    assert kek.fields == {"ad": f"sr1:kek:{ada.account}", "holds": "key encryption key", "account": ada.account}
    dek = explain(ada.serialized_dek + "\n")
    assert (dek.fields["holds"], dek.fields["purpose"], dek.fields["uid"]) == (
        "data encryption key",
        "data",
        ada.dek.uid,
    )
    key = explain(ada.serialized_private_key)
    assert (key.fields["tag"], key.fields["fingerprint"]) == ("vault", ada.private_key.public_key.fingerprint)
    assert explain(ada.sealed).fields["context"] == "data"


def test_unbound_and_foreign_values() -> None:
    unbound = explain(encrypt(bytes(32), b"x", artefacts=ArtefactFormat.BSON))
    assert (unbound.format, unbound.fields, unbound.warnings) == ("bson", {"ad": "none"}, (inspection.UNBOUND,))
    text = encrypt(bytes(32), b"\xff" * 30, ad="sr1:nonsense")
    while "_" not in text.split(".")[1] and "-" not in text.split(".")[1]:
        text = encrypt(bytes(32), b"\xff" * 30, ad="sr1:nonsense")
    foreign = explain(text.replace("-", "+").replace("_", "/"))
    assert foreign.warnings == (inspection.COMPAT_ONLY, inspection.UNBOUND)
    derived = explain(f"{encrypt(bytes(32), b'x')}.Pbkdf2Hmac.{DerivationArtefacts(bytes(20), 20_000).serialize()}")
    assert derived.kind == "encrypted value with a derived key"
    assert derived.fields == {"ad": "none", "iter": 20_000, "length": 32, "hash": "SHA256"}
    assert len(derived.warnings) == len(set(derived.warnings)) == 3


def test_keys_and_signatures(ada_key: PrivateKey) -> None:
    public = explain(ada_key.public_key.pem)
    assert (public.kind, public.fields) == ("public key", {"fingerprint": ada_key.public_key.fingerprint})
    private = explain(ada_key.pem)
    assert (private.kind, private.warnings, private.fields) == ("private key", (inspection.PRIVATE_KEY,), {})
    assert explain(sign(ada_key, b"data")).sizes == {"signature": 512, "data": 4}
    session = explain(ada_key.public_key.encrypt(b"x"))
    assert (session.strategy, session.sizes, session.warnings) == ("Rsa4096", {"data": 512}, ())


def test_artefacts(ada: Hierarchy) -> None:
    derivation = explain(DERIVATION.serialize())
    assert (derivation.kind, derivation.sizes, derivation.warnings) == ("derivation artefacts", {"salt": 32}, ())
    assert derivation.fields == {"iter": 600_000, "length": 32, "hash": "SHA256"}
    assert explain("Pbkdf2Hmac." + DERIVATION.serialize()).warnings == (inspection.COMPAT_ONLY,)
    bare = explain(encode_padded(write_artefacts({"iv": bytes(12), "at": bytes(16), "ad": "none"})))
    assert (bare.kind, bare.sizes, bare.fields) == ("encryption artefacts", {"iv": 12, "at": 16}, {"ad": "none"})
    verification = make_verification(
        ada.pdk,
        account=ada.account,
        derivation_artefacts="x",
        iterations=1,
        generation=1,
        time="2026-01-31T12:00:00Z",
    )
    assert explain(verification).kind == "verification artefacts"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (with_checksum("srk_" + "A" * 43), "subscription key"),
        (with_checksum("srp_" + "A" * 43), "provider API key"),
        (with_checksum("sra_" + "A" * 43), "admission token"),
        (with_checksum("srs_AAAA." + "A" * 43), "key store session string"),
        (with_checksum("srl1_" + "A" * 43), "login secret"),
        (vault_session_string("A" * 11, bytes(32)), "vault session string"),
        (AccountSecret(bytes(32)).text().reveal(), "account secret"),
    ],
)
def test_tokens(text: str, kind: str) -> None:
    explained = explain(text)
    assert (explained.kind, explained.warnings) == (kind, (inspection.ENOUGH_ALONE,))
    assert len(explain(text[:-1]).warnings) == 2
    assert text[5:] not in repr(explained)


@given(st.text(max_size=80) | st.text(alphabet="Aes256Gcm.SignR4096Pbkdf2Hmac=-_{}srv1_", max_size=80))
def test_any_text_is_explained(text: str) -> None:
    assert isinstance(explain(text).kind, str)
    for place in range(min(len(text), 10)):
        assert explain(f"Aes256Gcm.{text[:place]}.{text[place:]}").kind
