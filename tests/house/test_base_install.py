"""The client, the crypto package and the command line work without anything that only a server needs."""

import subprocess
import sys

import pytest

# Refuses the modules of the extras `server`, `portal` and `postgres`, as if they had not been installed.
BLOCKED = """
import sys

class Blocked:
    names = {
        "argon2", "httptools", "jinja2", "PIL", "psycopg", "psycopg_pool", "pyotp", "segno", "starlette",
        "uvloop", "webauthn",
    }

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"blocked: {name}", name=name)
        return None

sys.meta_path.insert(0, Blocked())
"""

CLIENT = """
import importlib, pkgutil
import strongroom
import strongroom.client, strongroom.crypto, strongroom.wire

for name in strongroom.__all__:
    getattr(strongroom, name)
for name in strongroom.crypto.__all__:
    getattr(strongroom.crypto, name)
for package in (strongroom.client, strongroom.crypto, strongroom.wire):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
client = strongroom.Strongroom("https://vault.example", subscription_key="key")
client.close()
print("usable")
"""

HELP = """
import sys
from strongroom.cli import main

sys.argv = ["strongroom", "--help"]
main()
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", BLOCKED + program],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_client_crypto_and_wire_work() -> None:
    done = run(CLIENT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "usable\n", "")


def test_command_line_says_what_it_can() -> None:
    done = run(HELP)
    assert done.returncode == 0
    assert "register" in done.stdout


@pytest.mark.parametrize("module", ["argon2", "httptools", "PIL", "psycopg"])
def test_the_block_blocks(module: str) -> None:
    done = run(f"import {module}")
    assert done.returncode == 1
    assert f"blocked: {module}" in done.stderr


def test_importing_the_package_imports_no_http_client() -> None:
    done = run("import strongroom; print('httpx' in sys.modules or 'cryptography' in sys.modules)")
    assert (done.returncode, done.stdout) == (0, "False\n")
