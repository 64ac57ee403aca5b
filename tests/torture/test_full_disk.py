"""A file system without a free block: 503 with `Retry-After`, not ready, back by itself, nothing acknowledged lost."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.torture.serving import ROOT

UNSHARE = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not in pytest's own folder: PostgreSQL runs as nobody, who has to come in.
    with tempfile.TemporaryDirectory(prefix="strongroom-full-") as made:
        Path(made).chmod(0o755)
        try:
            probe = [*UNSHARE, "mount", "-t", "tmpfs", "tmpfs", made]
            permitted = subprocess.run(probe, capture_output=True, check=False).returncode == 0
        except FileNotFoundError:
            pytest.skip("there is no unshare(1) here to mount a small file system with")
        if not permitted:
            pytest.skip("mounting a small file system is not permitted here")
        yield Path(made)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_a_full_disk_is_503_and_needs_no_restart_once_there_is_room(engine: str, folder: Path) -> None:
    if engine == "postgresql" and os.geteuid() != 0:
        pytest.skip("without root the mounted file system belongs to a root as which PostgreSQL refuses to run")
    done = subprocess.run(
        [*UNSHARE, sys.executable, "-m", "tests.torture.full_disk", engine, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert set(seen["writes"]) <= {201, 503}
    assert seen["last_writes"] == [[503, "1"]] * 3
    assert (seen["ready"], seen["alive"]) == ([503, 503], 200)
    assert seen["write_afterwards"] == 201
    assert seen["found"] == seen["acknowledged"] > 20
    assert seen["service_runs"]
