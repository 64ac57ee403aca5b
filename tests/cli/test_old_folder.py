"""A data folder from when the portal had a database of its own is refused in one line, and left as it is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

COMMANDS = [
    ("serve", "--port", "0"),
    ("admin", "provider", "list"),
    ("admin", "provider", "create", "Acme"),
    ("admin", "classification", "list"),
    ("db", "status"),
    ("db", "migrate"),
    ("verify",),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_refuses_it_and_changes_nothing(
    run: Callable[..., Any], tmp_path: Path, words: tuple[str, ...]
) -> None:
    old = tmp_path / "portal.sqlite"
    old.write_bytes(b"developers")
    refused = run(*words, "--data", str(tmp_path))
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1), refused.output
    assert "portal.sqlite" in refused.stderr
    assert "new data folder" in refused.stderr
    assert list(tmp_path.iterdir()) == [old]
    assert old.read_bytes() == b"developers"
