"""Kill the service, and PostgreSQL, in the middle of concurrent writes, again and again; then look what is left.

`python -m tests.torture --sqlite 200 --postgresql 30`: a table, the same as JSON, exit code 1 where a write was lost.
"""

import argparse
import asyncio
import json
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.torture.ledger import Reader, missing
from tests.torture.serving import ROOT, Server, check_writers, end_writers, writers
from tools.postgres_server import PostgresServer

from strongroom.backup import areas
from strongroom.backup.verifying import verify_databases
from strongroom.runtime.settings import Settings, load

WRITERS = 4
LEAST_SECONDS, MOST_SECONDS = 0.1, 0.7
RESULT = ROOT / "bench" / "results" / "torture.json"
AREAS = ("access", "keystore", "vault")


@dataclass
class Outcome:
    engine: str
    cycles: int = 0
    ended: Counter[str] = field(default_factory=Counter)
    acknowledged: Counter[str] = field(default_factory=Counter)
    lost: list[dict[str, str]] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    slowest_recovery_seconds: float = 0.0
    seconds: float = 0.0

    @property
    def sound(self) -> bool:
        return not self.lost and not self.findings

    def as_record(self) -> dict[str, Any]:
        return {
            "engine": self.engine,
            "cycles": self.cycles,
            "ended": dict(self.ended),
            "acknowledged_writes": self.acknowledged.total(),
            "acknowledged_by_kind": dict(self.acknowledged),
            "lost_writes": self.lost,
            "findings": self.findings,
            "slowest_recovery_seconds": round(self.slowest_recovery_seconds, 3),
            "seconds": round(self.seconds, 1),
        }


class Torture:
    """Cycles on one engine. Subclasses say what is killed and how it comes back."""

    ways: tuple[str, ...] = ("service killed", "service killed", "service killed", "service terminated")

    def __init__(self, engine: str, folder: Path, environment: dict[str, str], seed: int) -> None:
        self.outcome = Outcome(engine)
        self.server = Server(folder / "data", environment)
        self.folder = folder
        self.random = random.Random(f"{seed} {engine}")
        given = {name.removeprefix("STRONGROOM_").lower(): value for name, value in environment.items()}
        self.settings: Settings = load({}, {"data": str(folder / "data"), **given})

    def run(self, cycles: int) -> Outcome:
        started = time.monotonic()
        self.server.start()
        processes, paths = writers([self.server], self.folder, WRITERS)
        ledger = Reader(paths)
        try:
            for number in range(cycles):
                self.strike(self.ways[number % len(self.ways)])
                self.look(ledger.new())
                self.outcome.findings += check_writers(processes)
                self.outcome.cycles += 1
                if not self.outcome.sound:
                    break
        finally:
            end_writers(processes)
        ledger.new()
        self.outcome.acknowledged = Counter(entry["kind"] for entry in ledger.entries)
        self.look(ledger.entries)
        self.server.end(signal.SIGTERM)
        self.outcome.seconds = time.monotonic() - started
        return self.outcome

    def strike(self, way: str) -> None:
        """End something at a random moment and bring it back."""
        time.sleep(self.random.uniform(LEAST_SECONDS, MOST_SECONDS))
        self.server.end(signal.SIGTERM if way == "service terminated" else signal.SIGKILL)
        self.back(way, self.server.start)

    def back(self, way: str, *steps: Any) -> None:
        for step in steps:
            step()
        self.outcome.ended[way] += 1
        self.outcome.slowest_recovery_seconds = max(self.outcome.slowest_recovery_seconds, self.server.wait_ready())

    def look(self, entries: list[dict[str, str]]) -> None:
        """While the writers go on: everything acknowledged by now is there, and nothing is out of order."""
        lost, findings = asyncio.run(_looked(self.settings, entries))
        self.outcome.lost += lost
        self.outcome.findings += findings


class PostgresTorture(Torture):
    ways = ("service killed", "postmaster killed", "both killed")

    def __init__(self, folder: Path, postgres: PostgresServer, seed: int) -> None:
        urls = {f"STRONGROOM_{area.upper()}_DATABASE": postgres.url() for area in AREAS}
        super().__init__("postgresql", folder, urls, seed)
        self.postgres = postgres

    def strike(self, way: str) -> None:
        if way == "service killed":
            super().strike(way)
            return
        time.sleep(self.random.uniform(LEAST_SECONDS, MOST_SECONDS))
        self.postgres.stop(signal.SIGKILL)
        if way == "postmaster killed":
            # The service goes on and finds the database again by itself.
            self.back(way, self.restart_postgres)
        else:
            self.server.end(signal.SIGKILL)
            self.back(way, self.restart_postgres, self.server.start)

    def restart_postgres(self) -> None:
        """The sessions of a killed postmaster end by themselves, and only then can another one take its place."""
        for _ in range(50):
            try:
                self.postgres.start()
            except RuntimeError:
                time.sleep(0.1)
            else:
                return
        raise RuntimeError("PostgreSQL does not start again: " + self.postgres.log.read_text()[-1000:])


async def _looked(settings: Settings, entries: list[dict[str, str]]) -> tuple[list[dict[str, str]], list[str]]:
    opened = await areas.snapshots(settings)
    try:
        lost = await missing(opened, entries)
    finally:
        await areas.close(opened)
    return lost, await verify_databases(settings, lambda *_: None)


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="strongroom-torture-"))
    (folder / "data").mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(torture: Torture, cycles: int) -> Outcome:
    try:
        return torture.run(cycles)
    finally:
        torture.server.kill_if_running()


def _table(outcomes: list[Outcome]) -> None:
    print(f"{'engine':12}{'cycles':>8}{'acknowledged':>14}{'lost':>6}{'findings':>10}{'recovery s':>12}{'seconds':>9}")
    for outcome in outcomes:
        print(
            f"{outcome.engine:12}{outcome.cycles:>8}{outcome.acknowledged.total():>14}{len(outcome.lost):>6}"
            f"{len(outcome.findings):>10}{outcome.slowest_recovery_seconds:>12.2f}{outcome.seconds:>9.1f}"
        )
        print("            " + ", ".join(f"{count} x {way}" for way, count in outcome.ended.items()))
        for finding in outcome.findings:
            print("            " + finding)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sqlite", type=int, default=200, help="cycles on SQLite")
    parser.add_argument("--postgresql", type=int, default=30, help="cycles on PostgreSQL")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--result", type=Path, default=RESULT)
    given = parser.parse_args()
    outcomes = []
    if given.sqlite:
        with _folder() as folder:
            outcomes.append(_run(Torture("sqlite", folder, {}, given.seed), given.sqlite))
    if given.postgresql:
        with _folder() as folder, PostgresServer(durable=True) as postgres:
            outcomes.append(_run(PostgresTorture(folder, postgres, given.seed), given.postgresql))
    _table(outcomes)
    record = {"seed": given.seed, "engines": [outcome.as_record() for outcome in outcomes]}
    given.result.parent.mkdir(parents=True, exist_ok=True)
    given.result.write_text(json.dumps(record, indent=1) + "\n")
    return 0 if all(outcome.sound for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
