"""The real `strongroom serve` and the processes that write to it, started and killed."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
START_SECONDS = 30.0


@dataclass
class Server:
    """A service on one port and one data folder, however often it is killed."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=lambda: free_port())
    keys: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Return when it listens."""
        command = [sys.executable, "-m", "strongroom.cli", "serve", "--sandbox", "--json"]
        command += ["--data", str(self.folder), "--port", str(self.port), "--access-log", "off"]
        with (self.folder.parent / "service.log").open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, env=os.environ | self.environment, start_new_session=True
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("the service did not start: " + (self.folder.parent / "service.log").read_text()[-2000:])
        self.keys = json.loads(line)

    def end(self, how: int) -> int:
        """Send a signal and wait; the exit code."""
        assert self.process is not None
        self.process.send_signal(how)
        code = self.process.wait(START_SECONDS)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process = None
        return code

    def kill_if_running(self) -> None:
        if self.process is not None:
            self.end(9)

    def ready(self) -> tuple[int, str | None]:
        """What `/readyz` answers, status and `Retry-After`; 0 where nobody answers."""
        try:
            with urllib.request.urlopen(f"http://{self.address}/readyz", timeout=20) as answer:
                return answer.status, None
        except urllib.error.HTTPError as error:
            return error.code, error.headers["Retry-After"]
        except OSError:
            return 0, None

    def wait_ready(self, wanted: bool = True, seconds: float = START_SECONDS) -> float:
        """How long it took until `/readyz` says so, in seconds."""
        start = time.monotonic()
        while time.monotonic() - start < seconds:
            if (self.ready()[0] == 200) is wanted:
                return time.monotonic() - start
            time.sleep(0.02)
        raise RuntimeError(f"/readyz did not become {wanted} in {seconds} s")


def writers(servers: list[Server], folder: Path, count: int) -> tuple[list[subprocess.Popen[str]], list[Path]]:
    """Start processes that write until they are ended; they share the servers out among them."""
    processes, ledgers = [], []
    for number in range(count):
        server = servers[number % len(servers)]
        ledger = folder / f"ledger-{number}"
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.torture.writer"],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        task = server.keys | {"address": server.address, "ledger": str(ledger), "number": str(number)}
        assert process.stdin is not None
        process.stdin.write(json.dumps(task) + "\n")
        process.stdin.close()
        processes.append(process)
        ledgers.append(ledger)
    return processes, ledgers


def check_writers(processes: list[subprocess.Popen[str]]) -> list[str]:
    """What made writers give up: an answer that no writer should ever get."""
    return [process.stderr.read()[-500:] for process in processes if process.poll() is not None and process.stderr]


def end_writers(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
