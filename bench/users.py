"""(c) Many users against few: the same requests on a small and on a large deployment, in turn."""

from contextlib import ExitStack
from typing import Any

from bench import processes
from bench.compare import WARM_UP_SECONDS, Comparison, Side, measure
from bench.endpoints import verdict
from bench.engines import ENGINES, deployment
from bench.requests import Plan, check
from bench.seed import Seeded

FEW, MANY, FULL = 10_000, 100_000, 1_000_000
SLOWER_AT_MOST = 1.5
MEBIBYTES = 80


def run(rounds: int = 3, *, full: bool = False) -> list[dict[str, Any]]:
    rows = []
    for engine in ENGINES:
        with ExitStack() as stack:
            sizes = (FEW, FULL if full else MANY)
            seeded = [stack.enter_context(deployment(engine, size, keypairs=full)) for size in sizes]
            servers = [stack.enter_context(processes.strongroom(s.folder, s.database)) for s in seeded]
            for few, many in zip(_plans(seeded[0]), _plans(seeded[1]), strict=True):
                sides = [Side(), Side()]
                for plan, server in zip((few, many), servers, strict=True):
                    check(plan, server.port)
                    measure(plan, server, Side(), WARM_UP_SECONDS)
                for _ in range(rounds):
                    for plan, server, side in zip((many, few), servers[::-1], sides[::-1], strict=True):
                        measure(plan, server, side)
                rows.append(_row(engine, Comparison(few.name, sides[1], sides[0]), sizes))
            memory = [max(server.resident_mebibytes()) for server in servers]
            rows.append(_memory(engine, memory))
    return rows


def _plans(seeded: Seeded) -> tuple[Plan, ...]:
    return seeded.read(), seeded.write()


def _row(engine: str, comparison: Comparison, sizes: tuple[int, int]) -> dict[str, Any]:
    slower = min(comparison.first.p50_ms) / min(comparison.second.p50_ms)
    return {
        "question": "users",
        "engine": engine,
        **comparison.as_json(),
        "plan": f"{comparison.plan}, {sizes[1]:,} of {sizes[0]:,} users",
        "latency_ratio": round(slower, 3),
        "target": SLOWER_AT_MOST,
        "verdict": verdict(slower <= SLOWER_AT_MOST, True),
    }


def _memory(engine: str, memory: list[float]) -> dict[str, Any]:
    return {
        "question": "users",
        "engine": engine,
        "plan": "memory of a worker, MiB",
        "first": {"mebibytes": round(memory[1], 1)},
        "second": {"mebibytes": round(memory[0], 1)},
        "target": MEBIBYTES,
        "verdict": verdict(max(memory) < MEBIBYTES, True),
    }
