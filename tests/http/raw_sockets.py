"""Servers as processes, and callers that write bytes: nothing here knows how the server is made.

`STRONGROOM_TEST_SERVER` and `STRONGROOM_TEST_APPLICATION` name other commands to start, so that the same tests judge
another server. Each gets the same options and prints the same line when it listens.
"""

import contextlib
import json
import re
import shlex
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.http.conftest import APPLICATION, SERVICE

ROOT = Path(__file__).parents[2]
PATIENCE_SECONDS = 10.0

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
LAST_HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


@dataclass
class Server:
    process: subprocess.Popen[str]
    port: int
    log: Path

    def memory(self) -> int:
        """In bytes, what the process holds now."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))

    def cpu_seconds(self) -> float:
        return time.clock_gettime((~self.process.pid << 3) | 2)


@contextmanager
def service(folder: Path, **settings: object) -> Iterator[Server]:
    """The service as an operator starts it."""
    options = {"data": folder / "data", "port": 0, "areas": "keystore", "access_log": "off", **settings}
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    with _started([*shlex.split(SERVICE), "--json", *flags], folder) as (process, line):
        yield Server(process, int(json.loads(line)["base_url"].rpartition(":")[2]), folder / "log")


@contextmanager
def application(folder: Path, **limits: float) -> Iterator[Server]:
    """The small application."""
    command = [*shlex.split(APPLICATION), *(f"{name}={value}" for name, value in limits.items())]
    with _started(command, folder) as (process, line):
        yield Server(process, int(line), folder / "log")


@contextmanager
def _started(command: list[str], folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, (folder / "log").read_text()
        yield process, line
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def connect(server: Server, source: str = "127.0.0.1", *, wait: float = PATIENCE_SECONDS) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), wait, (source, 0))


def ask(
    server: Server, *pieces: bytes, source: str = "127.0.0.1", wait: float = PATIENCE_SECONDS, pause: float = 0.05
) -> bytes:
    """Send the pieces on a new connection; everything that comes back until the other side closes."""
    with connect(server, source, wait=wait) as caller:
        for number, piece in enumerate(pieces):
            if number:
                time.sleep(pause)
            try:
                caller.sendall(piece)
            except ConnectionError:
                break
        return b"".join(received(caller))


def received(caller: socket.socket) -> Iterator[bytes]:
    """What arrives until the other side closes; `TimeoutError` where it does not."""
    with contextlib.suppress(ConnectionError):
        while data := caller.recv(256 * 1024):
            yield data


def until(caller: socket.socket, end: bytes) -> bytes:
    """What arrives up to these bytes."""
    found = b""
    while end not in found:
        data = caller.recv(65536)
        assert data, found
        found += data
    return found


def statuses(answers: bytes) -> list[int]:
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d\d\d) ", answers)]


def code(answer: bytes) -> str:
    """The refusal code of a raw answer, which has to be a problem document."""
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head.lower(), answer[:500]
    found: str = json.loads(body)["code"]
    return found


def close_all(callers: Iterable[socket.socket]) -> None:
    for caller in callers:
        caller.close()
