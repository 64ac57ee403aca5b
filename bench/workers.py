"""(b) One, two and four workers on PostgreSQL."""

from typing import Any

from bench import processes
from bench.compare import alone
from bench.engines import deployment

COUNTS = (1, 2, 4)
USERS = 2_000


def run(rounds: int = 2) -> list[dict[str, Any]]:
    rows = []
    one: dict[str, float] = {}
    with deployment("postgresql", USERS) as seeded:
        for count in COUNTS:
            # Not pinned: more workers are for more cores. Load and database take their part of the same ones.
            with processes.strongroom(seeded.folder, seeded.database, workers=count, pinned=False) as server:
                for plan in (seeded.read(), seeded.write()):
                    side = alone(plan, server, rounds)
                    best = max(side.per_second)
                    one.setdefault(plan.name, best)
                    rows.append(
                        {
                            "question": "workers",
                            "engine": "postgresql",
                            "plan": f"{plan.name}, {count} worker{'s' * (count > 1)}",
                            "throughput_ratio": round(best / one[plan.name], 3),
                            "first": side.summary(),
                            "resident_mib": [round(size, 1) for size in server.resident_mebibytes()],
                        }
                    )
    return rows
