"""A disk that flushes slowly, where this one does not: a few lines of C before `fdatasync` that wait first.

The flush itself is still done. What waits is the thread that asked for it, as it would for a slow disk.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.machine import ROOT

MILLISECONDS = 2

_SOURCE = """
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

static void wait_for_the_disk(void) {
    struct timespec left = {0, %d * 1000000L};
    while (nanosleep(&left, &left) != 0);
}

int fdatasync(int file) { wait_for_the_disk(); return syscall(SYS_fdatasync, file); }
int fsync(int file) { wait_for_the_disk(); return syscall(SYS_fsync, file); }
"""


def environment(folder: Path) -> dict[str, str] | None:
    """What a process has to be started with; None where there is no C compiler, or no Linux."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        return None
    source, library = folder / "slow_flush.c", folder / "slow_flush.so"
    source.write_text(_SOURCE % MILLISECONDS)
    subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", library, source], check=True)
    return dict(os.environ) | {"LD_PRELOAD": str(library)}


def flush_milliseconds(folder: Path, slow: dict[str, str]) -> float:
    """How long a flush takes then, measured like any other."""
    code = "import pathlib, sys; from bench.machine import flush_milliseconds as f; print(f(pathlib.Path(sys.argv[1])))"
    done = subprocess.run(
        [sys.executable, "-c", code, folder], cwd=ROOT, env=slow, stdout=subprocess.PIPE, text=True, check=True
    )
    return float(done.stdout)
