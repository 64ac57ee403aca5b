"""Bare argon2 at the cost of a login secret, in a process on the servers' cores."""

import os
import subprocess
import sys

from bench.machine import cores

_CODE = """
import time
from argon2.low_level import Type, hash_secret, verify_secret
stored = hash_secret(b"x" * 32, b"y" * 16, 2, 19 * 1024, 1, 32, Type.ID)
done, started = 0, time.perf_counter()
while time.perf_counter() - started < 0.5:
    verify_secret(stored, b"x" * 32, Type.ID)
    done += 1
print(done / (time.perf_counter() - started))
"""


def hashes_per_second() -> float:
    process = subprocess.Popen([sys.executable, "-c", _CODE], stdout=subprocess.PIPE, text=True)
    os.sched_setaffinity(process.pid, cores()[0])
    output, _ = process.communicate()
    return float(output)
