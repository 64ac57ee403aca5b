"""Disks that are full or read-only and databases that go away: 503 with `Retry-After`, not ready, back by itself."""

import errno
import os
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tools.postgres_server import PostgresServer

from strongroom.app import Application
from strongroom.runtime.settings import load

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
BASE_URL = "http://127.0.0.1:8000"


class Running:
    def __init__(self, application: Application, http: httpx.AsyncClient, keys: Any) -> None:
        self.application = application
        self.http = http
        self.keys = keys

    async def issue(self) -> httpx.Response:
        """A write."""
        headers = {
            "Service-Subscription-Key": self.keys.subscription_key,
            "Authorization": self.keys.provider_api_key,
        }
        return await self.http.post("/keystore/admission_tokens", headers=headers)

    async def ready(self) -> httpx.Response:
        return await self.http.get("/readyz")

    async def tokens(self) -> int:
        assert self.application.keystore is not None
        row = await self.application.keystore.store.read(lambda tx: tx.one("SELECT count(*) FROM admission_tokens"))
        assert row is not None
        count: int = row[0]
        return count


def is_unavailable(answer: httpx.Response) -> bool:
    return answer.status_code == 503 and int(answer.headers["Retry-After"]) > 0


async def run(settings: dict[str, str]) -> AsyncIterator[Running]:
    application = Application(load({}, settings | {"access_log": "off"}))
    await application.start(warm=False)
    try:
        keys = await application.ensure_sandbox()
        transport = httpx.ASGITransport(application)
        async with httpx.AsyncClient(transport=transport, base_url=BASE_URL) as http:
            yield Running(application, http, keys)
    finally:
        await application.close()


@pytest.fixture
async def on_sqlite(tmp_path: Path) -> AsyncIterator[Running]:
    async for running in run({"data": str(tmp_path / "data")}):
        yield running


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    with PostgresServer(durable=True) as server:
        yield server


@pytest.fixture
async def on_postgres(tmp_path: Path, postgres: PostgresServer) -> AsyncIterator[Running]:
    urls = {f"{area}_database": postgres.url() for area in ("access", "keystore", "vault")}
    async for running in run({"data": str(tmp_path / "data")} | urls):
        yield running


async def test_what_sqlite_says_of_a_read_only_disk_is_503_until_it_can_be_written_again(on_sqlite: Running) -> None:
    assert on_sqlite.application.keystore is not None
    writer: sqlite3.Connection = on_sqlite.application.keystore.store._writer  # type: ignore[attr-defined]  # of SQLite
    before = await on_sqlite.tokens()
    writer.execute("PRAGMA query_only = ON")
    assert is_unavailable(await on_sqlite.issue())
    assert is_unavailable(await on_sqlite.ready())
    assert await on_sqlite.tokens() == before
    writer.execute("PRAGMA query_only = OFF")
    assert (await on_sqlite.ready()).status_code == 200
    assert (await on_sqlite.issue()).status_code == 201


async def test_every_area_is_asked_whether_it_can_be_written(on_sqlite: Running) -> None:
    application = on_sqlite.application
    assert application.keystore is not None
    assert application.vault is not None
    assert application.portal is not None
    stores = (application.access, application.keystore.store, application.vault.store, application.portal.store)
    for store in stores:
        store._writer.execute("PRAGMA query_only = ON")  # type: ignore[attr-defined]  # of SQLite
        assert is_unavailable(await on_sqlite.ready())
        store._writer.execute("PRAGMA query_only = OFF")  # type: ignore[attr-defined]  # of SQLite
    assert (await on_sqlite.ready()).status_code == 200


@pytest.fixture
def full(on_sqlite: Running) -> Iterator[Callable[[], None]]:
    """Call it and no file of this process grows any more: what was written already can be written again."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def fill() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))

    yield fill
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, ignored)


async def test_a_disk_that_takes_no_more_is_503_and_recovers_without_a_restart(
    on_sqlite: Running, full: Callable[[], None], tmp_path: Path
) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    assert (await on_sqlite.issue()).status_code == 201
    before = await on_sqlite.tokens()
    full()
    try:
        with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
            (tmp_path / "probe").write_bytes(b"x" * 8192)
        for _ in range(3):
            assert is_unavailable(await on_sqlite.issue())
            assert is_unavailable(await on_sqlite.ready())
        assert await on_sqlite.tokens() == before
        assert (await on_sqlite.http.get("/healthz")).status_code == 200
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (await on_sqlite.ready()).status_code == 200
    assert (await on_sqlite.issue()).status_code == 201
    assert await on_sqlite.tokens() == before + 1


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_told_at_the_start(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir(mode=0o500)
    command = [sys.executable, "-m", "strongroom.cli", "serve", "--data", str(folder), "--port", "0"]
    options: dict[str, Any] = {}
    if os.geteuid() == 0:
        # Nothing is read-only to root; without its capabilities it is.
        options["preexec_fn"] = _without_capabilities
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, **options)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "strongroom: the data folder cannot be used: Permission denied"


def _without_capabilities() -> None:
    import ctypes

    # A later exec of a root user gives none back (SECBIT_NOROOT), and those in force are dropped for this process.
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (1, 2, 3):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@pytest.mark.slow
async def test_a_database_that_is_restarted_is_503_meanwhile_and_needs_no_restart_of_ours(
    on_postgres: Running, postgres: PostgresServer
) -> None:
    assert (await on_postgres.issue()).status_code == 201
    for how in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        before = await on_postgres.tokens()
        postgres.stop(how)
        assert is_unavailable(await on_postgres.issue())
        assert is_unavailable(await on_postgres.ready())
        _start(postgres)
        assert (await on_postgres.ready()).status_code == 200
        assert (await on_postgres.issue()).status_code == 201
        assert await on_postgres.tokens() == before + 1


def _start(postgres: PostgresServer) -> None:
    """The sessions of a killed postmaster end by themselves, and only then can another one take its place."""
    import time

    for _ in range(50):
        try:
            postgres.start()
        except RuntimeError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("PostgreSQL does not start again")
