"""Registration interrupted at every request, before and after it took effect, and taken up again."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from strongroom import Account, ServiceUnavailable, Strongroom
from strongroom.crypto.public_keys import PublicKey

if TYPE_CHECKING:
    from tests.client.conftest import Peer

PASSPHRASE = "correct horse battery staple"
REQUESTS = [
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
    "keystore.read_passphrase_derivation_artefact",
    "keystore.read_key_encryption_key",
    "keystore.list_data_encryption_keys",
    "keystore.read_keypair_by_external_identifier",
]
Connect = Callable[..., Strongroom]


def check_whole(peer: "Peer", connect: Connect) -> None:
    """One of everything, and all that was ever posted is what is stored: no second key, none lost."""
    person = peer.person()
    assert person.artefact is not None
    assert person.key_encryption_key is not None
    assert len(person.data_encryption_keys) == 1
    assert len(person.keypairs) == 1
    assert peer.vault_accounts == {PublicKey.parse(person.keypairs[0]["public_key"]).fingerprint}
    with connect(peer) as other_device:
        account = other_device.unlock("Ada", PASSPHRASE)
        assert account.open(account.seal(b"x")) == b"x"
        assert account.classification_nodes()


def posted(peer: "Peer", name: str, field: str) -> set[str]:
    return {json.loads(seen.body)[field] for seen in peer.seen if seen.name == name}


@pytest.mark.parametrize("how", ["500", "429", "lost", "timeout"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", REQUESTS)
def test_the_same_call_again_finishes(peer: "Peer", connect: Connect, name: str, when: str, how: str) -> None:
    with connect(peer) as service:
        token = None if name == "keystore.issue_admission_token" else service.issue_admission_token()
        peer.break_at(name, when, how)
        with pytest.raises(ServiceUnavailable) as caught:
            service.register("Ada", PASSPHRASE, admission_token=token, iterations=600_000)
        assert caught.value.retry_after == (7 if how == "429" else None)
    stored = peer.people.get("ada")
    kept = None if stored is None else (stored.artefact, stored.key_encryption_key, list(stored.keypairs))
    with connect(peer) as again:
        sealed = again.register("Ada", PASSPHRASE, admission_token=token, iterations=600_000).seal(b"x")
        assert again.unlock("Ada", PASSPHRASE).open(sealed) == b"x"
    check_whole(peer, connect)
    if kept is not None:
        person = peer.person()
        for old, new in zip(kept, (person.artefact, person.key_encryption_key, person.keypairs), strict=True):
            assert old in (None, [], new)


def test_interrupted_at_every_request_one_after_the_other(peer: "Peer", connect: Connect) -> None:
    with connect(peer) as service:
        for name in REQUESTS:
            for when in ("before", "after"):
                peer.break_at(name, when, "lost")
                try:
                    service.register("Ada", PASSPHRASE, iterations=600_000)
                except ServiceUnavailable:
                    continue
        service.register("Ada", PASSPHRASE, iterations=600_000)
    check_whole(peer, connect)


def test_a_resumed_registration_wraps_under_the_stored_parameters(peer: "Peer", connect: Connect) -> None:
    peer.break_at("keystore.store_key_encryption_key", "before", "lost")
    with connect(peer) as service:
        with pytest.raises(ServiceUnavailable):
            service.register("Ada", PASSPHRASE, iterations=600_000)
        service.register("Ada", PASSPHRASE, iterations=700_000)
    assert len(posted(peer, "keystore.store_passphrase_derivation_artefact", "derivation_artefacts")) == 1
    check_whole(peer, connect)


@pytest.mark.parametrize(
    "name",
    ["keystore.store_passphrase_derivation_artefact", "keystore.store_key_encryption_key", "keystore.store_keypair"],
)
def test_what_another_device_stored_meanwhile_is_adopted(peer: "Peer", connect: Connect, name: str) -> None:
    """The other device finishes between our user's creation and this request, which is then answered with 409."""
    busy = False
    first = getattr(peer, name.replace(".", "_"))

    def other_first(body: object, request: object) -> object:
        nonlocal busy
        if not busy:
            busy = True
            with connect(peer) as other:
                other.register("Ada", PASSPHRASE, iterations=700_000)
        return first(body, request)

    setattr(peer, name.replace(".", "_"), other_first)
    with connect(peer) as service:
        account = service.register("Ada", PASSPHRASE, iterations=600_000)
        sealed = account.seal(b"x")
        assert service.unlock("Ada", PASSPHRASE).open(sealed) == b"x"
        elsewhere = service.unlock("Ada", PASSPHRASE)
        assert account.open(elsewhere.seal(b"x")) == b"x"
    assert len(peer.person().keypairs) == 1


def test_a_key_that_another_device_added_during_registration_is_adopted(peer: "Peer", connect: Connect) -> None:
    """Two devices may both make a key for `data`; each then opens what the other sealed."""
    first = peer.keystore_store_data_encryption_key
    others: list[Account] = []

    def other_first(body: Any, request: Any) -> Any:
        if not others:
            others.append(None)  # type: ignore[arg-type]  # only marks that the other device is at it
            with connect(peer) as other:
                others[0] = other.register("Ada", PASSPHRASE, iterations=600_000)
        return first(body, request)

    peer.keystore_store_data_encryption_key = other_first  # type: ignore[method-assign]  # the race is staged here
    with connect(peer) as service:
        account = service.register("Ada", PASSPHRASE, iterations=600_000)
    assert len(peer.person().data_encryption_keys) == 2
    assert account.open(others[0].seal(b"x")) == b"x"
    with connect(peer) as service:
        assert service.unlock("Ada", PASSPHRASE).open(account.seal(b"y")) == b"y"
