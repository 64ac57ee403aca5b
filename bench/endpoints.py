"""(a) Each hot endpoint on both engines against the floor."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from bench import processes, slow_flush
from bench.compare import ROUNDS, Comparison, Side, compare
from bench.engines import ENGINES, copied, deployment
from bench.hashing import hashes_per_second
from bench.machine import flush_milliseconds
from bench.processes import Server
from bench.requests import Plan
from bench.seed import Seeded

USERS = 2_000
FLOOR_TOLERANCE = 0.07
MOST_SPREAD = 5.0
SHARED_COMMITS = 8.0
SLOW_FLUSH_MS = 1.0
BARE_ARGON2 = 0.90

_SHARED_COMMITS = "write, of one commit each"
_AGAINST_ARGON2 = "key store login, of bare argon2"
_SELF_ROUNDS = 3
_TARGETS = {
    "sqlite": {"read": 1.1, "write": 0.90, "vault login": 0.90, "listing": 1.1},
    "postgresql": {"read": 1.3, "write": 1.3, "vault login": 1.0, "listing": 1.3},
}


def run(rounds: int = ROUNDS, engines: Sequence[str] = ENGINES, only: str = "") -> list[dict[str, Any]]:
    """`only`: a part of the names of the rows to measure."""
    rows = []
    for engine in engines:
        with ExitStack() as stack:
            seeded = stack.enter_context(deployment(engine, USERS))
            copy = copied(seeded)
            floor = stack.enter_context(processes.floor(copy, seeded.database))
            believable = _floor_against_itself(stack, seeded, floor, rounds)
            server = stack.enter_context(processes.strongroom(seeded.folder, seeded.database))
            for plan, target in _plans(seeded, engine):
                if only in plan.name:
                    # Bare argon2 is counted in turn with both servers: their core is not as fast at all times.
                    bare: list[float] = []
                    hashed = engine == "sqlite" and plan.name in _AGAINST_ARGON2
                    between = partial(_add_hashes, bare) if hashed else None
                    comparison = compare(plan, server, floor, rounds=rounds, between=between)
                    rows.append(_row(engine, comparison, target, believable))
                    if hashed:
                        rows.append(_login_against_argon2(comparison.first, bare))
            if engine == "sqlite" and only in _SHARED_COMMITS:
                rows.append(_shared_commits(seeded, rounds))
    return rows


def _plans(seeded: Seeded, engine: str) -> list[tuple[Plan, float]]:
    targets = _TARGETS[engine]
    return [
        (seeded.read(), targets["read"]),
        (seeded.write(), targets["write"]),
        (seeded.vault_login(), targets["vault login"]),
        (seeded.nodes(), targets["listing"]),
        (seeded.keystore_login(), BARE_ARGON2),
    ]


def _floor_against_itself(stack: ExitStack, seeded: Seeded, floor: Server, rounds: int) -> bool:
    """Whether this machine can tell two equal things to be equal just now."""
    with ExitStack() as inner:
        twin = inner.enter_context(processes.floor(copied(seeded).parent / "floor", seeded.database))
        itself = compare(seeded.read(), twin, floor, rounds=min(rounds, _SELF_ROUNDS))
    return abs(itself.cpu - 1) <= FLOOR_TOLERANCE


def _row(engine: str, comparison: Comparison, target: float, believable: bool) -> dict[str, Any]:
    reached = comparison.cpu >= target and comparison.throughput >= target
    return {
        "question": "endpoints",
        "engine": engine,
        **comparison.as_json(),
        "target": target,
        "verdict": verdict(reached, believable),
        "spread_verdict": verdict(comparison.spread < MOST_SPREAD, believable),
    }


def _shared_commits(seeded: Seeded, rounds: int) -> dict[str, Any]:
    """Concurrent writes against one commit for each: what the floor does when it shares none.

    Where the disk flushes at once there is little to share, so both are given one that does not.
    """
    with ExitStack() as stack:
        flush, slow, named = flush_milliseconds(seeded.folder), None, _SHARED_COMMITS
        if flush < SLOW_FLUSH_MS:
            slow = slow_flush.environment(seeded.folder.parent)
            if slow is not None:
                flush = slow_flush.flush_milliseconds(seeded.folder, slow)
                named = f"{_SHARED_COMMITS}, flush slowed down to {flush:.1f} ms"
        server = stack.enter_context(processes.strongroom(copied(seeded, "sharing"), environment=slow))
        unshared = stack.enter_context(
            processes.floor(copied(seeded, "unshared"), shared_commits=False, environment=slow)
        )
        comparison = compare(seeded.write(), server, unshared, rounds=rounds if flush >= SLOW_FLUSH_MS else 1)
    return {
        "question": "endpoints",
        "engine": "sqlite",
        **comparison.as_json(),
        "plan": named,
        "flush_ms": flush,
        "target": SHARED_COMMITS,
        "verdict": verdict(comparison.throughput >= SHARED_COMMITS, True)
        if flush >= SLOW_FLUSH_MS
        else "flush below 1 ms, and no C compiler to slow it down",
    }


def _add_hashes(found: list[float]) -> None:
    found.append(hashes_per_second())


def _login_against_argon2(login: Side, bare: list[float]) -> dict[str, Any]:
    """Logins a second against hashes a second, each in its best of as many rounds, on the same core."""
    ratio = max(login.per_second) / max(bare)
    return {
        "question": "endpoints",
        "engine": "sqlite",
        "plan": _AGAINST_ARGON2,
        "throughput_ratio": round(ratio, 3),
        "first": {"per_second": round(max(login.per_second), 1)},
        "second": {"per_second": round(max(bare), 1)},
        "target": BARE_ARGON2,
        "verdict": verdict(ratio >= BARE_ARGON2, True),
    }


def verdict(reached: bool, believable: bool) -> str:
    if not believable:
        return "inconclusive"
    return "reached" if reached else "missed"
