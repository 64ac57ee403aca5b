"""`strongroom db`: on files and on PostgreSQL."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tools.postgres_server import PostgresServer

if TYPE_CHECKING:
    from tests.cli.conftest import Run

AREAS = ("access", "keystore", "vault")


@pytest.fixture(autouse=True)
def _areas(run: "Run", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRONGROOM_AREAS", "keystore,vault")


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as running:
        yield running


def on(server: PostgresServer) -> dict[str, str]:
    return {f"STRONGROOM_{area.upper()}_DATABASE": server.url() for area in AREAS}


def test_a_folder_without_databases_is_left_as_it_is(run: "Run", tmp_path: Path) -> None:
    for command in ("status", "migrate"):
        result = run("db", command, "--data", str(tmp_path))
        assert result.exit_code == 0
        assert [line.split()[:3] for line in result.stdout.splitlines()[1:]] == [
            [area, "sqlite", "0"] for area in AREAS
        ]
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_brought_up_to_date(run: "Run", tmp_path: Path) -> None:
    (tmp_path / "vault.sqlite").touch()
    result = run("db", "migrate", "--data", str(tmp_path), "--json")
    found = json.loads(result.stdout)
    assert found["vault"]["pending"] == []
    assert found["vault"]["applied"] != []
    assert found["access"]["applied"] == []
    assert "Nothing" in run("db", "migrate", "--data", str(tmp_path)).stderr


def test_all_areas_on_one_server(run: "Run", tmp_path: Path, server: PostgresServer) -> None:
    before = json.loads(run("db", "status", "--data", str(tmp_path), "--json", **on(server)).stdout)
    assert {area: state["applied"] for area, state in before.items()} == {area: [] for area in AREAS}
    result = run("db", "migrate", "--data", str(tmp_path), "--json", **on(server))
    assert result.exit_code == 0
    after = json.loads(result.stdout)
    assert {area: (state["engine"], state["pending"]) for area, state in after.items()} == dict.fromkeys(
        AREAS, ("postgresql", [])
    )
    assert json.loads(run("db", "status", "--data", str(tmp_path), "--json", **on(server)).stdout) == after
    assert list(tmp_path.iterdir()) == []


def test_one_area_alone(run: "Run", tmp_path: Path) -> None:
    settings = {"STRONGROOM_AREAS": "vault", "STRONGROOM_OTHER_AREA_URL": "http://127.0.0.1:1"}
    assert list(json.loads(run("db", "status", "--data", str(tmp_path), "--json", **settings).stdout)) == [
        "access",
        "vault",
    ]


def test_a_server_that_is_not_there_is_told_without_the_password(run: "Run", tmp_path: Path) -> None:
    url = f"postgresql://user:hunter2-hunter2@/db?host={tmp_path}"
    result = run("db", "migrate", "--data", str(tmp_path), STRONGROOM_VAULT_DATABASE=url)
    assert result.exit_code == 3
    assert "no such file" in result.stderr
    assert "hunter2" not in result.output


def test_a_newer_database_is_refused(run: "Run", tmp_path: Path) -> None:
    import sqlite3

    (tmp_path / "vault.sqlite").touch()
    run("db", "migrate", "--data", str(tmp_path))
    connection = sqlite3.connect(tmp_path / "vault.sqlite")
    connection.execute("INSERT INTO schema_migrations VALUES (9999, 'later', 'x', 0)")
    connection.commit()
    connection.close()
    for command in ("status", "migrate"):
        result = run("db", command, "--data", str(tmp_path))
        assert result.exit_code == 1
        assert "newer version" in result.stderr
