"""Progress events: starts, ends, estimates during long work, and failures."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from strongroom import Progress, ServiceUnavailable, Strongroom
from strongroom.client.progress import STEPS
from strongroom.crypto import derivation, login_secret
from strongroom.crypto.key_stretching import pbkdf2

if TYPE_CHECKING:
    from tests.client.conftest import Peer

Connect = Callable[..., Strongroom]
PASSPHRASE = "correct horse battery staple"


def test_each_step_has_a_start_and_an_end_with_its_time(peer: "Peer", connect: Connect) -> None:
    events: list[Progress] = []
    with connect(peer, progress=events.append) as service:
        service.register("Ada", PASSPHRASE, iterations=600_000)
    steps = [event for event in events if event.kind == "step" and event.step is not None]
    assert [(event.step, event.label) for event in steps[::2]] == list(enumerate(STEPS, 1))
    assert [(event.step, event.fraction) for event in steps[1::2]] == [(number, 1.0) for number in range(1, 12)]
    assert all(event.fraction == 0.0 and event.seconds is None for event in steps[::2])
    assert all(event.seconds is not None and event.seconds >= 0 for event in steps[1::2])
    work = {event.label: event.step for event in events if event.kind == "work"}
    assert work["Derive the login secret"] is None
    assert work["Derive the password derived key"] == 4
    assert work["Generate the keypair"] == 7


def test_a_step_that_fails_has_no_end(peer: "Peer", connect: Connect) -> None:
    events: list[Progress] = []
    peer.break_at("keystore.store_key_encryption_key", "before", "lost")
    with connect(peer) as service, pytest.raises(ServiceUnavailable):
        service.register("Ada", PASSPHRASE, iterations=600_000, progress=events.append)
    assert [event.fraction for event in events if event.step == 5] == [0.0]


def test_the_second_derivation_is_estimated_from_the_first(
    settled: "Peer", connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:

    def slow(passphrase: bytes, salt: bytes, iterations: int) -> bytes:
        time.sleep(0.5)
        return pbkdf2(passphrase, salt, iterations)

    monkeypatch.setattr(derivation, "pbkdf2", slow)
    monkeypatch.setattr(login_secret, "pbkdf2", slow)
    events: list[Progress] = []
    with connect(settled) as service:
        service.unlock("Ada", PASSPHRASE, progress=events.append)
    first = [event for event in events if event.label == "Derive the login secret"][1:-1]
    second = [event for event in events if event.label == "Derive the password derived key"][1:-1]
    assert first
    assert {event.fraction for event in first} == {None}
    fractions = [event.fraction for event in second]
    assert fractions
    assert all(fraction is not None and 0 < fraction < 1 for fraction in fractions)
    assert fractions == sorted(fractions, key=lambda fraction: fraction or 0)


def test_an_error_in_the_callback_reaches_the_caller(settled: "Peer", connect: Connect) -> None:
    def fail(event: Progress) -> None:
        raise LookupError("in the callback")

    with connect(settled, progress=fail) as service, pytest.raises(LookupError):
        service.unlock("Ada", PASSPHRASE)
