"""The public face: what `strongroom` exports, and what importing it costs."""

import subprocess
import sys

import pytest

import strongroom
from strongroom.client import errors


def test_everything_named_is_importable_and_everything_importable_is_named() -> None:
    assert sorted(strongroom.__all__) == strongroom.__all__
    for name in strongroom.__all__:
        assert getattr(strongroom, name) is not None
    assert dir(strongroom) == strongroom.__all__
    with pytest.raises(AttributeError):
        strongroom.Nothing  # noqa: B018 - the access is the test


def test_every_error_of_the_client_is_exported() -> None:
    classes = {name for name, found in vars(errors).items() if isinstance(found, type)}
    assert {name for name in classes if issubclass(getattr(errors, name), errors.StrongroomError)} <= set(
        strongroom.__all__
    )


def test_importing_the_package_is_cheap() -> None:
    code = "import sys, strongroom; print(sorted({'httpx', 'cryptography', 'msgspec', 'asyncio'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_client_needs_nothing_of_the_server() -> None:
    code = (
        "import sys; from strongroom import Strongroom, AsyncStrongroom;"
        "print([m for m in sys.modules if m.startswith(('strongroom.http', 'strongroom.storage', 'strongroom.services',"
        "'strongroom.runtime', 'strongroom.keystore', 'strongroom.vault',"
        "'strongroom.access', 'strongroom.app', 'argon2', 'httptools', 'PIL'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
