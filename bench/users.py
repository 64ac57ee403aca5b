"""(c) Many users against few: the same requests on a small and on a large deployment, in turn.

The target is for a million users, so the short form, with a tenth of them and few rounds, shows and does not judge. In
full each deployment is asked twice: for users whose rows are in memory, and with nothing in memory at all.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from bench import processes
from bench.compare import WARM_UP_SECONDS, Comparison, Side, measure
from bench.endpoints import verdict
from bench.engines import ENGINES, deployment
from bench.processes import Server
from bench.requests import Plan, check
from bench.seed import Seeded

FEW, MANY, FULL = 10_000, 100_000, 1_000_000
SHORT_PLANS, SHORT_ROUNDS = 2, 2
ACTIVE = 5_000
"""So many of them send the requests: with a handful every page that is needed would be in every cache."""
SLOWER_AT_MOST = 1.5
MEBIBYTES = 80
MEMORY_NOISE = 1.1
COLD_STARTS = 3


def run(rounds: int = SHORT_ROUNDS, *, full: bool = False) -> list[dict[str, Any]]:
    rows = []
    for engine in ENGINES:
        with ExitStack() as stack:
            sizes = (FEW, FULL if full else MANY)
            seeded = [stack.enter_context(deployment(engine, size, keypairs=full)) for size in sizes]
            rows += compare_sizes(engine, seeded, rounds, full=full)
            if full:
                rows += compare_cold(engine, seeded)
    return rows


def compare_sizes(engine: str, seeded: Sequence[Seeded], rounds: int, *, full: bool = True) -> list[dict[str, Any]]:
    """Two deployments, the smaller one first, each with the pages its users need in memory."""
    rows = []
    with ExitStack() as stack:
        servers = _servers(stack, seeded)
        for few, many in list(zip(*map(_plans, seeded), strict=True))[: None if full else SHORT_PLANS]:
            for plan, server in zip((few, many), servers, strict=True):
                check(plan, server.port)
                measure(plan, server, Side(), WARM_UP_SECONDS)
            rows.append(_row(engine, "", _in_turn((few, many), servers, rounds), seeded, judged=full))
        rows.append(_memory(engine, [max(server.resident_mebibytes()) for server in servers]))
    return rows


def compare_cold(engine: str, seeded: Sequence[Seeded]) -> list[dict[str, Any]]:
    """The first second after a start with nothing in memory: what comes from disk has to be read from it.

    That is a question to the disk and not to the service, so no target goes with it.
    """
    rows = []
    for number in range(len(_plans(seeded[0]))):
        sides = [Side(), Side()]
        for _ in range(COLD_STARTS):
            for each, side in zip(seeded, sides, strict=True):
                each.cool()
                with processes.strongroom(each.folder, each.database) as server:
                    measure(_plans(each)[number], server, side)
        plan = _plans(seeded[0])[number].name
        rows.append(_row(engine, ", cold", Comparison(plan, sides[1], sides[0]), seeded, judged=False))
    return rows


def _servers(stack: ExitStack, seeded: Sequence[Seeded]) -> list[Server]:
    return [stack.enter_context(processes.strongroom(each.folder, each.database)) for each in seeded]


def _plans(seeded: Seeded) -> tuple[Plan, ...]:
    return seeded.read(ACTIVE), seeded.write(ACTIVE), seeded.vault_login()


def _in_turn(plans: Sequence[Plan], servers: Sequence[Server], rounds: int) -> Comparison:
    sides = [Side(), Side()]
    for number in range(rounds):
        # Turned round each time, so that a drift of the machine is nobody's advantage.
        for plan, server, side in list(zip(plans, servers, sides, strict=True))[:: -1 if number % 2 else 1]:
            measure(plan, server, side)
    return Comparison(plans[0].name, sides[1], sides[0])


def _row(
    engine: str, addition: str, comparison: Comparison, seeded: Sequence[Seeded], *, judged: bool
) -> dict[str, Any]:
    many, few = comparison.first, comparison.second
    slower = min(many.p50_ms) / min(few.p50_ms)
    row: dict[str, Any] = {
        "question": "users",
        "engine": engine,
        **comparison.as_json(),
        "plan": f"{comparison.plan}{addition}, {seeded[1].users:,} of {seeded[0].users:,} users",
        "latency_ratio": round(slower, 3),
        "p99_ratio": round(many.summary()["p99_ms"] / few.summary()["p99_ms"], 3),
    }
    return row | {"target": SLOWER_AT_MOST, "verdict": verdict(slower <= SLOWER_AT_MOST, True)} if judged else row


def _memory(engine: str, memory: list[float]) -> dict[str, Any]:
    few, many = memory
    return {
        "question": "users",
        "engine": engine,
        "plan": "memory of a worker, MiB",
        "first": {"mebibytes": round(many, 1)},
        "second": {"mebibytes": round(few, 1)},
        "target": MEBIBYTES,
        "verdict": verdict(max(memory) < MEBIBYTES and many < few * MEMORY_NOISE, True),
    }
