"""What a number depends on besides our code: recorded with every run."""

import importlib.metadata
import os
import platform
import sqlite3
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"

_PACKAGES = ("argon2-cffi", "cryptography", "httptools", "msgspec", "psycopg", "uvicorn", "uvloop")


def cores() -> tuple[list[int], list[int]]:
    """The cores of the servers and those of load and database, apart wherever there are two."""
    available = sorted(os.sched_getaffinity(0))
    return (available[:1], available[1:]) if len(available) > 1 else (available, available)


def describe() -> dict[str, Any]:
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "cores": len(os.sched_getaffinity(0)),
        "sqlite": sqlite3.sqlite_version,
        "packages": {name: importlib.metadata.version(name) for name in _PACKAGES},
        "commit": _git("rev-parse", "HEAD"),
        "changed_files": len(_git("status", "--porcelain", "--untracked-files=no").splitlines()),
        "flush_ms": flush_milliseconds(Path(tempfile.gettempdir())),
    }


def flush_milliseconds(folder: Path, times: int = 50) -> float:
    """The median time to write 4 KiB and have them on disk."""
    taken = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(times):
            file.write(bytes(4096))
            file.flush()
            started = time.perf_counter()
            os.fdatasync(file.fileno())
            taken.append(time.perf_counter() - started)
    return round(statistics.median(taken) * 1000, 3)


def stolen_seconds() -> float:
    """What the hypervisor took from all cores since the machine started."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()
