"""The load: wrk where it is installed, otherwise a loader of our own (`bench/loader.py`). Both in a process apart."""

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.machine import ROOT, cores
from bench.requests import Plan


class Void(Exception):
    """A round in which something else than the expected answer came counts for nothing."""


@dataclass(frozen=True, slots=True)
class Round:
    requests: int
    seconds: float
    p50_ms: float
    p99_ms: float


# wrk counts a status above 399 as an error; the number of characters is that of the mark it replaces.
_LUA = """
local parts = {{{parts}}}
local number, place = 0, 0
function request()
  place = place % #parts + 1
  local part = parts[place]
  if part[2] == "" then return part[1] end
  number = number + 1
  return part[1] .. string.format("{run}%08d", number) .. part[2]
end
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format('{{"requests":%d,"seconds":%f,"errors":%d,"p50_ms":%f,"p99_ms":%f}}\\n', summary.requests,
    summary.duration / 1e6, e.connect + e.read + e.write + e.status + e.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
end
"""


def tool() -> str:
    return "wrk" if shutil.which("wrk") else "built-in loader"


def run(plan: Plan, port: int, seconds: float) -> Round:
    """Send the plan's requests over its connections for so long; `Void` where any answer was not the right one."""
    with tempfile.TemporaryDirectory() as folder:
        parts = [request.parts() for request in plan.requests]
        # wrk knows whole seconds only; a shorter time is for warming up.
        command = _wrk if shutil.which("wrk") and seconds >= 1 else _built_in
        process = subprocess.Popen(
            command(plan, parts, port, seconds, Path(folder)), cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        os.sched_setaffinity(process.pid, cores()[1])
        output, _ = process.communicate()
    if process.returncode != 0:
        raise RuntimeError("the load ended with an error")
    said = json.loads(output.splitlines()[-1])
    if said.pop("errors") or not said["requests"]:
        raise Void(plan.name)
    return Round(**said)


def _wrk(plan: Plan, parts: list[tuple[str, str]], port: int, seconds: float, folder: Path) -> list[str]:
    script = folder / "requests.lua"
    # JSON's escapes are Lua's where the text is ASCII without control characters but line ends.
    table = ",".join(f"{{{json.dumps(before)},{json.dumps(after)}}}" for before, after in parts)
    script.write_text(_LUA.format(parts=table, run=secrets.token_hex(4)), "ascii")
    options = ["--threads=1", f"--connections={plan.connections}", f"--duration={seconds:g}s", "--timeout=20s"]
    return ["wrk", *options, f"--script={script}", f"http://127.0.0.1:{port}"]


def _built_in(plan: Plan, parts: list[tuple[str, str]], port: int, seconds: float, folder: Path) -> list[str]:
    file = folder / "plan.json"
    file.write_text(json.dumps([parts, plan.status, plan.connections, port, seconds, secrets.token_hex(4)]))
    return [sys.executable, "-m", "bench.loader", str(file)]
