"""The world of organisations that whole tables of pages are walked in."""

from typing import TYPE_CHECKING

import pytest
from tests.portal.world import World, make_world

if TYPE_CHECKING:
    from tests.portal.conftest import Site


@pytest.fixture
async def world(whole_site: "Site") -> World:
    return await make_world(whole_site)
