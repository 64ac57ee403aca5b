"""(d) How long it takes until something happens: the command line, and a service that listens. Memory at rest."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import processes
from bench.endpoints import verdict

TIMES = 6
LISTENING_MS = 450
VERSION_MS = 60
MEBIBYTES = 80


def run(times: int = TIMES) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        processes.sandbox_keys(data)  # the first start makes the databases: that is not what is asked here
        cases: dict[str, Callable[[], float]] = {
            "bare interpreter": lambda: _command([sys.executable, "-c", "pass"]),
            "strongroom --version": lambda: _command([str(processes.BIN / "strongroom"), "--version"]),
            "strongroom --help": lambda: _command([str(processes.BIN / "strongroom"), "--help"]),
            "listening": lambda: _listening(data),
        }
        taken: dict[str, list[float]] = {name: [] for name in cases}
        for _ in range(times):
            for name, case in cases.items():
                taken[name].append(case())
        with processes.strongroom(data) as server:
            resident = max(server.resident_mebibytes())
    bare = min(taken["bare interpreter"])
    limits = {"strongroom --version": VERSION_MS, "listening": LISTENING_MS}
    rows = [_row(name, min(ms), bare, limits.get(name)) for name, ms in taken.items()]
    return [*rows, _memory(resident)]


def _row(name: str, taken: float, bare: float, limit: int | None) -> dict[str, Any]:
    row: dict[str, Any] = {
        "question": "startup",
        "plan": name,
        "first": {"ms": round(taken, 1)},
        "over_bare_ms": round(taken - bare, 1),
    }
    if limit is not None:
        row |= {"target": limit, "verdict": verdict(taken - bare <= limit, True)}
    return row


def _memory(resident: float) -> dict[str, Any]:
    return {
        "question": "startup",
        "plan": "memory at rest, MiB",
        "first": {"mebibytes": round(resident, 1)},
        "target": MEBIBYTES,
        "verdict": verdict(resident < MEBIBYTES, True),
    }


def _command(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return (time.perf_counter() - started) * 1000


def _listening(data: Path) -> float:
    """From the start of the process to the line that says so."""
    started = time.perf_counter()
    with processes.strongroom(data, pinned=False):
        return (time.perf_counter() - started) * 1000
