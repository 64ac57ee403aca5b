"""A standby takes over under load, and nothing acknowledged is lost."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_a_promoted_standby_has_every_acknowledged_write_and_the_services_find_it(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    command = [sys.executable, "-m", "tests.torture.failover", "--result", str(result)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(result.read_text())
    assert found["lost_writes"] == found["findings"] == []
    assert found["services_that_ended"] == 0
    assert found["acknowledged_before"] > 0
    assert found["acknowledged_after"] > 0
    for answer in found["not_ready_answers"]:
        assert answer["status"] == 503
        assert int(answer["retry_after"]) > 0
