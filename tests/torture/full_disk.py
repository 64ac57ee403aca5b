"""The real service on a file system that is full, and has room again.

`python -m tests.torture.full_disk sqlite|postgresql FOLDER` mounts a small file system on FOLDER, so it has to run in a
mount namespace of its own (`unshare --mount`): what it mounts is gone with it. Prints what it saw as JSON.
"""

import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.torture.serving import Server
from tools.postgres_server import PostgresServer

from strongroom.backup import areas
from strongroom.runtime.settings import load

MEBIBYTES = {"sqlite": 16, "postgresql": 160}
WRITES = 20
MOST_WRITES = 5_000
RECOVERY_SECONDS = 20.0
POSTGRES_SECONDS = 45.0
AREAS = ("access", "keystore", "vault")


def call(server: Server, method: str, path: str, **headers: str) -> tuple[int, str | None]:
    """Status and `Retry-After`."""
    request = urllib.request.Request(  # our own address
        f"http://{server.address}{path}", method=method, headers=headers, data=b"" if method == "POST" else None
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # our own address
            return answer.status, None
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Retry-After"]


def issue(server: Server) -> tuple[int, str | None]:
    """A write."""
    keys = {"Service-Subscription-Key": server.keys["subscription_key"]}
    return call(server, "POST", "/keystore/admission_tokens", **keys, Authorization=server.keys["provider_api_key"])


def fill(folder: Path) -> Path:
    """Leave no block of the file system free."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:  # as it should be: there is no room
                continue
    return ballast


def new_log_segment(postgres: PostgresServer) -> None:
    import psycopg

    with contextlib.suppress(psycopg.Error), psycopg.connect(postgres.url(), autocommit=True) as session:
        session.execute("SELECT pg_switch_wal()")


async def count(server: Server, environment: dict[str, str]) -> int:
    """Tokens in the database, asked beside the service."""
    given = {name.removeprefix("STRONGROOM_").lower(): value for name, value in environment.items()}
    opened = await areas.snapshots(load({}, {"data": str(server.folder)} | given))
    try:
        ((found,),) = await opened["keystore"].all("SELECT count(*) FROM admission_tokens")
    finally:
        await areas.close(opened)
    return int(found)


def run(engine: str, folder: Path) -> dict[str, Any]:
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={MEBIBYTES[engine]}m,mode=0755", "tmpfs", str(folder)], check=True
    )
    with ExitStack() as stack:
        postgres, environment, data = None, {}, folder / "data"
        if engine == "postgresql":
            tempfile.tempdir = str(folder)
            postgres = stack.enter_context(PostgresServer(durable=True))
            environment = {f"STRONGROOM_{area.upper()}_DATABASE": postgres.url() for area in AREAS}
            tempfile.tempdir = None
            data = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "data"
        server = Server(data, environment)
        data.mkdir(mode=0o700)
        server.start()
        stack.callback(server.kill_if_running)
        acknowledged = sum(issue(server)[0] == 201 for _ in range(WRITES))
        ballast = fill(folder)
        statuses: list[tuple[int, str | None]] = []
        while len(statuses) < MOST_WRITES and statuses[-3:].count((503, "1")) < 3:
            statuses.append(issue(server))
        refused_new_rows = server.ready()[0]
        if postgres is not None:
            # What it has of its log goes a long way: this makes it ask for more.
            new_log_segment(postgres)
            statuses += [issue(server) for _ in range(3)]
        acknowledged += sum(status == 201 for status, _ in statuses)
        seen: dict[str, Any] = {
            "writes": sorted({status for status, _ in statuses}),
            "last_writes": statuses[-3:],
            "ready": [refused_new_rows, server.ready()[0]],
            "alive": call(server, "GET", "/healthz")[0],
        }
        ballast.unlink()
        restarted = postgres is not None and _restarted(postgres)
        started = time.monotonic()
        server.wait_ready(seconds=RECOVERY_SECONDS)
        seen["recovery_seconds"] = round(time.monotonic() - started, 2)
        seen["write_afterwards"] = issue(server)[0]
        acknowledged += 1
        assert server.process is not None
        return seen | {
            "acknowledged": acknowledged,
            "found": asyncio.run(count(server, environment)),
            "postgresql_ended": restarted,
            "service_runs": server.process.poll() is None,
        }


def _restarted(postgres: PostgresServer) -> bool:
    """Whether PostgreSQL had ended and was started again; returns when it takes connections.

    It ends itself where its log has no room, what its supervisor does then is done here; or it recovers on its own,
    and then it is waited for: told to stop in the midst of that, it may take its time.
    """
    import psycopg

    ended = False
    until = time.monotonic() + POSTGRES_SECONDS
    while True:
        try:
            with psycopg.connect(postgres.url(), connect_timeout=2):
                return ended
        except psycopg.Error:
            if time.monotonic() > until:
                raise
        if not postgres.running:
            postgres.start()
            ended = True
        time.sleep(0.1)


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], Path(sys.argv[2]))))
