"""A service that lies: whatever it answers, nothing opens that should not, nothing leaks, and every error is typed."""

import contextlib
import copy
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strongroom import (
    ProtocolViolation,
    ReadBackMismatch,
    ServiceRefused,
    SessionRefused,
    Strongroom,
    StrongroomError,
    UnlockRefused,
)
from strongroom.crypto import derivation
from strongroom.crypto.encoding import encode_padded
from strongroom.crypto.grammar import vault_session_string
from strongroom.crypto.names import realm_tag
from strongroom.crypto.rsa4096 import PrivateKey

if TYPE_CHECKING:
    from tests.client.conftest import Peer

PASSPHRASE = "correct horse battery staple"
ARTEFACT = "keystore.read_passphrase_derivation_artefact"
KEK = "keystore.read_key_encryption_key"
DEKS = "keystore.list_data_encryption_keys"
KEYPAIR = "keystore.read_keypair_by_external_identifier"
Connect = Callable[..., Strongroom]


def refused(peer: "Peer", connect: Connect, kind: type[StrongroomError] = UnlockRefused) -> None:
    with connect(peer) as service, pytest.raises(kind):
        service.unlock("Ada", PASSPHRASE)


def artefacts(**changes: str) -> str:
    fields = {"salt": "!binary |-\n  WlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlo=", "iter": "600000", "length": "32"}
    fields = {**fields, "hash": "SHA256", **changes}
    return encode_padded("".join(["---\n", *(f"{name}: {value}\n" for name, value in fields.items())]).encode())


WEAK = [
    *({"iter": value} for value in ("1", "0", "-1", "599999", "true", "'600000'", "6e5", "1:0:0")),
    *({"iter": value} for value in ("2147483647", "10000001", "9" * 400)),
    *({"hash": value} for value in ("MD5", "SHA1", "__proto__", "SHA512")),
    *({"length": value} for value in ("0", "1", "16", "64", "040")),
    {"salt": "!binary |-\n  WlpaWg=="},
]


@pytest.mark.parametrize("changes", WEAK, ids=str)
def test_weak_and_endless_parameters_are_refused_before_any_work(
    settled: "Peer", connect: Connect, changes: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A3, A4, A5."""
    settled.person().artefact["derivation_artefacts"] = artefacts(**changes)  # type: ignore[index]  # Ada has one
    with connect(settled) as service:

        def never(*_: object) -> bytes:
            raise AssertionError("key derivation started")

        monkeypatch.setattr(derivation, "pbkdf2", never)
        with pytest.raises(UnlockRefused):
            service.unlock("Ada", PASSPHRASE)


@pytest.mark.parametrize("changes", WEAK, ids=str)
def test_a_resumed_registration_wraps_nothing_under_weak_parameters(
    peer: "Peer", connect: Connect, changes: dict[str, str]
) -> None:
    """A3 to A6: the service claims that such artefacts were stored before."""
    peer.break_at("keystore.store_passphrase_derivation_artefact", "after", "lost")
    with connect(peer) as service:
        with pytest.raises(StrongroomError):
            service.register("Ada", PASSPHRASE, iterations=600_000)
        peer.person().artefact["derivation_artefacts"] = artefacts(**changes)  # type: ignore[index]  # Ada has one
        with pytest.raises(UnlockRefused):
            service.register("Ada", PASSPHRASE, iterations=600_000)
    assert "keystore.store_key_encryption_key" not in peer.names


@pytest.mark.parametrize(
    ("name", "record", "field", "next_request"),
    [
        ("store_passphrase_derivation_artefact", "passphrase_derivation_artefact", "derivation_artefacts", "store_key"),
        (
            "store_passphrase_derivation_artefact",
            "passphrase_derivation_artefact",
            "verification_artefacts",
            "store_key",
        ),
        ("store_key_encryption_key", "key_encryption_key", "serialized_key_encryption_key", "store_data"),
        ("store_data_encryption_key", "data_encryption_key", "serialized_data_encryption_key", "store_keypair"),
        ("store_keypair", "keypair", "public_key", "read_external"),
        ("store_keypair", "keypair", "encrypted_serialized_key", "read_external"),
    ],
)
def test_an_altered_echo_stops_the_registration(
    peer: "Peer", connect: Connect, name: str, record: str, field: str, next_request: str
) -> None:
    """A6."""

    def alter(answer: Any) -> Any:
        return {record: {**answer[record], field: artefacts(iter="1")}}

    peer.alter[f"keystore.{name}"] = alter
    with connect(peer) as service, pytest.raises(ReadBackMismatch):
        service.register("Ada", PASSPHRASE, iterations=600_000)
    assert not any(next_request in seen for seen in peer.names)


def test_altered_verification_never_opens(settled: "Peer", connect: Connect) -> None:
    """A9: stripped, truncated, of another account, of another generation."""
    with connect(settled) as service:
        service.register("Eve", PASSPHRASE, iterations=600_000)
    artefact = settled.person().artefact
    other = settled.person("Eve").artefact
    assert artefact is not None
    assert other is not None
    good = artefact["verification_artefacts"]
    label, payload, tag = good.split(".")
    changed = ["", label, f"{label}.{payload}", f"{label}.{payload}.", f"{label}..{tag}", good[:-1], good + "A"]
    changed += [other["verification_artefacts"], f"{label}.{payload[:-4]}AAAA.{tag}", "srva2." + good[6:], "\u00e9"]
    for text in changed:
        artefact["verification_artefacts"] = text
        refused(settled, connect)


def test_records_of_another_account_do_not_open(settled: "Peer", connect: Connect) -> None:
    """The same passphrase and salt: only the binding tells the accounts apart."""
    with connect(settled) as service:
        service.register("Eve", PASSPHRASE, iterations=600_000)
    ada, eve = settled.person(), settled.person("Eve")
    for part in ("artefact", "key_encryption_key", "data_encryption_keys", "keypairs"):
        kept = getattr(ada, part)
        setattr(ada, part, getattr(eve, part))
        refused(settled, connect)
        setattr(ada, part, kept)
    ada.artefact, ada.key_encryption_key = eve.artefact, eve.key_encryption_key
    ada.data_encryption_keys, ada.keypairs = eve.data_encryption_keys, eve.keypairs
    refused(settled, connect)


def test_one_kind_of_value_does_not_stand_for_another(settled: "Peer", connect: Connect) -> None:
    person = settled.person()
    assert person.key_encryption_key is not None
    kek, dek = person.key_encryption_key, person.data_encryption_keys[0]
    pair = person.keypairs[0]
    values = [kek["serialized_key_encryption_key"], dek["serialized_data_encryption_key"]]
    values.append(pair["encrypted_serialized_key"])
    places = [(kek, "serialized_key_encryption_key"), (dek, "serialized_data_encryption_key")]
    places.append((pair, "encrypted_serialized_key"))
    for position, (record, field) in enumerate(places):
        for other, value in enumerate(values):
            if other != position:
                record[field] = value
                refused(settled, connect)
        record[field] = values[position]
    with connect(settled) as service:
        service.unlock("Ada", PASSPHRASE)


def test_a_key_listed_twice_is_refused(settled: "Peer", connect: Connect) -> None:
    settled.person().data_encryption_keys *= 2
    refused(settled, connect, ProtocolViolation)


def test_a_keypair_with_another_tag_does_not_stand_for_the_vault(settled: "Peer", connect: Connect) -> None:
    with connect(settled) as service:
        service.unlock("Ada", PASSPHRASE).create_keypair("sharing")
    vault_pair, sharing = settled.person().keypairs
    settled.person().keypairs = [sharing]
    sharing["external_identifiers"][0]["identifier"] = "vault"
    refused(settled, connect)
    sharing["external_identifiers"] = [
        {**sharing["external_identifiers"][0], "identifier": tag} for tag in ("sharing", "vault")
    ]
    refused(settled, connect, ProtocolViolation)
    settled.person().keypairs = [vault_pair]


def test_a_replaced_public_key_is_refused(settled: "Peer", connect: Connect, private_keys: list[PrivateKey]) -> None:
    """A19."""
    pair = settled.person().keypairs[0]
    own = pair["public_key"]
    for key in private_keys:
        if key.public_key.pem != own:
            pair["public_key"] = key.public_key.pem
            refused(settled, connect)
    for text in ("", own + own, own.replace("PUBLIC", "PRIVATE"), own[:-60], own.replace("A", "B", 1)):
        pair["public_key"] = text
        refused(settled, connect)
    assert "vault.create_vault_session" not in settled.names


def test_a_login_that_any_secret_passes_opens_nothing(settled: "Peer", connect: Connect) -> None:
    """A26."""
    login = settled.keystore_create_session

    def let_in(body: Any, request: Any) -> Any:
        return login({**body, "passphrase": settled.person().passphrase}, request)

    settled.keystore_create_session = let_in  # type: ignore[method-assign]  # the peer turns hostile
    with connect(settled) as service:
        with pytest.raises(UnlockRefused):
            service.unlock("Ada", "another passphrase")
        with pytest.raises(UnlockRefused):
            service.register("Ada", "another passphrase", iterations=600_000)


HOSTILE_PLAINTEXTS = [
    b"Aes256Gcm.c2VjcmV0.LS0tCml2",
    b"-----BEGIN RSA PRIVATE KEY-----",
    b"srw1_00000000000_" + b"A" * 43,
    b"K" * 32,
    b"x\r\nX-Injected: 1",
    b"\0" * 20,
    "\u00e9\u00e9\u00e9\u00e9".encode(),
    b"Z" * 470,
    vault_session_string(realm_tag("https://another.example"), b"B" * 32).encode(),
    vault_session_string(realm_tag("http://localhost"), b"B" * 32).encode()[:-1] + b"!",
]


@pytest.mark.parametrize("plaintext", HOSTILE_PLAINTEXTS, ids=range(len(HOSTILE_PLAINTEXTS)))
def test_nothing_decrypted_for_the_vault_leaves_unless_it_is_a_session_string(
    settled: "Peer", connect: Connect, plaintext: bytes
) -> None:
    """A16, A17: endpoint 11 in use, then endpoint 10 in a registration."""
    fresh = settled.fork()
    settled.vault_plaintext = plaintext
    with connect(settled) as service:
        account = service.unlock("Ada", PASSPHRASE)
        with pytest.raises(SessionRefused):
            account.classification_nodes()
        assert not any("classification" in name for name in settled.names)
    fresh.vault_plaintext = plaintext
    with connect(fresh) as service, pytest.raises(SessionRefused):
        service.register("Bob", PASSPHRASE, iterations=600_000)
    assert not any("classification" in name for name in fresh.names)
    for peer in (settled, fresh):
        for seen in peer.seen:
            assert plaintext not in seen.body + repr(seen.headers).encode() + seen.url.encode()


def test_an_account_stops_asking_for_session_strings_that_are_refused(settled: "Peer", connect: Connect) -> None:
    """A18: no endless oracle."""
    settled.vault_plaintext = b"not a session"
    with connect(settled) as service:
        account = service.unlock("Ada", PASSPHRASE)
        for _ in range(20):
            with pytest.raises(SessionRefused):
                account.classification_nodes()
    assert settled.names.count("vault.create_vault_session") == 3


@pytest.mark.parametrize("what", ["artefact", "key_encryption_key", "data_encryption_key", "keypair"])
def test_a_service_that_confirms_without_storing_is_reported_before_use(
    peer: "Peer", connect: Connect, what: str
) -> None:
    """A29."""
    peer.drop = {what}
    with connect(peer) as service, pytest.raises(ReadBackMismatch):
        service.register("Ada", PASSPHRASE, iterations=600_000)


@pytest.mark.parametrize("text", ["", "x", "a.b.c", "a b.c", "a.b\r\nX: y", "\u00e9.b", "a." + "b" * 600])
def test_session_strings_outside_their_grammar_are_refused(settled: "Peer", connect: Connect, text: str) -> None:
    settled.alter["keystore.create_session"] = lambda answer: {
        "session": {**answer["session"], "session_authentication_string": text}
    }
    refused(settled, connect, ProtocolViolation)
    assert settled.names == ["keystore.create_session"]


def as_user(name: str) -> Callable[[Any], Any]:
    return lambda answer: {"session": {**answer["session"], "username": name}}


def test_a_session_for_another_user_is_refused(settled: "Peer", connect: Connect) -> None:
    for name in ("Bob", "", "\0"):
        settled.alter["keystore.create_session"] = as_user(name)
        refused(settled, connect, ProtocolViolation)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.sampled_from(["A" * 9000, "Aes256Gcm..", "\0", "\u202e", "-----BEGIN PUBLIC KEY-----", "srva1.e30.AA"]),
    st.just([]),
    st.just({}),
)


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    if isinstance(value, dict):
        for key, item in value.items():
            found += _paths(item, (*path, key))
    elif isinstance(value, list):
        for position, item in enumerate(value):
            found += _paths(item, (*path, position))
    return found


def mutate(value: Any, data: st.DataObject) -> Any:
    """One structural change: a value replaced, removed, doubled, cut, flipped or swapped with another."""
    value = copy.deepcopy(value)
    path = data.draw(st.sampled_from(_paths(value)))
    if not path:
        return data.draw(VALUES)
    holder = value
    for step in path[:-1]:
        holder = holder[step]
    last = path[-1]
    how = data.draw(st.sampled_from(["replace", "remove", "nest", "cut", "flip", "double"]))
    old = holder[last]
    if how == "remove":
        del holder[last]
    elif how == "nest":
        holder[last] = [old]
    elif isinstance(old, str) and old and how in {"cut", "flip", "double"}:
        place = data.draw(st.integers(0, len(old) - 1))
        flipped = old[:place] + chr(ord(old[place]) ^ 1) + old[place + 1 :]
        holder[last] = {"cut": old[:place], "flip": flipped, "double": old + old}[how]
    else:
        holder[last] = data.draw(VALUES)
    return value


READ = ["keystore.create_session", ARTEFACT, KEK, DEKS, KEYPAIR, "vault.create_vault_session"]
READ += ["vault.list_classification_nodes"]
WRITTEN = ["issue_admission_token", "create_user", "store_passphrase_derivation_artefact", "store_key_encryption_key"]
WRITTEN += ["store_data_encryption_key", "store_keypair", "read_external_admission_token"]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), name=st.sampled_from(READ))
def test_a_mutated_answer_opens_the_same_account_or_none(
    settled: "Peer", connect: Connect, data: st.DataObject, name: str
) -> None:
    """A27: no exception outside the tree, and never another key."""
    peer = settled.fork()
    with connect(peer) as service:
        sealed = service.unlock("Ada", PASSPHRASE).seal(b"x")
        peer.alter[name] = lambda answer: mutate(answer, data)
        with contextlib.suppress(StrongroomError):
            account = service.unlock("Ada", PASSPHRASE)
            account.classification_nodes()
            assert account.open(sealed) == b"x"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), name=st.sampled_from([*(f"keystore.{name}" for name in WRITTEN), "vault.create_vault_user"]))
def test_a_mutated_answer_to_registration_ends_typed_and_is_taken_up_again(
    peer: "Peer", connect: Connect, data: st.DataObject, name: str
) -> None:
    fresh = peer.fork()
    with connect(fresh) as service:
        fresh.alter[name] = lambda answer: mutate(answer, data)
        with contextlib.suppress(StrongroomError):
            service.register("Ada", PASSPHRASE, iterations=600_000)
        fresh.alter.clear()
        account = service.register("Ada", PASSPHRASE, iterations=600_000)
        assert service.unlock("Ada", PASSPHRASE).open(account.seal(b"x")) == b"x"


def test_problem_documents_are_shown_as_printable_text_of_bounded_length(settled: "Peer", connect: Connect) -> None:
    body = {"type": "x", "title": "x", "status": 422, "detail": "\x1b[31m" + "A" * 10_000, "instance": "\x07" * 999}
    body |= {"code": "DROP TABLE", "errors": [{"error": "\x1b", "message": "\u202e"}] * 99}
    answer = httpx.Response(422, content=json.dumps(body), headers={"Content-Type": "application/problem+json"})
    settled.alter["system.healthz"] = lambda _: answer
    with connect(settled) as service, pytest.raises(ServiceRefused) as caught:
        service.calls.healthz()
    error = caught.value
    assert error.code == "unknown"
    assert len(str(error)) < 400
    assert str(error).isprintable()
    assert error.request_id.isprintable()
    assert len(error.errors) == 16
    assert all(fault.message.isprintable() for fault in error.errors)
