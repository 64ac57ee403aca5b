"""The pytest plug-in: `strongroom_service`, a real service for each test, and `strongroom_session_service` for a run.

It is loaded in every pytest run of an environment that has Strongroom installed, so it imports nothing until used.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from strongroom.testing.service import Service


@pytest.fixture
def strongroom_service() -> Iterator["Service"]:
    """A service with a sandbox provider, fresh for this test. See `strongroom.testing.Service`."""
    yield from _running()


@pytest.fixture(scope="session")
def strongroom_session_service() -> Iterator["Service"]:
    """One service for the whole run: quicker, where tests keep apart by username and leave its clock alone."""
    yield from _running()


def _running() -> Iterator["Service"]:
    try:
        from strongroom.testing.service import Service

        service = Service()
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("strongroom"):
            raise
        pytest.fail("this fixture needs the service: pip install 'strongroom[server]'", pytrace=False)
    with service:
        yield service
