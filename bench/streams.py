"""(f) Small reads while 32 connections stream 64 MiB each way, against each of both alone."""

import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

from bench import processes
from bench.compare import Side, measure
from bench.endpoints import USERS, verdict
from bench.engines import deployment
from bench.machine import ROOT, cores
from bench.processes import Server

CONNECTIONS = 32
SECONDS = 3.0
MOST_P99 = 3.0
LEAST_STREAMS = 0.5
_MEBIBYTE = 1024 * 1024


def run(rounds: int = 3) -> list[dict[str, Any]]:
    """p99 of the reads under streams is compared with their p99 alone, and the streams' bytes a second likewise."""
    alone, under = Side(), Side()
    streams_alone: list[float] = []
    streams_under: list[float] = []
    with deployment("sqlite", USERS) as seeded, processes.with_streams(seeded.folder) as server:
        plan = replace(seeded.read(), connections=CONNECTIONS)
        measure(plan, server, Side(), SECONDS)
        for _ in range(rounds):
            measure(plan, server, alone, SECONDS)
            streams_alone.append(_finished(_streams(server)))
            streaming = _streams(server)
            time.sleep(0.3)  # until all of them stream
            measure(plan, server, under, SECONDS - 1)
            streams_under.append(_finished(streaming))
        resident = server.resident_mebibytes()
    p99 = statistics.median(under.p99_ms) / statistics.median(alone.p99_ms)
    streams = statistics.median(streams_under) / statistics.median(streams_alone)
    return [
        {
            "question": "streams",
            "engine": "sqlite",
            "plan": f"reads under {CONNECTIONS} streams, p99",
            "latency_ratio": round(p99, 2),
            "first": under.summary(),
            "second": alone.summary(),
            "target": MOST_P99,
            "verdict": verdict(p99 <= MOST_P99, True),
            "resident_mib": resident,
        },
        {
            "question": "streams",
            "engine": "sqlite",
            "plan": "streams beside those reads",
            "throughput_ratio": round(streams, 2),
            "first": {"mebibytes": statistics.median(streams_under)},
            "second": {"mebibytes": statistics.median(streams_alone)},
            "target": LEAST_STREAMS,
            "verdict": verdict(streams >= LEAST_STREAMS, True),
        },
    ]


def _streams(server: Server) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "bench.streams_load", str(server.port), str(SECONDS), str(CONNECTIONS)]
    # The reads are timed where the streams are taken: that core has to have time for them first.
    process = subprocess.Popen(["nice", "-n", "19", *command], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    os.sched_setaffinity(process.pid, cores()[1])
    return process


def _finished(process: subprocess.Popen[str]) -> float:
    """MiB a second, both ways together."""
    output, _ = process.communicate()
    if process.returncode != 0:
        raise RuntimeError("the streams ended with an error")
    said = json.loads(output)
    if not (said["up"] and said["down"]):
        raise RuntimeError("nothing was streamed")
    return float((said["up"] + said["down"]) / _MEBIBYTE / SECONDS)
