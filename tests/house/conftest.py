"""What the house rules look at: the tracked files and the parsed sources of the repository."""

import ast
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _parsed(folder: str) -> dict[str, ast.Module]:
    files = sorted((ROOT / folder).rglob("*.py"))
    return {file.relative_to(ROOT).as_posix(): ast.parse(file.read_bytes()) for file in files}


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def package() -> dict[str, ast.Module]:
    """Every module of the package, by its path from the root."""
    return _parsed("src/strongroom")


@pytest.fixture(scope="session")
def tests() -> dict[str, ast.Module]:
    """Every test module and every conftest, likewise."""
    return _parsed("tests")


@pytest.fixture(scope="session")
def texts() -> dict[str, str]:
    """The text of every file of the repository, by its path from the root; pictures and archives are left out."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0:
        names = [name for name in listed.stdout.decode().split("\0") if name]
    else:  # an unpacked archive has no history, and nothing in it but the repository
        names = [file.relative_to(ROOT).as_posix() for file in ROOT.rglob("*") if not _is_made(file)]
    found = {}
    for name in names:
        file = ROOT / name
        if file.is_file() and file.suffix not in (".png", ".gz"):
            found[name] = file.read_text("utf-8")
    return found


def _is_made(file: Path) -> bool:
    first = file.relative_to(ROOT).parts[0]
    return (
        first.startswith(".") and first not in (".ci", ".gitignore", ".importlinter")
    ) or "__pycache__" in file.parts
