import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strongroom.crypto.checksum import with_checksum
from strongroom.crypto.errors import PassphraseRefused
from strongroom.crypto.login_secret import derive_login_secret
from strongroom.crypto.passphrases import (
    AccountSecret,
    canonical_passphrase,
    code_units,
    exact_passphrase,
    passphrase_for_pdk,
)

ZERO_KNOWLEDGE = json.loads((Path(__file__).resolve().parents[2] / "vectors/zero-knowledge.json").read_text("utf-8"))


def test_composed_and_decomposed_agree_but_exact_keeps_them_apart() -> None:
    assert canonical_passphrase("cafe\u0301") == canonical_passphrase("caf\xe9") == b"caf\xc3\xa9"
    assert exact_passphrase("cafe\u0301") != exact_passphrase("caf\xe9")
    assert canonical_passphrase("  Spaces stay ") == b"  Spaces stay "


@pytest.mark.parametrize("passphrase", ["", "a" * 1025, "\xe9" * 513, "\ud800", "x\udc00", "a" * 10**6])
def test_refused(passphrase: str) -> None:
    with pytest.raises(PassphraseRefused):
        canonical_passphrase(passphrase)
    with pytest.raises(PassphraseRefused):
        exact_passphrase(passphrase)


def test_the_longest_allowed() -> None:
    assert len(canonical_passphrase("a" * 1024)) == 1024
    assert len(canonical_passphrase("e\u0301" * 512)) == 1024


@pytest.mark.slow
@pytest.mark.parametrize("case", ZERO_KNOWLEDGE["login"][::3] + ZERO_KNOWLEDGE["login"][1:2])
def test_published_login_secrets(case: dict[str, str]) -> None:
    given_secret = case["account_secret_hex"]
    secret = AccountSecret(bytes.fromhex(given_secret)) if given_secret else None
    if secret is not None:
        assert passphrase_for_pdk(case["passphrase"], secret).decode() == case["passphrase_for_pdk"]
    derived = derive_login_secret(case["passphrase"], case["username"], case["realm"], secret)
    assert derived.reveal() == case["login_secret"]


@given(st.binary(min_size=32, max_size=32))
def test_an_account_secret_comes_back_from_its_text(value: bytes) -> None:
    secret = AccountSecret(value)
    text = secret.text().reveal()
    assert AccountSecret.parse(text) == secret
    assert AccountSecret.parse(f" {text[:20]}\n{text[20:]} ") == secret
    with pytest.raises(PassphraseRefused):
        AccountSecret.parse(text[:-1])


@pytest.mark.parametrize("text", ["", "srx1_", with_checksum("srx1_AAAA"), with_checksum("srx9_" + "A" * 43), "\xe9"])
def test_other_texts_are_no_account_secret(text: str) -> None:
    with pytest.raises(PassphraseRefused):
        AccountSecret.parse(text)


def test_an_account_secret_hides() -> None:
    secret = AccountSecret.generate()
    assert secret != AccountSecret.generate()
    assert secret.text().reveal() not in repr(secret) + str(secret)
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(PassphraseRefused):
        AccountSecret(bytes(31))


def test_code_units_of_early_ports() -> None:
    assert code_units("P\xe4ss") == b"P\xe4ss"
    # From a value such a port wrote: high bytes run over into the byte before.
    assert code_units("pass-\U0001f600-word") == b"pass\xf5\xe3\x00-word"
    with pytest.raises(PassphraseRefused):
        code_units("")


@given(st.text(alphabet=st.characters(max_codepoint=0xFF), min_size=1, max_size=40))
def test_code_units_up_to_255_are_latin_1(passphrase: str) -> None:
    assert code_units(passphrase) == passphrase.encode("latin-1")
