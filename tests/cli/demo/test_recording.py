"""What the demo keeps of a request: everything but the secrets."""

import json

import pytest

from strongroom import Exchange, Progress
from strongroom.cli.demo.recording import Recorder, Step, fields


def body(value: object) -> bytes:
    return json.dumps(value).encode()


def test_leaves_with_their_paths() -> None:
    assert fields(body({"a": {"b": [1, {"c": "x"}]}, "d": {}, "e": None})) == [
        ("a.b[0]", "1"),
        ("a.b[1].c", "x"),
        ("d", "{}"),
        ("e", "null"),
    ]
    assert fields(b"") == []
    assert fields(b"\xff\xfe") == [("", "(2 bytes)")]


@pytest.mark.parametrize("name", ["passphrase", "admission_token", "token_value", "session_authentication_string"])
def test_secrets_become_stars_behind_their_prefix(name: str) -> None:
    assert fields(body({name: "srl1_abcdef0123456789"})) == [(name, "srl1_********")]
    assert fields(body({name: "in clear"})) == [(name, "********")]


def test_a_token_anywhere_becomes_stars() -> None:
    ((_, shown),) = fields(body({"detail": "see sra_0123456789abcdef"}))
    assert "0123456789abcdef" not in shown


def test_requests_and_work_belong_to_their_step() -> None:
    heard: list[Step] = []
    working: list[str] = []
    recorder = Recorder(heard.append, lambda label, _: working.append(label))
    exchange = Exchange("POST", "/keystore/users", None, b'{"username": "ada"}', 201, b"{}", 0.1)
    recorder.progress(Progress(None, "Derive", 0.0, None, "work"))
    recorder.progress(Progress(None, "Derive", 1.0, 0.5, "work"))
    recorder.progress(Progress(2, "Create", 0.0, None))
    recorder.progress(Progress(2, "Generate", 1.0, 0.2, "work"))
    recorder.observe(exchange)
    recorder.progress(Progress(2, "Create", 1.0, 0.3))
    assert [(step.number, step.label, step.seconds) for step in heard] == [(None, "Derive", 0.5), (2, "Create", 0.3)]
    assert heard[1].work == [("Generate", 0.2)]
    assert [call.sent for call in heard[1].calls] == [[("username", "ada")]]
    assert working == ["Derive"]
    assert recorder.raw == [b'/keystore/users\n{"username": "ada"}']
