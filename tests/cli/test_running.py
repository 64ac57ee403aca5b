"""What one service in one process, and each of several, is given."""

import pytest

from strongroom.cli.running import shared_out
from strongroom.runtime.settings import DATABASES, Settings

# PostgreSQL's `max_connections` is 100, of which three are kept for its administrators.
TAKEN_BY_DEFAULT = 97


@pytest.mark.parametrize(("workers", "each"), [(2, 8), (3, 5), (4, 4), (8, 2), (20, 2)])
def test_connections_are_shared_out_among_workers(workers: int, each: int) -> None:
    assert shared_out(Settings(), workers).database_connections == each


@pytest.mark.parametrize("workers", range(2, 9))
def test_eight_workers_leave_connections_for_others(workers: int) -> None:
    assert workers * len(DATABASES) * shared_out(Settings(), workers).database_connections <= TAKEN_BY_DEFAULT * 2 / 3


def test_cores_are_shared_out_and_everyone_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert [shared_out(Settings(), workers).hashing_workers for workers in (2, 8, 9)] == [4, 1, 1]


def test_what_is_set_counts_for_each_worker() -> None:
    given = Settings(hashing_workers=3, database_connections=7)
    assert shared_out(given, 4) == given
