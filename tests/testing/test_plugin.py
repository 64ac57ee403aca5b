"""The plug-in in runs of pytest of its own: free where it is not used, clear where it cannot work."""

import subprocess
import sys
from pathlib import Path

NOT_LOADED = """
import sys

def test_nothing_was_loaded(pytestconfig):
    assert pytestconfig.pluginmanager.has_plugin("strongroom")
    ours = {name for name in sys.modules if name.partition(".")[0] == "strongroom"}
    assert ours <= {"strongroom", "strongroom.testing", "strongroom.testing.plugin"}
    assert not {"httptools", "msgspec", "cryptography", "argon2"} & set(sys.modules)
"""

USED = """
def test_fresh(strongroom_service):
    assert strongroom_service.issue_admission_token().startswith("sra_")

def test_shared(strongroom_session_service):
    strongroom_session_service.marker = 1

def test_shared_again(strongroom_session_service, strongroom_service):
    assert strongroom_session_service.marker == 1
    assert strongroom_service.folder != strongroom_session_service.folder
"""

WITHOUT_SERVER = """
import sys

sys.modules["argon2"] = sys.modules["PIL"] = sys.modules["httptools"] = None

def test_it(strongroom_service):
    pass
"""


def pytest_run(folder: Path, program: str) -> "subprocess.CompletedProcess[str]":
    (folder / "test_it.py").write_text(program)
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-W", "error", "-p", "no:cacheprovider", "-q", "."],
        capture_output=True,
        text=True,
        cwd=folder,
    )


def test_it_costs_nothing_where_it_is_not_used(tmp_path: Path) -> None:
    done = pytest_run(tmp_path, NOT_LOADED)
    assert done.returncode == 0, done.stdout


def test_the_fixtures(tmp_path: Path) -> None:
    done = pytest_run(tmp_path, USED)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


def test_without_the_server_extra_it_says_what_to_install(tmp_path: Path) -> None:
    done = pytest_run(tmp_path, WITHOUT_SERVER)
    assert done.returncode == 1
    assert "pip install 'strongroom[server]'" in done.stdout
