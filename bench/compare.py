"""One server against another: rounds in turn, and the ratios that are left when noise is taken off."""

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from bench import load
from bench.processes import Server
from bench.requests import Plan, check, shape

ROUNDS = 7
SHORT_ROUNDS = 5
"""So that every question in its short form has its answer within five minutes."""
SECONDS = 1.0
WARM_UP_SECONDS = 0.2
_DRAIN_SECONDS = 0.1
_MOST_VOID = 2


@dataclass(slots=True)
class Side:
    """What one server did."""

    per_second: list[float] = field(default_factory=list)
    cpu_us: list[float] = field(default_factory=list)
    p50_ms: list[float] = field(default_factory=list)
    p99_ms: list[float] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        return {
            "per_second": round(max(self.per_second), 1),
            "cpu_us": round(min(self.cpu_us), 1),
            "p50_ms": round(statistics.median(self.p50_ms), 2),
            "p99_ms": round(statistics.median(self.p99_ms), 2),
            "rounds": asdict(self),
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Ratios above 1 say that the first server is the better one."""

    plan: str
    first: Side
    second: Side

    @property
    def cpu(self) -> float:
        """By the lowest CPU per request of each: noise only ever adds to it."""
        return min(self.second.cpu_us) / min(self.first.cpu_us)

    @property
    def throughput(self) -> float:
        """The median of the rounds that followed one another."""
        pairs = zip(self.first.per_second, self.second.per_second, strict=True)
        return statistics.median(first / second for first, second in pairs)

    @property
    def spread(self) -> float:
        """p99 over p50 of the first server."""
        return statistics.median(p99 / p50 for p50, p99 in zip(self.first.p50_ms, self.first.p99_ms, strict=True))

    def as_json(self) -> dict[str, Any]:
        return {
            "plan": self.plan,
            "cpu_ratio": round(self.cpu, 3),
            "throughput_ratio": round(self.throughput, 3),
            "p99_over_p50": round(self.spread, 2),
            "first": self.first.summary(),
            "second": self.second.summary(),
        }


def compare(
    plan: Plan,
    first: Server,
    second: Server,
    *,
    rounds: int = ROUNDS,
    same: bool = True,
    between: Callable[[], None] | None = None,
) -> Comparison:
    """Check the answers of both, then time them in turn, and `between` after each of both.

    `same`: both have to give the same fields.
    """
    answers = [check(plan, server.port) for server in (first, second)]
    if same and shape(answers[0]) != shape(answers[1]):
        raise RuntimeError(f"{plan.name}: the two servers do not give the same answer")
    sides = {id(server): Side() for server in (first, second)}
    for server in (first, second):
        measure(plan, server, Side(), WARM_UP_SECONDS)
    for number in range(rounds):
        # Turned round each time, so that a drift of the machine is nobody's advantage.
        for server in (first, second)[:: -1 if number % 2 else 1]:
            measure(plan, server, sides[id(server)])
        if between is not None:
            between()
    return Comparison(plan.name, sides[id(first)], sides[id(second)])


def alone(plan: Plan, server: Server, rounds: int) -> Side:
    """One server by itself, checked and timed like two."""
    check(plan, server.port)
    side = Side()
    measure(plan, server, Side(), WARM_UP_SECONDS)
    for _ in range(rounds):
        measure(plan, server, side)
    return side


def measure(plan: Plan, server: Server, side: Side, seconds: float = SECONDS) -> None:
    """One round, added to `side`. A void one is repeated, twice at most."""
    for attempt in range(_MOST_VOID + 1):
        before = server.cpu_seconds()
        try:
            done = load.run(plan, server.port, seconds)
        except load.Void:
            if attempt == _MOST_VOID:
                raise
            continue
        side.cpu_us.append((server.cpu_seconds() - before) * 1e6 / done.requests)
        side.per_second.append(done.requests / done.seconds)
        side.p50_ms.append(done.p50_ms)
        side.p99_ms.append(done.p99_ms)
        time.sleep(_DRAIN_SECONDS)  # what was under way when the load stopped is not the next round's
        return
