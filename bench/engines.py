"""The two engines, each with a deployment to measure on."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from bench.machine import cores
from bench.seed import Seeded, deploy
from strongroom.testing.postgres_server import PostgresServer

ENGINES = ("sqlite", "postgresql")


@contextmanager
def deployment(engine: str, users: int, *, keypairs: bool = False) -> Iterator[Seeded]:
    """Databases with so many users, durable like in production, and gone afterwards."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="strongroom-bench-")))
        database = stack.enter_context(postgres()) if engine == "postgresql" else None
        yield deploy(folder / "data", users, database, keypairs=keypairs)


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of a server with its defaults for durability, on the cores of the load."""
    import os

    settings = {"shared_buffers": "256MB", "max_wal_size": "4GB"}
    with PostgresServer(durable=True, **settings) as server:
        pid = int((server.data / "postmaster.pid").read_text().split()[0])
        os.sched_setaffinity(pid, cores()[1])  # what it starts from now on stays with it
        yield server.url()


def copied(seeded: Seeded) -> Path:
    """The folder the floor works on: a SQLite file has one writer, so it gets files of its own."""
    copy = seeded.folder.with_name("floor")
    shutil.copytree(seeded.folder, copy, dirs_exist_ok=True)
    return copy
