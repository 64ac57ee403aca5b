"""Pins: a service that goes back in time is noticed on a machine that has seen the account (A20, D15)."""

import copy
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from strongroom import ConfigurationRefused, RollbackDetected, StateFileUnreadable, Strongroom, UnlockRefused
from strongroom.client.pins import Pins, PinStore

if TYPE_CHECKING:
    from tests.client.conftest import Peer

PASSPHRASE = "correct horse battery staple"
Connect = Callable[..., Strongroom]
KNOWN = Pins(
    generation=2,
    derivation_artefacts="a" * 64,
    iterations=1_000_000,
    key_encryption_key="b" * 64,
    vault_keypair="f" * 43,
    data_encryption_keys=("one", "two"),
    bound=True,
)


@pytest.mark.parametrize(
    "changes",
    [
        {"generation": 1},
        {"generation": 3, "iterations": 999_999},
        {"iterations": 999_999},
        {"derivation_artefacts": "c" * 64},
        {"key_encryption_key": "c" * 64},
        {"vault_keypair": "g" * 43},
        {"vault_keypair": None},
        {"data_encryption_keys": ("one",)},
        {"bound": False},
    ],
    ids=str,
)
def test_states_that_cannot_have_followed_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(RollbackDetected):
        KNOWN.check(msgspec.structs.replace(KNOWN, **changes))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"data_encryption_keys": ("one", "three", "two")},
        {"generation": 3, "derivation_artefacts": "c" * 64, "key_encryption_key": "d" * 64},
        {"generation": 3, "derivation_artefacts": "c" * 64, "iterations": 2_000_000},
    ],
    ids=str,
)
def test_states_that_follow_are_accepted(changes: dict[str, object]) -> None:
    seen = msgspec.structs.replace(KNOWN, **changes)
    KNOWN.check(seen)
    if seen != KNOWN:  # and it is no way back
        with pytest.raises(RollbackDetected):
            seen.check(KNOWN)


def test_the_file_is_private_and_named_without_the_username(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    store = PinStore(folder, "http://localhost", "Ada")
    assert store.load() is None
    store.advance(KNOWN)
    assert store.load() == KNOWN
    [file] = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert "ada" not in file.name.lower()
    assert PinStore(folder, "http://localhost", "ADA").load() == KNOWN
    assert PinStore(folder, "https://vault.example", "Ada").load() is None


def test_what_another_process_remembered_is_kept(tmp_path: Path) -> None:
    store = PinStore(tmp_path, "http://localhost", "Ada")
    store.advance(KNOWN)
    store.advance(msgspec.structs.replace(KNOWN, data_encryption_keys=("one", "three")))
    merged = store.load()
    assert merged is not None
    assert merged.data_encryption_keys == ("one", "three", "two")
    store.advance(msgspec.structs.replace(KNOWN, generation=1))
    assert store.load() == merged


@pytest.mark.parametrize("content", [b"", b"{", b"null", b"[]", b"\xff", b'{"generation":1}', b"[" * 5000])
def test_a_damaged_file_is_an_error_and_not_a_new_start(
    tmp_path: Path, settled: "Peer", connect: Connect, content: bytes
) -> None:
    with connect(settled, state_dir=tmp_path) as service:
        service.unlock("Ada", PASSPHRASE)
        [file] = tmp_path.iterdir()
        file.write_bytes(content)
        with pytest.raises(StateFileUnreadable):
            service.unlock("Ada", PASSPHRASE)
        with pytest.raises(StateFileUnreadable):
            service.register("Ada", PASSPHRASE, iterations=600_000)
    assert file.read_bytes() == content


def test_every_cut_of_the_file_is_noticed(tmp_path: Path) -> None:
    store = PinStore(tmp_path, "http://localhost", "Ada")
    store.advance(KNOWN)
    [file] = tmp_path.iterdir()
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        with pytest.raises(StateFileUnreadable):
            store.load()


def test_a_crash_while_writing_leaves_the_old_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = PinStore(tmp_path, "http://localhost", "Ada")
    store.advance(KNOWN)

    def crash(descriptor: int) -> None:
        raise OSError("power loss")

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(StateFileUnreadable):
        store.advance(msgspec.structs.replace(KNOWN, generation=3))
    assert store.load() == KNOWN
    assert len(list(tmp_path.iterdir())) == 1


def test_a_service_gone_back_in_time_is_noticed(tmp_path: Path, settled: "Peer", connect: Connect) -> None:
    """A20: an old DEK list, an account that is gone, another KEK under the same artefacts, a hidden part."""
    old = copy.deepcopy(settled.people)
    with connect(settled, state_dir=tmp_path) as service:
        service.unlock("Ada", PASSPHRASE).create_data_encryption_key("notes")
        service.unlock("Ada", PASSPHRASE)
        now, settled.people = settled.people, old
        with pytest.raises(RollbackDetected):
            service.unlock("Ada", PASSPHRASE)
        for part in ("artefact", "key_encryption_key", "keypairs", "data_encryption_keys"):
            settled.people = copy.deepcopy(now)
            setattr(settled.person(), part, [] if part.endswith("s") else None)
            with pytest.raises(RollbackDetected):
                service.unlock("Ada", PASSPHRASE)
            settled.seen.clear()
            with pytest.raises(RollbackDetected):
                service.register("Ada", PASSPHRASE, iterations=600_000)
            # Nothing is made anew in the place of what is hidden.
            assert not any(name.startswith("keystore.store_") for name in settled.names)
        settled.people = {}
        with pytest.raises(RollbackDetected):
            service.register("Ada", PASSPHRASE, iterations=600_000)
    settled.people = old
    with connect(settled) as elsewhere:
        elsewhere.unlock("Ada", PASSPHRASE)  # without pins a rollback cannot be noticed


def test_another_key_encryption_key_for_the_same_artefacts_is_noticed(
    tmp_path: Path, peer: "Peer", connect: Connect
) -> None:
    """The service shows the fork of another device: it verifies, but it is not what this machine has seen."""
    peer.break_at("keystore.store_key_encryption_key", "before", "lost")
    with connect(peer) as service:
        with pytest.raises(Exception, match="reached"):
            service.register("Ada", PASSPHRASE, iterations=600_000)
        fork = copy.deepcopy(peer.people)
        service.register("Ada", PASSPHRASE, iterations=600_000)
        first = peer.people
        peer.people, peer.vault_accounts = fork, set()
        service.register("Ada", PASSPHRASE, iterations=600_000)
        second = peer.people
    peer.people = first
    with connect(peer, state_dir=tmp_path) as service:
        service.unlock("Ada", PASSPHRASE)
        peer.people = second
        with pytest.raises(RollbackDetected):
            service.unlock("Ada", PASSPHRASE)


def test_a_wrong_passphrase_writes_no_state(tmp_path: Path, settled: "Peer", connect: Connect) -> None:
    with connect(settled, state_dir=tmp_path) as service, pytest.raises(UnlockRefused):
        service.unlock("Ada", "another")
    assert list(tmp_path.iterdir()) == []


def test_an_account_known_as_ours_is_not_asked_for_in_compat(tmp_path: Path, settled: "Peer", connect: Connect) -> None:
    """Compat sends the passphrase itself; with an account of this client that helps nobody but the service."""
    with connect(settled, state_dir=tmp_path) as service:
        service.unlock("Ada", PASSPHRASE)
        settled.seen.clear()
        with pytest.raises(ConfigurationRefused):
            service.unlock("Ada", PASSPHRASE, compat=True)
    assert settled.seen == []
