"""`serve` as a real process: what it prints, how it ends, and what it refuses."""

import os
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from strongroom.cli.output import ExitCode
from strongroom.cli.serve import curl, exports
from strongroom.runtime.settings import DATABASES, meanings
from strongroom.testing import Service

KEYS = ("subscription_key", "secondary_subscription_key", "inactive_subscription_key", "provider_api_key")


def one_line(*arguments: str, **environment: str) -> tuple[int, str]:
    """Exit code and the only line on standard error of a start that has to be refused."""
    done = subprocess.run(
        [sys.executable, "-m", "strongroom.cli", "serve", *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=30,
    )
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert done.stdout == ""
    return done.returncode, lines[0]


@pytest.mark.slow
def test_json_is_one_line_once_it_listens_and_sigterm_ends_it(serve: Callable[..., Any], tmp_path: Path) -> None:
    with serve(tmp_path / "data", "--sandbox", "--json", "--port", "0") as service:
        announced = service.announced()
        assert tuple(announced) == ("base_url", *KEYS)
        url = announced["base_url"]
        assert httpx.get(f"{url}/readyz").status_code == 200
        for name, status in (("subscription_key", 201), ("secondary_subscription_key", 201)):
            answer = ask(url, announced[name], announced["provider_api_key"])
            assert answer.status_code == status
        refused = ask(url, announced["inactive_subscription_key"], announced["provider_api_key"])
        assert refused.json()["code"] == "subscription_key_inactive"

        code, line = one_line("--data", str(tmp_path / "data"), "--port", "0")
        assert (code, "one writer" in line) == (ExitCode.failed, True)
        code, line = one_line("--data", str(tmp_path / "other"), "--port", url.rpartition(":")[2])
        assert (code, "Address already in use" in line) == (ExitCode.failed, True)

        assert service.stop() == 0
        assert service.line() == b""


def ask(url: str, subscription_key: str, provider_api_key: str) -> httpx.Response:
    headers = {"Service-Subscription-Key": subscription_key, "Authorization": provider_api_key}
    return httpx.post(f"{url}/keystore/admission_tokens", headers=headers)


@pytest.mark.slow
def test_image_urls_name_the_real_port(serve: Callable[..., Any], tmp_path: Path) -> None:
    with serve(tmp_path / "data", "--json", "--port", "0") as service:
        announced = service.announced()
        assert tuple(announced) == ("base_url",)
        document = httpx.get(f"{announced['base_url']}/openapi.json").json()
        assert document["servers"][0]["url"] == announced["base_url"]
        assert service.stop(signal.SIGINT) == 0


@pytest.mark.slow
def test_the_curl_line_works_when_pasted(serve: Callable[..., Any], tmp_path: Path) -> None:
    with serve(tmp_path / "data", "--sandbox", "--port", "0", STRONGROOM_ACCESS_LOG="off") as service:
        lines: list[str] = []
        while not lines or not lines[-1].startswith("API:"):
            line = service.line().decode()
            assert line, service.log.read_text()
            lines.append(line)
        pasted = next(line for line in lines if line.strip().startswith("curl "))
        # Read as a shell reads it, sent as curl sends it: not every machine has curl.
        command = shlex.split(pasted)
        headers = dict(text.split(": ", 1) for flag, text in pairwise(command) if flag == "-H")
        method, url = command[command.index("-X") + 1], next(word for word in command if word.startswith("http://"))
        answer = httpx.request(method, url, headers=headers)
        assert answer.status_code == 201
        assert answer.json()["admission_token"]["used"] is False
        assert service.stop() == 0
        assert '"event":"request"' not in service.log.read_text()


@pytest.mark.parametrize(
    ("arguments", "environment", "says"),
    [
        (("--port", "x"), {}, "port has to be a number"),
        (("--host", "0.0.0.0"), {}, "public_url is required"),
        (("--areas", "cellar"), {}, "areas has to be"),
        (("--workers", "2"), {}, "SQLite has one writer"),
        ((), {"STRONGROOM_SECRET": "5ecre7"}, "64 hexadecimal digits"),
        (("--vault-database", "postgresql://me:5ecre7@127.0.0.1/x"), {}, "STRONGROOM_VAULT_DATABASE"),
        (("--access-database", "postgresql://me:5ecre7@127.0.0.1/x"), {}, "STRONGROOM_ACCESS_DATABASE"),
        (("--access-database", "postgresql://127.0.0.1/x?password=5ecre7"), {}, "STRONGROOM_ACCESS_DATABASE"),
    ],
)
def test_a_wrong_setting_is_one_line(
    arguments: tuple[str, ...], environment: dict[str, str], says: str, tmp_path: Path
) -> None:
    code, line = one_line("--port", "0", "--data", str(tmp_path / "data"), *arguments, **environment)
    assert code == ExitCode.usage
    assert says in line
    assert "5ecre7" not in line


@pytest.mark.parametrize("sandbox", [(), ("--sandbox",)])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_database_that_is_not_there_is_told_last(workers: str, sandbox: tuple[str, ...], tmp_path: Path) -> None:
    url = f"postgresql:///strongroom?host={tmp_path}"
    databases = {f"STRONGROOM_{area.upper()}_DATABASE": url for area in DATABASES}
    arguments = ["--data", str(tmp_path / "data"), "--port", "0", "--workers", workers, *sandbox]
    done = subprocess.run(
        [sys.executable, "-m", "strongroom.cli", "serve", *arguments],
        capture_output=True,
        text=True,
        env=os.environ | databases,
        timeout=30,
    )
    last = done.stderr.splitlines()[-1]
    assert last == "strongroom: the database cannot be used: OperationalError (no such file or directory)"
    assert done.returncode == ExitCode.unavailable
    assert "Traceback" not in done.stderr


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, line = one_line("--port", "0", "--data", str(tmp_path / "file" / "data"))
    assert code == ExitCode.failed
    assert "data folder" in line


def test_a_sandbox_of_another_secret_is_one_line(tmp_path: Path) -> None:
    with Service(folder=tmp_path / "data"):
        pass
    arguments = ("--sandbox", "--port", "0", "--data", str(tmp_path / "data"))
    code, line = one_line(*arguments, STRONGROOM_SECRET="00" * 32)
    assert code == ExitCode.failed
    assert "no sandbox" in line


def test_an_address_of_somebody_else_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, line = one_line("--port", str(taken.getsockname()[1]), "--data", str(tmp_path / "data"))
    assert code == ExitCode.failed
    assert "cannot listen" in line


def test_every_setting_is_an_option_and_no_secret_is(run: Callable[..., Any]) -> None:
    text = run("serve", "--help").stdout
    for name, (meaning, _) in meanings().items():
        option = f"--{name.replace('_', '-')} "
        assert (option in text) is not meaning.secret
        if meaning.secret:
            assert f"STRONGROOM_{name.upper()}" in text


def test_what_is_printed_for_the_shell() -> None:
    keys = dict.fromkeys(KEYS, "srk_x y")
    assert "'Service-Subscription-Key: srk_x y'" in curl("http://127.0.0.1:1", keys)
    assert set(exports("http://127.0.0.1:1", keys)) == {
        "STRONGROOM_URL",
        "STRONGROOM_SUBSCRIPTION_KEY",
        "STRONGROOM_PROVIDER_API_KEY",
    }
