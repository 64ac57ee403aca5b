"""Registration and unlocking against a peer that keeps the contract."""

import base64
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from strongroom import (
    AccountSecret,
    AdmissionTokenUsed,
    ConfigurationRefused,
    CryptoError,
    InvalidCredentials,
    NoSuchKey,
    Progress,
    RegistrationIncomplete,
    ServiceRefused,
    ServiceUnavailable,
    Strongroom,
    UnlockRefused,
    UsernameTaken,
)
from strongroom.crypto.aes256gcm import encrypt
from strongroom.crypto.derivation import DerivationArtefacts, derive
from strongroom.crypto.formats import Mode
from strongroom.crypto.grammar import login_secret_class
from strongroom.crypto.keys import KeyEncryptionKey
from strongroom.crypto.login_secret import derive_login_secret
from strongroom.crypto.passphrases import exact_passphrase

if TYPE_CHECKING:
    from tests.client.conftest import Peer

PASSPHRASE = "correct horse battery staple"
ELEVEN = [
    "keystore.issue_admission_token",
    "keystore.create_user",
    "keystore.create_session",
    "keystore.store_passphrase_derivation_artefact",
    "keystore.store_key_encryption_key",
    "keystore.store_data_encryption_key",
    "keystore.store_keypair",
    "keystore.read_external_admission_token",
    "vault.create_vault_user",
    "vault.list_classification_nodes",
]
Connect = Callable[..., Strongroom]


def test_registration_takes_the_steps_in_the_order_of_the_specification(peer: "Peer", connect: Connect) -> None:
    events: list[Progress] = []
    with connect(peer) as service:
        account = service.register("Ada", PASSPHRASE, iterations=600_000, progress=events.append)
    assert peer.names[: len(ELEVEN)] == ELEVEN
    assert all(name.startswith("keystore.read_") or "list" in name for name in peer.names[len(ELEVEN) :])
    assert [event.step for event in events if event.kind == "step" and event.seconds is None] == [*range(1, 12), None]
    assert account.username == "Ada"
    assert account.data_encryption_keys == ("data",)
    assert account.open(account.seal(b"x")) == b"x"


def test_an_account_opens_anywhere_from_name_and_passphrase(settled: "Peer", connect: Connect) -> None:
    with connect(settled) as service:
        sealed = service.unlock("Ada", PASSPHRASE).seal(b"data of Ada")
    with connect(settled) as other:
        assert other.unlock("ADA", PASSPHRASE).open(sealed) == b"data of Ada"


def test_no_request_ever_holds_the_passphrase(peer: "Peer", connect: Connect) -> None:
    secret = "Zwölf Boxkämpfer jagen Viktor"
    with connect(peer) as service:
        service.register("Ada", secret, iterations=600_000)
        service.unlock("Ada", secret)
        service.register("Ada", secret, iterations=600_000)
    sent = b"\n".join(seen.body + seen.url.encode() + repr(seen.headers).encode() for seen in peer.seen)
    windows = [secret[start : start + 6] for start in range(len(secret) - 5)]
    for window in windows:
        for form in (window.encode(), window.encode("utf-16-le"), window.encode().hex().encode()):
            assert form not in sent
    for offset in range(3):
        assert base64.b64encode(b"." * offset + secret.encode())[4:-4] not in sent
    fields = [json.loads(seen.body)["passphrase"] for seen in peer.seen if b'"passphrase"' in seen.body]
    assert fields
    assert {login_secret_class(field) for field in fields} == {1}


def test_with_an_account_secret_the_passphrase_alone_opens_nothing(peer: "Peer", connect: Connect) -> None:
    secret = AccountSecret.generate()
    with connect(peer) as service:
        sealed = service.register("Ada", PASSPHRASE, account_secret=secret, iterations=600_000).seal(b"x")
        assert login_secret_class(peer.person().passphrase) == 2
        assert service.unlock("Ada", PASSPHRASE, account_secret=secret).open(sealed) == b"x"
        with pytest.raises(UnlockRefused):
            service.unlock("Ada", PASSPHRASE)
        with pytest.raises(UnlockRefused):
            service.unlock("Ada", PASSPHRASE, account_secret=AccountSecret.generate())


def test_a_wrong_passphrase_says_which_realm_was_used(settled: "Peer", connect: Connect) -> None:
    with connect(settled, realm="https://vault.example") as service, pytest.raises(UnlockRefused) as caught:
        service.unlock("Ada", PASSPHRASE)
    assert "https://vault.example" in str(caught.value)
    assert PASSPHRASE not in str(caught.value)
    assert isinstance(caught.value.__cause__, InvalidCredentials)


def test_a_name_that_somebody_else_has_is_refused_as_taken(settled: "Peer", connect: Connect) -> None:
    with connect(settled) as service, pytest.raises(UsernameTaken) as caught:
        service.register("ada", "another passphrase", iterations=600_000)
    assert caught.value.status == 409
    assert settled.names[-1] == "keystore.create_session"


def test_a_used_token_is_refused_as_such(settled: "Peer", connect: Connect) -> None:
    with connect(settled) as service:
        token = service.issue_admission_token()
        settled.tokens[token] = True
        with pytest.raises(AdmissionTokenUsed):
            service.register("Bob", PASSPHRASE, admission_token=token, iterations=600_000)


def test_other_refusals_of_a_user_are_not_followed_by_a_login(peer: "Peer", connect: Connect) -> None:
    with connect(peer, provider_api_key="srp_another") as service, pytest.raises(ServiceRefused) as caught:
        service.register("Ada", PASSPHRASE, iterations=600_000)
    assert caught.value.code == "provider_key_invalid"
    assert peer.names == ["keystore.issue_admission_token"]


def test_registering_a_finished_account_again_opens_it(settled: "Peer", connect: Connect) -> None:
    before = settled.person()
    kept = (before.key_encryption_key, list(before.data_encryption_keys), list(before.keypairs))
    with connect(settled) as service:
        account = service.register("Ada", PASSPHRASE, iterations=600_000)
        assert service.unlock("Ada", PASSPHRASE).open(account.seal(b"x")) == b"x"
    after = settled.person()
    assert (after.key_encryption_key, after.data_encryption_keys, after.keypairs) == kept


def test_a_vault_admission_token_of_the_provider_is_used_instead_of_endpoint_9(peer: "Peer", connect: Connect) -> None:
    with connect(peer) as service:
        token = service.calls.issue_vault_admission_token().token_value
        service.register("Ada", PASSPHRASE, vault_admission_token=token, iterations=600_000)
    assert peer.tokens[token]
    assert "keystore.read_external_admission_token" not in peer.names


@pytest.mark.parametrize("iterations", [0, 1, 599_999, 10_000_001])
def test_weak_or_endless_parameters_of_our_own_are_refused(peer: "Peer", connect: Connect, iterations: int) -> None:
    with connect(peer) as service, pytest.raises(CryptoError):
        service.register("Ada", PASSPHRASE, iterations=iterations)
    assert peer.seen == []


@pytest.mark.parametrize(
    ("username", "passphrase"), [("", PASSPHRASE), ("a\0b", PASSPHRASE), ("\ud800", "x"), ("a", "")]
)
def test_names_and_passphrases_without_a_canonical_form_send_nothing(
    peer: "Peer", connect: Connect, username: str, passphrase: str
) -> None:
    with connect(peer) as service:
        with pytest.raises(CryptoError):
            service.register(username, passphrase, iterations=600_000)
        with pytest.raises(CryptoError):
            service.unlock(username, passphrase)
    assert peer.seen == []


def test_without_token_and_provider_key_nothing_is_registered(peer: "Peer", connect: Connect) -> None:
    with connect(peer, provider_api_key=None) as service, pytest.raises(ConfigurationRefused):
        service.register("Ada", PASSPHRASE, iterations=600_000)
    assert peer.seen == []


def test_an_unfinished_registration_says_so_when_unlocked(peer: "Peer", connect: Connect) -> None:
    peer.break_at("keystore.store_keypair", "before", "lost")
    with connect(peer) as service:
        with pytest.raises(Exception, match="reached"):
            service.register("Ada", PASSPHRASE, iterations=600_000)
        with pytest.raises(RegistrationIncomplete):
            service.unlock("Ada", PASSPHRASE)


def _old_account(peer: "Peer", service: Strongroom) -> KeyEncryptionKey:
    """What an old port leaves behind: raw passphrase, few iterations, no verification, nothing bound."""
    token = service.issue_admission_token()
    service.calls.create_user(token, "Old", PASSPHRASE)
    session = service.calls.create_session("Old", PASSPHRASE).session_authentication_string
    artefacts = DerivationArtefacts(b"0123456789abcdef", 21_129)
    key = KeyEncryptionKey.generate()
    pdk = derive(exact_passphrase(PASSPHRASE), artefacts, Mode.COMPAT)
    service.calls.store_passphrase_derivation_artefact(session, artefacts.serialize())
    service.calls.store_key_encryption_key(session, encrypt(pdk.reveal(), key.reveal(), ad="none"))
    service.calls.store_data_encryption_key(session, encrypt(key.reveal(), b"D" * 32, ad="none"))
    return key


def test_compat_opens_accounts_of_other_ports_and_only_when_asked(peer: "Peer", connect: Connect) -> None:
    with connect(peer) as service:
        _old_account(peer, service)
        sealed = encrypt(b"D" * 32, b"old data", ad="none")
        peer.seen.clear()
        with pytest.raises(UnlockRefused):
            service.unlock("Old", PASSPHRASE)
        assert all(PASSPHRASE.encode() not in seen.body for seen in peer.seen)
        account = service.unlock("Old", PASSPHRASE, compat=True)
        assert account.open(sealed, compat=True) == b"old data"
        with pytest.raises(NoSuchKey):
            account.classification_nodes()
        with pytest.raises(Exception, match="key"):
            account.open(sealed)


def test_strict_refuses_an_unbound_account_even_if_the_login_secret_fits(peer: "Peer", connect: Connect) -> None:
    with connect(peer) as service:
        _old_account(peer, service)
        peer.person("Old").passphrase = derive_login_secret(PASSPHRASE, "Old", "http://localhost").reveal()
        with pytest.raises(UnlockRefused):
            service.unlock("Old", PASSPHRASE)


def test_a_vault_token_that_opens_nothing_is_refused_as_such(peer: "Peer", connect: Connect) -> None:
    with connect(peer) as service:
        used = service.calls.issue_vault_admission_token().token_value
        peer.tokens[used] = True
        with pytest.raises(AdmissionTokenUsed):
            service.register("Ada", PASSPHRASE, vault_admission_token=used, iterations=600_000)
        with pytest.raises(ServiceRefused) as caught:
            service.register("Ada", PASSPHRASE, vault_admission_token="sra_unknown", iterations=600_000)
        assert caught.value.code == "admission_token_invalid"
        service.register("Ada", PASSPHRASE, iterations=600_000)


def test_a_vault_account_that_exists_under_our_key_is_entered_by_login(peer: "Peer", connect: Connect) -> None:
    peer.break_at("vault.create_vault_user", "after", "lost")
    with connect(peer) as service:
        token = service.calls.issue_vault_admission_token().token_value
        with pytest.raises(ServiceUnavailable):
            service.register("Ada", PASSPHRASE, vault_admission_token=token, iterations=600_000)
        service.register("Ada", PASSPHRASE, vault_admission_token=token, iterations=600_000)
    assert peer.names.count("vault.create_vault_session") == 1
