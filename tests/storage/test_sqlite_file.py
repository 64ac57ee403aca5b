"""A new file that several want to bring into WAL mode at once."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from strongroom.storage.sqlite import file as sqlite_file

MANY = 6


@pytest.fixture
def other(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """Another writer of a file that has no log yet: SQLite does not wait for that lock."""
    with closing(sqlite3.connect(tmp_path / "area.sqlite", isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


def test_a_file_that_is_being_changed_is_waited_for(other: sqlite3.Connection, tmp_path: Path) -> None:
    release = threading.Timer(0.2, other.execute, ["COMMIT"])
    release.start()
    try:
        with closing(sqlite_file.connect(tmp_path / "area.sqlite", checkpoints=True)) as connection:
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    finally:
        release.join()


@pytest.mark.usefixtures("other")
def test_a_file_that_stays_locked_is_not_waited_for_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_TIMEOUT_SECONDS", 0.2)
    started = time.monotonic()
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        sqlite_file.connect(tmp_path / "area.sqlite", checkpoints=True)
    assert time.monotonic() - started >= 0.2


def test_many_that_open_a_new_file_at_once_all_get_it(tmp_path: Path) -> None:
    for round_ in range(20):
        together = threading.Barrier(MANY)

        def start(path: Path = tmp_path / f"{round_}.sqlite", together: threading.Barrier = together) -> str:
            together.wait(10)
            with closing(sqlite_file.connect(path, checkpoints=True)) as connection:
                mode: str = connection.execute("PRAGMA journal_mode").fetchone()[0]
                return mode

        with ThreadPoolExecutor(MANY) as pool:
            started = [pool.submit(start) for _ in range(MANY)]
            assert [one.result() for one in started] == ["wal"] * MANY
