"""Servers to measure: started, pinned to their cores, watched and ended."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from bench.machine import ROOT, cores

BIN = Path(sys.executable).parent
PUBLIC_URL = "http://bench.localhost"
DATABASES = ("access", "keystore", "vault")


class Server:
    """One server with its worker processes."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, output: IO[bytes]) -> None:
        self._process = process
        self.port = port
        self._output = output

    def wait_until_listening(self) -> bytes:
        """The line it prints then. A server that ends instead, because its port is taken for one, is an error."""
        line = self._output.readline()
        if not line:
            raise RuntimeError(f"a server did not start: exit code {self._process.wait()}")
        return line

    def cpu_seconds(self) -> float:
        """Of all threads of all its processes since they started."""
        return sum(time.clock_gettime(_cpu_clock(pid)) for pid in self._pids())

    def resident_mebibytes(self) -> list[float]:
        """Of each process that serves: the workers where there are any."""
        pids = self._pids()
        return [_resident(pid) for pid in (pids[1:] or pids)]

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        self._process.wait(30)
        self._output.close()

    def _pids(self) -> list[int]:
        found = [self._process.pid]
        for pid in found:
            found += map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
        return found


def _cpu_clock(pid: int) -> int:
    """What `clock_getcpuclockid` of Linux's C libraries gives for another process, threads that ended included."""
    return (~pid << 3) | 2


def _resident(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS:"))


@contextmanager
def strongroom(
    folder: Path,
    database: str | None = None,
    *,
    workers: int = 1,
    pinned: bool = True,
    environment: dict[str, str] | None = None,
) -> Iterator[Server]:
    """The service as an operator starts it, access log included."""
    port = free_port()
    command = [*_serve(folder, port, database), "--hashing-workers=1", f"--workers={workers}"]
    with _running(command, port, cores()[0] if pinned else None, environment) as server:
        yield server


@contextmanager
def with_streams(folder: Path) -> Iterator[Server]:
    """The service with an application beside it that streams."""
    port = free_port()
    options = [f"--data={folder}", f"--port={port}", f"--public-url={PUBLIC_URL}", "--areas=keystore,vault"]
    with _running([sys.executable, "-m", "bench.streams_server", *options], port, cores()[0], None) as server:
        yield server


@contextmanager
def floor(
    folder: Path,
    database: str | None = None,
    *,
    shared_commits: bool = True,
    environment: dict[str, str] | None = None,
) -> Iterator[Server]:
    """The floor on the same databases; a SQLite folder has to be one of its own."""
    port = free_port()
    mode = "postgresql" if database is not None else "sqlite" if shared_commits else "unshared"
    command = [sys.executable, "-m", "bench.floor", str(port), str(folder), PUBLIC_URL, mode]
    with _running([*command, *([database] if database else [])], port, cores()[0], environment) as server:
        yield server


@contextmanager
def _running(
    command: list[str], port: int, pinned: Iterable[int] | None, environment: dict[str, str] | None
) -> Iterator[Server]:
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    if pinned is not None:
        os.sched_setaffinity(process.pid, pinned)
    assert process.stdout is not None
    server = Server(process, port, process.stdout)
    try:
        server.wait_until_listening()
        yield server
    finally:
        server.stop()


def _serve(folder: Path, port: int, database: str | None) -> list[str]:
    options = [f"--data={folder}", f"--port={port}", f"--public-url={PUBLIC_URL}", "--areas=keystore,vault"]
    if database is not None:
        options += [f"--{area}-database={database}" for area in DATABASES]
    return [str(BIN / "strongroom"), "serve", "--sandbox", "--json", *options]


def free_port() -> int:
    """Free now; a server that finds it taken when it starts ends, and the run with it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def sandbox_keys(folder: Path, database: str | None = None) -> dict[str, str]:
    """Start the service once, so that databases and sandbox are there, and end it."""
    process = subprocess.Popen(_serve(folder, 0, database), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    server = Server(process, 0, process.stdout)
    line = server.wait_until_listening()
    server.stop()
    keys: dict[str, str] = json.loads(line)
    return keys
