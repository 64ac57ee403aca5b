import ast
import subprocess
import sys
from pathlib import Path

import pytest

import strongroom.crypto

PACKAGE = Path(strongroom.crypto.__file__).parent


def test_all_is_what_is_importable() -> None:
    assert len(strongroom.crypto.__all__) == len(set(strongroom.crypto.__all__))
    assert dir(strongroom.crypto) == sorted(strongroom.crypto.__all__)
    for name in strongroom.crypto.__all__:
        found = getattr(strongroom.crypto, name)
        assert getattr(found, "__module__", "typing").startswith(("strongroom.crypto.", "typing"))
    with pytest.raises(AttributeError):
        strongroom.crypto.no_such_name  # noqa: B018  # the access is the test


@pytest.mark.parametrize(
    "module", ["", ".grammar", ".names", ".checksum", ".serialized_values", ".public_keys", ".errors"]
)
def test_light_modules_load_no_openssl(module: str) -> None:
    script = f"import strongroom.crypto{module}, sys; sys.exit('cryptography' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def _called_and_imported(module: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found.add(node.func.id)
    return found


def test_random_bytes_enter_at_one_place_and_nothing_else_does() -> None:
    refused = {"os", "random", "secrets", "socket", "logging", "httpx", "pathlib", "pickle", "yaml", "open", "print"}
    for module in PACKAGE.rglob("*.py"):
        allowed = {"os"} if module.name == "randomness.py" else set()
        assert _called_and_imported(module) & refused == allowed, module
