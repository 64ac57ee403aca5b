"""The world of organisations that whole tables of pages are walked in."""

from typing import TYPE_CHECKING

import pytest
from tests.portal.world import World, make_world

if TYPE_CHECKING:
    from tests.portal.conftest import Site


@pytest.fixture
async def world(whole_site: "Site", monkeypatch: pytest.MonkeyPatch) -> World:
    # Every change in this world while a page is called has to be caused by that page.
    monkeypatch.setattr(whole_site.application.upkeep, "store_usage", stored_later)
    return await make_world(whole_site)


async def stored_later() -> None:
    """Usage stays in memory."""
