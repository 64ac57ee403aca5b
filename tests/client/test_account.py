"""An open account: sealing, keys, keypairs, classification nodes, logging out."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from strongroom import (
    Account,
    AccountClosed,
    ArtefactFormat,
    CryptoError,
    NoSuchKey,
    ProtocolViolation,
    SessionExpired,
    Strongroom,
)
from strongroom.crypto.names import account_tag

if TYPE_CHECKING:
    from tests.client.conftest import Peer

PASSPHRASE = "correct horse battery staple"
Connect = Callable[..., Strongroom]


@pytest.fixture
def service(settled: "Peer", connect: Connect) -> Strongroom:
    return connect(settled)


@pytest.fixture
def account(service: Strongroom) -> Account:
    return service.unlock("Ada", PASSPHRASE)


def test_data_is_bound_to_context_key_and_account(service: Strongroom, account: Account) -> None:
    account.create_data_encryption_key("notes")
    sealed = account.seal(b"x", context="letters")
    assert account.open(sealed, context="letters") == b"x"
    other = service.register("Eve", PASSPHRASE, iterations=600_000)
    attempts: list[Callable[[], object]] = [
        lambda: account.open(sealed),
        lambda: account.open(sealed, context="letters", key="notes"),
        lambda: other.open(sealed, context="letters"),
        lambda: account.open(sealed[:-8] + "AAAA" + sealed[-4:], context="letters"),
        lambda: account.open("", context="letters"),
        lambda: account.open(sealed, context="LETTERS"),
    ]
    for attempt in attempts:
        with pytest.raises(CryptoError):
            attempt()


@pytest.mark.parametrize("size", [1, 64 * 1024, 64 * 1024 + 1, 1024 * 1024])
def test_small_and_large_data(account: Account, size: int) -> None:
    assert account.open(account.seal(b"\xa5" * size)) == b"\xa5" * size


def test_both_artefact_formats_are_written_and_read(settled: "Peer", connect: Connect, account: Account) -> None:
    writer = connect(settled, artefacts=ArtefactFormat.BSON).unlock("Ada", PASSPHRASE)
    sealed = writer.seal(b"x")
    assert account.open(sealed) == b"x"
    assert sealed.split(".")[2].startswith("Q")  # version byte A
    assert account.seal(b"x").split(".")[2].startswith("LS0t")  # three dashes


def test_keys_for_further_purposes_are_made_once(settled: "Peer", connect: Connect, account: Account) -> None:
    other_device = connect(settled).unlock("Ada", PASSPHRASE)
    account.create_data_encryption_key("notes")
    account.create_data_encryption_key("notes")
    other_device.create_data_encryption_key("notes")
    assert account.data_encryption_keys == other_device.data_encryption_keys == ("data", "notes")
    assert len(settled.person().data_encryption_keys) == 2
    assert other_device.open(account.seal(b"x", key="notes"), key="notes") == b"x"
    with pytest.raises(NoSuchKey):
        account.seal(b"x", key="letters")
    with pytest.raises(CryptoError):
        account.create_data_encryption_key("Not A Purpose")


def test_keypairs_are_made_once_and_open_on_other_devices(settled: "Peer", connect: Connect, account: Account) -> None:
    with pytest.raises(NoSuchKey):
        account.keypair("sharing")
    made = account.create_keypair("sharing")
    again = connect(settled).unlock("Ada", PASSPHRASE)
    assert again.create_keypair("sharing").public_key == made.public_key
    sealed = again.keypair("sharing").public_key.encrypt(b"for Ada")
    assert made.private_key.decrypt(sealed) == b"for Ada"
    assert len(settled.person().keypairs) == 2
    assert "PRIVATE" not in repr(made)


@pytest.mark.parametrize("tag", ["a/b", "two words", "?x=1", "%2e", "ümlaut", "..a"])
def test_tags_travel_in_paths_unharmed(account: Account, tag: str) -> None:
    made = account.create_keypair(tag)
    assert account.keypair(tag).public_key == made.public_key


@pytest.mark.parametrize("tag", ["", ".", "..", "x" * 129, "\ud800"])
def test_tags_that_name_no_resource_are_refused(account: Account, tag: str) -> None:
    with pytest.raises(CryptoError):
        account.keypair(tag)
    with pytest.raises(CryptoError):
        account.create_keypair(tag)


def test_the_vault_session_is_made_when_needed_and_renewed_once(settled: "Peer", account: Account) -> None:
    assert "vault.create_vault_session" not in settled.names
    assert [node.name for node in account.classification_nodes(by_name="pet")] == ["pets"]
    account.classification_nodes(scheme_name="esafe_tags", page=1, per=5)
    assert settled.names.count("vault.create_vault_session") == 1
    assert settled.seen[-1].url.endswith("/vault/classification_nodes?page=1&per=5&scheme_name=esafe_tags")
    settled.vault_sessions.clear()
    account.classification_nodes()
    assert settled.names.count("vault.create_vault_session") == 2


def test_an_expired_key_store_session_is_a_typed_error(settled: "Peer", account: Account) -> None:
    settled.sessions.clear()
    with pytest.raises(SessionExpired):
        account.create_data_encryption_key("notes")
    assert account.open(account.seal(b"x")) == b"x"


def test_logging_out_ends_both_sessions_and_drops_the_keys(settled: "Peer", account: Account) -> None:
    account.classification_nodes()
    sealed = account.seal(b"x")
    account.log_out()
    assert settled.names[-2:] == ["vault.delete_vault_session", "keystore.delete_session"]
    for use in (
        lambda: account.seal(b"x"),
        lambda: account.open(sealed),
        lambda: account.keypair("sharing"),
        lambda: account.create_keypair("sharing"),
        lambda: account.create_data_encryption_key("notes"),
        account.classification_nodes,
        account.log_out,
    ):
        with pytest.raises(AccountClosed):
            use()


def test_logging_out_of_sessions_that_have_expired_is_no_error(settled: "Peer", account: Account) -> None:
    account.classification_nodes()
    settled.sessions.clear()
    settled.vault_sessions.clear()
    account.log_out()
    with pytest.raises(AccountClosed):
        account.seal(b"x")


def test_leaving_the_block_closes_the_account(service: Strongroom) -> None:
    with service.unlock("Ada", PASSPHRASE) as account:
        account.seal(b"x")
    with pytest.raises(AccountClosed):
        account.seal(b"x")


def test_an_altered_echo_of_a_further_key_is_reported(settled: "Peer", account: Account) -> None:
    settled.alter["keystore.store_data_encryption_key"] = lambda answer: {
        "data_encryption_key": {**answer["data_encryption_key"], "serialized_data_encryption_key": "x"}
    }
    with pytest.raises(ProtocolViolation):
        account.create_data_encryption_key("notes")
    assert account.data_encryption_keys == ("data",)


def test_nothing_secret_is_shown(service: Strongroom, account: Account) -> None:
    shown = repr(account) + repr(service) + repr(service.calls) + repr(vars(account)) + repr(vars(service))
    for secret in ("srk_subscription", "srp_provider", "srs_", PASSPHRASE):
        assert secret not in shown
    assert account.account_tag == account_tag("ada")
    assert account.realm == service.realm == "http://localhost"
