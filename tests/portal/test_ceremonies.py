"""Passkeys against answers that no browser would send: each is refused, and none causes a 500."""

import base64
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import cbor2
import pytest
from tests.portal.authenticator import Authenticator, encode

from strongroom.portal.accounts import ceremonies
from strongroom.portal.accounts.ceremonies import PasskeyRefused, Site

SITE = Site("localhost", "http://localhost:8000")
JUNK: tuple[Any, ...] = (
    None, 0, -1, 1e308, True, "", [], {}, "A" * 70_000, [[[[]]]], {"a": 1}, "AA", "=", "....", "\x00", 2**70, "é",
)  # fmt: skip
KEYS: tuple[Any, ...] = (
    {}, [], [1], 1, None, "x", {1: 2}, {1: 3, 3: -257, -1: b"", -2: b"\1\0\1"}, {1: 2, 3: -7, -1: 99, -2: b"", -3: b""},
    {1: 2, 3: -7, -1: 1, -2: 1, -3: 1}, {1: 1, 3: -8, -1: 6, -2: b"x"},
)  # fmt: skip
STATEMENTS: tuple[Any, ...] = ({}, [], None, 1, {"alg": -7, "sig": b"x", "x5c": [b"x"]}, {"x5c": []}, {"sig": 1})
FORMATS = ("none", "packed", "tpm", "android-key", "android-safetynet", "apple", "fido-u2f", "x", 1, None)


@pytest.fixture(scope="module")
def authenticator() -> Authenticator:
    return Authenticator()


def places(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    if isinstance(value, dict):
        for name in value:
            yield from places(value[name], (*path, name))


def replaced(value: Any, path: tuple[str, ...], by: Any) -> Any:
    if not path:
        return by
    return {**value, path[0]: replaced(value[path[0]], path[1:], by)}


@pytest.fixture(scope="module")
def made(authenticator: Authenticator) -> tuple[bytes, dict[str, Any]]:
    """A challenge, and a good answer to it."""
    options = ceremonies.creation_options(SITE, b"x" * 16, "ada@example.com", "Ada", [])
    answer: dict[str, Any] = json.loads(authenticator.make(json.loads(options.json)))
    assert ceremonies.verify_new(SITE, options.challenge, json.dumps(answer)).credential_id == authenticator.id
    return options.challenge, answer


def test_junk_in_every_place_is_refused(made: tuple[bytes, dict[str, Any]]) -> None:
    challenge, answer = made
    texts = [json.dumps(replaced(answer, path, by)) for path in places(answer) for by in JUNK]
    for text in [*texts, "", "[", "nul", "[" * 5000, '{"a":' * 3000, "1" * 6000, "NaN"]:
        with suppress(PasskeyRefused):
            assert ceremonies.challenge_of(text) == challenge
        with suppress(PasskeyRefused):
            ceremonies.credential_id_of(text)
        with suppress(PasskeyRefused):
            ceremonies.verify_new(SITE, challenge, text)
        with pytest.raises(PasskeyRefused):
            ceremonies.verify(SITE, challenge, text, b"", 0)


def test_no_attestation_and_no_key_is_more_than_refused(
    made: tuple[bytes, dict[str, Any]], authenticator: Authenticator
) -> None:
    challenge, answer = made
    attestation = cbor2.loads(base64.urlsafe_b64decode(answer["response"]["attestationObject"] + "=="))
    data: bytes = attestation["authData"]
    start = data.index(authenticator.id) + len(authenticator.id)
    good = data[start:]
    asked = ceremonies.request_options(SITE, [])
    used = authenticator.use(json.loads(asked.json))
    accepted = []
    for key in (good, *map(cbor2.dumps, KEYS), b"", b"\xff" * 40):
        for kind in FORMATS:
            for statement in STATEMENTS:
                odd = {"fmt": kind, "attStmt": statement, "authData": data[:start] + key}
                text = json.dumps(replaced(answer, ("response", "attestationObject"), encode(cbor2.dumps(odd))))
                with suppress(PasskeyRefused):
                    public_key = ceremonies.verify_new(SITE, challenge, text).public_key
                    accepted.append((public_key == good, kind))
                    if public_key != good:  # a key of a kind we know, that signs nothing
                        with pytest.raises(PasskeyRefused):
                            ceremonies.verify(SITE, asked.challenge, used, public_key, 0)
    assert accepted[0] == (True, "none")
    assert {kind for _, kind in accepted} == {"none"}


def test_a_passkey_for_another_site_challenge_or_purpose_is_refused(authenticator: Authenticator) -> None:
    options = ceremonies.creation_options(SITE, b"x" * 16, "ada@example.com", "Ada", [])
    made = authenticator.make(json.loads(options.json))
    public_key = ceremonies.verify_new(SITE, options.challenge, made).public_key
    asked = ceremonies.request_options(SITE, [])
    used = authenticator.use(json.loads(asked.json))
    assert ceremonies.verify(SITE, asked.challenge, used, public_key, 0) == authenticator.count
    elsewhere = (Site("localhost", "http://localhost:9000"), Site("evil.example", "http://localhost:8000"))
    refused = [(site, asked.challenge, used) for site in elsewhere]
    for site, challenge, answer in [*refused, (SITE, options.challenge, used), (SITE, asked.challenge, made)]:
        with pytest.raises(PasskeyRefused):
            ceremonies.verify(site, challenge, answer, public_key, 0)
    with pytest.raises(PasskeyRefused):  # a count that did not go up: a copy of the key
        ceremonies.verify(SITE, asked.challenge, used, public_key, authenticator.count)
