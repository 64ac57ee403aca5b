"""The program, run in this process or as a process of its own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
from click.testing import CliRunner, Result

PATIENCE_SECONDS = 30


class Run(Protocol):
    def __call__(self, *arguments: str, given: str | None = None, **environment: str) -> Result: ...


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the program in this process; `given` is standard input. Nothing of the outer environment gets in."""
    from strongroom.cli.root import root

    for name in [name for name in os.environ if name.startswith("STRONGROOM_")]:
        monkeypatch.delenv(name)

    def invoke(*arguments: str, given: str | None = None, **environment: str) -> Result:
        return CliRunner().invoke(root, list(arguments), input=given, env=environment, prog_name="strongroom")

    return invoke


@pytest.fixture
def data(run: Run) -> Callable[..., Any]:
    """Run a command with --json that has to succeed; what it printed."""

    def ask(*arguments: str, given: str | None = None, **environment: str) -> Any:
        result = run(*arguments, "--json", given=given, **environment)
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    return ask


@dataclass
class Serving:
    """`strongroom serve` as a process."""

    process: subprocess.Popen[bytes]
    folder: Path
    log: Path

    def line(self) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def announced(self) -> dict[str, str]:
        line = self.line()
        assert line, self.log.read_text()
        found: dict[str, str] = json.loads(line)
        return found

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_SECONDS)


@contextmanager
def serving(folder: Path, *arguments: str, **environment: str) -> Iterator[Serving]:
    log = folder.with_suffix(".log")
    with log.open("ab") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "strongroom.cli", "serve", "--data", str(folder), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={name: value for name, value in os.environ.items() if not name.startswith("STRONGROOM_")} | environment,
        )
    try:
        yield Serving(process, folder, log)
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture
def serve() -> Callable[..., Any]:
    return serving


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a client of one real service that all tests here share; `data` is its folder."""
    folder = tmp_path_factory.mktemp("sandbox") / "data"
    with serving(folder, "--sandbox", "--json", "--port", "0") as service:
        keys = service.announced()
        yield {
            "STRONGROOM_URL": keys["base_url"],
            "STRONGROOM_SUBSCRIPTION_KEY": keys["subscription_key"],
            "STRONGROOM_PROVIDER_API_KEY": keys["provider_api_key"],
            "STRONGROOM_DATA": str(folder),
        }
