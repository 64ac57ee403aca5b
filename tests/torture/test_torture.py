"""The short form of the torture, and whether it would notice a loss at all."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def run(result: Path, *arguments: str) -> tuple[subprocess.CompletedProcess[str], dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.torture", "--result", str(result), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.exists(), done.stderr
    found: dict[str, Any] = json.loads(result.read_text())
    return done, found


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
def test_nothing_acknowledged_is_lost_when_processes_are_killed(tmp_path: Path, engine: str) -> None:
    cycles = {"--sqlite": "0", "--postgresql": "0"} | {f"--{engine}": "3"}
    done, found = run(tmp_path / "result.json", *(part for option in cycles.items() for part in option))
    assert done.returncode == 0, done.stdout + done.stderr
    (outcome,) = found["engines"]
    assert outcome["engine"] == engine
    assert outcome["cycles"] == sum(outcome["ended"].values()) == 3
    assert outcome["lost_writes"] == outcome["findings"] == []
    assert outcome["acknowledged_by_kind"]["user"] > 0
    assert engine in done.stdout


@pytest.mark.parametrize(
    ("area", "loss"),
    [
        ("keystore", "DELETE FROM admission_tokens WHERE token_hash = x'{:064x}'"),
        ("keystore", "UPDATE sessions SET revoked_at = NULL WHERE id = x'{:032x}'"),
        ("vault", "DELETE FROM sessions WHERE id = x'{:032x}'"),
    ],
)
def test_a_lost_write_is_noticed(tmp_path: Path, area: str, loss: str) -> None:
    script = """
import asyncio, json, sys
from pathlib import Path
from strongroom.app import Application
from strongroom.runtime.settings import load
from strongroom.backup import areas
from tests.torture.ledger import Reader, missing

settings = load({}, {"data": sys.argv[1]})
if len(sys.argv) == 2:
    async def make():
        application = Application(settings)
        await application.start(warm=False)
        await application.close()
    asyncio.run(make())
else:
    async def look():
        opened = await areas.snapshots(settings)
        try:
            return await missing(opened, Reader([Path(sys.argv[2])]).new())
        finally:
            await areas.close(opened)
    print(json.dumps(asyncio.run(look())))
"""

    def python(*arguments: Path) -> str:
        command = [sys.executable, "-c", script, *map(str, arguments)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    data, ledger = tmp_path / "data", tmp_path / "ledger"
    python(data)
    number, zeros = 7, "00" * 16
    with closing(sqlite3.connect(data / "keystore.sqlite")) as connection, connection:
        connection.execute(
            "INSERT INTO admission_tokens VALUES (?, x'', x'', 1, 2, 3, 'user:x')", (number.to_bytes(32, "big"),)
        )
        connection.execute("INSERT INTO sessions VALUES (x'00', ?, x'', x'', 1, 2, 3)", (number.to_bytes(16, "big"),))
    with closing(sqlite3.connect(data / "vault.sqlite")) as connection, connection:
        connection.execute("INSERT INTO sessions VALUES (x'00', ?, 1, 1, 2, 3)", (number.to_bytes(16, "big"),))
    entries = [
        {"kind": "token used", "token_hash": f"{number:064x}"},
        {"kind": "logout", "user_id": "00", "session_id": f"{number:032x}"},
        {"kind": "vault logout", "user_id": "00", "session_id": f"{number:032x}"},
    ]
    half = '{"kind": "user", "user_id": "' + zeros
    ledger.write_text("".join(json.dumps(entry) + "\n" for entry in entries) + half)
    assert json.loads(python(data, ledger)) == []
    with closing(sqlite3.connect(data / f"{area}.sqlite")) as connection, connection:
        connection.execute(loss.format(number))
    lost = json.loads(python(data, ledger))
    assert len(lost) == 1
    assert lost[0] in entries
