"""The demo as a real process: all steps, the second login, the proof, and nothing secret on the screen."""

import json
import os
import re
import subprocess
import sys

import pytest

SECRET = re.compile(r"\bsr[a-z]{1,3}\d?_[0-9A-Za-z_-]{6,}")


def demo(*arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "strongroom.cli", "demo", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env=dict(os.environ) | environment,
    )


@pytest.mark.slow
def test_on_the_screen() -> None:
    # What a shell may hold of another service must not get in the way.
    done = demo(STRONGROOM_DATA="/nowhere/at/all", STRONGROOM_PORT="1", STRONGROOM_URL="http://127.0.0.1:1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    assert [int(line[:2]) for line in lines if re.match(r"[ \d]\d  [A-Z]", line)] == list(range(1, 12))
    assert "\x1b" not in done.stdout
    assert SECRET.search(done.stdout) is None
    assert re.search(r"^Done in \d+\.\d\d s\.$", done.stdout, re.MULTILINE)
    for shown in ("POST /keystore/users 201", "POST /vault/me 201", "srl1_********", "the same bytes", "refused:"):
        assert shown in done.stdout


@pytest.mark.slow
def test_as_data() -> None:
    done = demo("--json")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1
    report = json.loads(done.stdout)
    assert [step["number"] for step in report["steps"] if step["number"]] == list(range(1, 12))
    assert len(report["checks"]) == 3
    assert {row["table"] for row in report["stored"]} >= {
        "keystore.users",
        "keystore.key_encryption_keys",
        "vault.users",
    }
    assert all(row["rows"] == 1 for row in report["stored"])
    assert report["seconds"] > 0
    assert SECRET.search(done.stdout) is None


def test_a_service_that_does_not_start_is_one_line() -> None:
    done = demo("--data", "/proc/nothing/here")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("strongroom: the service did not start")
    assert "Traceback" not in done.stderr
