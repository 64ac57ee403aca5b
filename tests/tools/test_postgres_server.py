"""Which installation of PostgreSQL the tests run on."""

import pwd
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.postgres_server import BINARIES, PostgresServer

from tools import postgres_server


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """One that is never started."""
    made = PostgresServer()
    yield made
    made.remove()


@pytest.fixture
def named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that looks like an installation's, and that the variable names."""
    for program in ("initdb", "postgres"):
        (tmp_path / program).touch()
    monkeypatch.setenv(BINARIES, str(tmp_path))
    return tmp_path


def test_without_the_variable_it_is_that_of_the_package(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(BINARIES, raising=False)
    assert server._find_binaries().parent.name == postgres_server.INSTALLATION


def test_the_variable_names_another(server: PostgresServer, named: Path) -> None:
    server._owner = None
    assert server._find_binaries() == named.resolve()


def test_a_folder_without_the_programs_is_refused(server: PostgresServer, named: Path) -> None:
    (named / "initdb").unlink()
    with pytest.raises(RuntimeError, match="a folder with initdb and postgres"):
        server._find_binaries()


def test_a_folder_that_is_closed_to_the_user_of_the_server_is_refused(server: PostgresServer, named: Path) -> None:
    server._owner = pwd.getpwnam("nobody")
    named.chmod(0o700)
    with pytest.raises(RuntimeError, match="nobody, who runs the server, may not enter"):
        server._find_binaries()
