"""`python -m bench [QUESTION ...] [--full] [--rounds N]`: measure, print a table of ratios, write it as JSON.

`endpoints --engine sqlite --only write` narrows that question down to one engine and to some rows.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from bench import client, endpoints, load, machine, report, startup, streams, users, workers
from bench.compare import ROUNDS, SHORT_ROUNDS
from bench.engines import ENGINES

Rows = list[dict[str, Any]]


def _questions(
    rounds: int, full: bool, engines: Sequence[str] = ENGINES, only: str = ""
) -> dict[str, Callable[[], Rows]]:
    return {
        "endpoints": lambda: endpoints.run(rounds, engines, only),
        "workers": lambda: workers.run(ROUNDS if full else 2),
        "users": lambda: users.run(ROUNDS if full else users.SHORT_ROUNDS, full=full),
        "streams": lambda: streams.run(ROUNDS if full else 3),
        "startup": lambda: startup.run(30 if full else startup.TIMES),
        "client": lambda: client.run(full=full),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("question", nargs="*", choices=[*_questions(1, False), []], help="all of them by default")
    many = 3 * ROUNDS
    parser.add_argument("--full", action="store_true", help=f"one million users, {many} rounds")
    parser.add_argument("--rounds", type=int, help=f"rounds of a second each ({SHORT_ROUNDS}, with --full {many})")
    parser.add_argument("--engine", choices=ENGINES, help="endpoints: on this one alone")
    parser.add_argument("--only", default="", metavar="PART", help="endpoints: rows with this in their name")
    given = parser.parse_args()
    rounds = given.rounds or (many if given.full else SHORT_ROUNDS)
    engines = (given.engine,) if given.engine else ENGINES
    about = machine.describe() | {"load": load.tool(), "rounds": rounds}
    started, stolen = time.monotonic(), machine.stolen_seconds()
    rows: Rows = []
    for name, run in _questions(rounds, given.full, engines, given.only).items():
        if not given.question or name in given.question:
            begun = time.monotonic()
            rows += run()
            print(f"{name}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    about["stolen_seconds"] = round(machine.stolen_seconds() - stolen, 2)
    about["seconds"] = round(time.monotonic() - started, 1)
    print(report.table(rows))
    print(
        f"\nload: {about['load']}; flush: {about['flush_ms']} ms; stolen: {about['stolen_seconds']} s of "
        f"{about['seconds']} s; commit {about['commit'][:12]}"
        + (f" with {about['changed_files']} changed files" if about["changed_files"] else "")
    )
    print(f"written to {report.write(rows, about)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
