"""The two engines, each with a deployment to measure on."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from tools.postgres_server import PostgresServer

from bench.machine import cores
from bench.seed import Seeded, deploy, synced

ENGINES = ("sqlite", "postgresql")


@contextmanager
def deployment(engine: str, users: int, *, keypairs: bool = False) -> Iterator[Seeded]:
    """Databases with so many users, durable like in production, and gone afterwards."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="strongroom-bench-"))) / "data"
        if engine == "sqlite":
            yield replace(deploy(folder, users, keypairs=keypairs), cool=lambda: _forget(folder))
        else:
            server = stack.enter_context(postgres())
            seeded = deploy(folder, users, server.url(), keypairs=keypairs)
            yield replace(seeded, cool=lambda: _restart_cold(server))


@contextmanager
def postgres() -> Iterator[PostgresServer]:
    """A server with its defaults for durability, on the cores of the load."""
    settings = {"shared_buffers": "256MB", "max_wal_size": "4GB"}
    with PostgresServer(durable=True, **settings) as server:
        _pin(server)
        yield server


def _restart_cold(server: PostgresServer) -> None:
    server.stop()
    _forget(server.data)
    server.start()
    _pin(server)


def _pin(server: PostgresServer) -> None:
    pid = int((server.data / "postmaster.pid").read_text().split()[0])
    os.sched_setaffinity(pid, cores()[1])  # what it starts from now on stays with it


def _forget(folder: Path) -> None:
    """Have the system drop what it keeps of these files in memory."""
    for file in (path for path in folder.rglob("*") if path.is_file()):
        synced(file)  # only what is on disk can be dropped
        descriptor = os.open(file, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def copied(seeded: Seeded, name: str = "floor") -> Path:
    """The folder the floor works on: a SQLite file has one writer, so it gets files of its own."""
    copy = seeded.folder.with_name(name)
    shutil.copytree(seeded.folder, copy, dirs_exist_ok=True)
    return copy
