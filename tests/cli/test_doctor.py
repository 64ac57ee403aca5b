"""`doctor`: each check says ok where all is well, and fails where it is not."""

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from strongroom.cli.doctor.finding import Verdict, attempt
from strongroom.testing import Service


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder as the service leaves it."""
    path = tmp_path / "data"
    with Service(folder=path):
        pass
    return path


@pytest.fixture
def examine(run: Callable[..., Any]) -> Callable[..., tuple[int, dict[str, str]]]:
    """The exit code and the verdict of each check."""
    import json

    def ask(*arguments: str, **environment: str) -> tuple[int, dict[str, str]]:
        result = run("doctor", "--json", *arguments, **environment)
        return result.exit_code, {one["check"]: one["verdict"] for one in json.loads(result.stdout)}

    return ask


Examine = Callable[..., tuple[int, dict[str, str]]]


def test_a_sound_installation(examine: Examine) -> None:
    code, verdicts = examine()
    assert code == 0
    assert {name for name, verdict in verdicts.items() if verdict == "skipped"} == {"data folder", "mail", "service"}
    assert set(verdicts.values()) == {"ok", "skipped"}


def test_a_sound_folder(examine: Examine, folder: Path) -> None:
    code, verdicts = examine("--data", str(folder))
    assert code == 0
    for check in ("data folder", "server secret", "access database", "keystore database", "vault database"):
        assert verdicts[check] == "ok"
    assert "portal database" not in verdicts


def test_a_service(examine: Examine, sandbox: dict[str, str]) -> None:
    code, verdicts = examine(**sandbox)
    assert code == 0
    assert [verdicts[check] for check in ("service", "readiness", "subscription key", "data folder")] == ["ok"] * 4


def test_a_wrong_subscription_key(examine: Examine, sandbox: dict[str, str]) -> None:
    code, verdicts = examine(**sandbox | {"STRONGROOM_SUBSCRIPTION_KEY": "srk_wrong"})
    assert (code, verdicts["service"], verdicts["subscription key"]) == (1, "ok", "failed")


def test_no_service(examine: Examine) -> None:
    code, verdicts = examine("--url", "http://127.0.0.1:1")
    assert (code, verdicts["service"]) == (3, "failed")


def test_no_folder(examine: Examine, tmp_path: Path) -> None:
    code, verdicts = examine("--data", str(tmp_path / "missing"))
    assert (code, verdicts["data folder"]) == (1, "failed")


def test_open_doors(examine: Examine, folder: Path) -> None:
    folder.chmod(0o755)
    (folder / "secret").chmod(0o644)
    code, verdicts = examine("--data", str(folder))
    assert (code, verdicts["data folder"], verdicts["server secret"]) == (1, "failed", "failed")


def test_a_torn_secret(run: Callable[..., Any], folder: Path) -> None:
    (folder / "secret").write_text("abc123")
    result = run("doctor", "--data", str(folder))
    assert result.exit_code == 1
    assert "64 hexadecimal digits" in result.stdout
    assert "abc123" not in result.output


def test_a_missing_secret_is_a_warning(examine: Examine, folder: Path) -> None:
    (folder / "secret").unlink()
    code, verdicts = examine("--data", str(folder))
    assert (code, verdicts["server secret"]) == (0, "warning")


def test_a_damaged_database(examine: Examine, folder: Path) -> None:
    path = folder / "keystore.sqlite"
    content = bytearray(path.read_bytes())
    content[4096:20480] = os.urandom(16384)
    path.write_bytes(content)
    code, verdicts = examine("--data", str(folder))
    assert (code, verdicts["keystore database"], verdicts["vault database"]) == (1, "failed", "ok")


def test_a_folder_of_the_time_when_the_portal_had_a_database_is_refused(examine: Examine, folder: Path) -> None:
    (folder / "portal.sqlite").touch()
    code, verdicts = examine("--data", str(folder))
    assert (code, verdicts["portal database"]) == (1, "failed")


def test_a_database_elsewhere(run: Callable[..., Any], examine: Examine, folder: Path, tmp_path: Path) -> None:
    (folder / "vault.sqlite").rename(tmp_path / "moved.sqlite")
    given = {"STRONGROOM_VAULT_DATABASE": f"sqlite:{tmp_path / 'moved.sqlite'}"}
    assert examine("--data", str(folder), **given)[1]["vault database"] == "ok"
    unreachable = run(
        "doctor",
        "--data",
        str(folder),
        STRONGROOM_VAULT_DATABASE="postgresql://me:5ecre7@127.0.0.1:1/x?connect_timeout=2",
    )
    assert unreachable.exit_code == 1
    assert "5ecre7" not in unreachable.output


def test_a_newer_schema(examine: Examine, folder: Path) -> None:
    with sqlite3.connect(folder / "vault.sqlite") as connection:
        connection.execute("INSERT INTO schema_migrations VALUES (9999, 'later', 'x', 0)")
    connection.close()
    code, verdicts = examine("--data", str(folder))
    assert (code, verdicts["vault database"]) == (1, "failed")


def test_files_from_the_future(examine: Examine, folder: Path) -> None:
    later = time.time() + 86_400
    os.utime(folder / "secret", (later, later))
    code, verdicts = examine("--data", str(folder))
    assert (code, verdicts["file times"]) == (1, "failed")


def test_a_check_that_breaks_has_failed() -> None:
    def broken() -> str:
        raise OSError("secret words")

    finding = attempt("it", broken)
    assert finding.verdict is Verdict.failed
    assert "secret words" not in finding.says
