"""Two services on a primary with a synchronous standby: kill the primary under load, promote the standby, count.

`python -m tests.torture.failover`: a table, the same as JSON, exit code 1 where an acknowledged write was lost.
"""

import argparse
import asyncio
import json
import os
import secrets
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

from tests.torture.ledger import Reader, missing
from tests.torture.serving import ROOT, Server, check_writers, end_writers, writers
from tools.postgres_server import SUPERUSER, PostgresServer

from strongroom.backup import areas
from strongroom.backup.verifying import verify_databases
from strongroom.runtime.settings import Settings, load

AREAS = ("access", "keystore", "vault")
WRITERS = 4
RESULT = ROOT / "bench" / "results" / "failover.json"
LEAST_WRITES = 300


class Standby(PostgresServer):
    """A copy of a running primary that follows it by streaming, and answers a commit only when it has it on disk."""

    def __init__(self, primary: PostgresServer) -> None:
        super().__init__(durable=True)
        self._primary = primary

    def __enter__(self) -> Self:
        try:
            if self._owner is not None:
                os.chown(self.folder, self._owner.pw_uid, self._owner.pw_gid)
            self._binaries = self._find_binaries()
            source = ("--host", str(self._primary.folder), "--username", SUPERUSER)
            self.run("pg_basebackup", *source, "--pgdata", str(self.data), "--write-recovery-conf", "--checkpoint=fast")
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    def promote(self) -> None:
        self.run("pg_ctl", "promote", "--pgdata", str(self.data), "--wait")


def run(folder: Path) -> dict[str, Any]:
    """One failover; what was measured."""
    with ExitStack() as stack:
        primary = stack.enter_context(PostgresServer(durable=True, synchronous_standby_names="*"))
        standby = stack.enter_context(Standby(primary))
        secret = secrets.token_hex(32)
        hosts = ",".join(quote(str(server.folder), safe="") for server in (primary, standby))
        both = _environment(f"postgresql://{SUPERUSER}@/postgres?host={hosts}", secret)
        services = [_service(folder / name, both, stack) for name in ("one", "two")]
        processes, paths = writers(services, folder, WRITERS)
        stack.callback(end_writers, processes)
        ledger = Reader(paths)
        _until_written(ledger, LEAST_WRITES)
        primary.stop(signal.SIGKILL)
        killed = time.monotonic()
        refusals = [_refused(service) for service in services]
        time.sleep(0.5)  # the writers go on asking meanwhile
        before = len(ledger.entries) + len(ledger.new())
        promoted = time.monotonic()
        standby.promote()
        for service in services:
            service.wait_ready()
        back = time.monotonic()
        _until_written(ledger, before + LEAST_WRITES)
        wrong = check_writers(processes)
        end_writers(processes)
        ledger.new()
        restarted = [service.process is None or service.process.poll() is not None for service in services]
        on_standby = _settings(folder / "one" / "data", _environment(standby.url(), secret))
        lost, findings = asyncio.run(_looked(on_standby, ledger.entries))
        return {
            "acknowledged_before": before,
            "acknowledged_after": len(ledger.entries) - before,
            "lost_writes": lost,
            "findings": findings + wrong,
            "not_ready_answers": [{"status": status, "retry_after": after} for status, after in refusals],
            "services_that_ended": sum(restarted),
            "seconds_from_promotion_to_ready": round(back - promoted, 3),
            "seconds_without_a_primary": round(promoted - killed, 3),
        }


def _environment(url: str, secret: str) -> dict[str, str]:
    return {f"STRONGROOM_{area.upper()}_DATABASE": url for area in AREAS} | {"STRONGROOM_SECRET": secret}


def _settings(data: Path, environment: dict[str, str]) -> Settings:
    return load(environment, {"data": str(data)})


def _service(folder: Path, environment: dict[str, str], stack: ExitStack) -> Server:
    (folder / "data").mkdir(mode=0o700, parents=True)
    server = Server(folder / "data", environment)
    server.start()
    stack.callback(server.kill_if_running)
    server.wait_ready()
    return server


def _refused(service: Server) -> tuple[int, str | None]:
    """What `/readyz` answers once the primary is gone."""
    service.wait_ready(wanted=False)
    return service.ready()


def _until_written(ledger: Reader, count: int) -> None:
    until = time.monotonic() + 30
    while len(ledger.entries) < count:
        if time.monotonic() > until:
            raise RuntimeError(f"only {len(ledger.entries)} writes were acknowledged in 30 s")
        time.sleep(0.05)
        ledger.new()


async def _looked(settings: Settings, entries: list[dict[str, str]]) -> tuple[list[dict[str, str]], list[str]]:
    opened = await areas.snapshots(settings)
    try:
        lost = await missing(opened, entries)
    finally:
        await areas.close(opened)
    return lost, await verify_databases(settings, lambda *_: None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--result", type=Path, default=RESULT)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="strongroom-failover-") as folder:
        record = run(Path(folder))
    for name, value in record.items():
        print(f"{name.replace('_', ' '):36}{value}")
    given.result.parent.mkdir(parents=True, exist_ok=True)
    given.result.write_text(json.dumps(record, indent=1) + "\n")
    return 1 if record["lost_writes"] or record["findings"] or record["services_that_ended"] else 0


if __name__ == "__main__":
    sys.exit(main())
