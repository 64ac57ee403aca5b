"""What is pruned, and that pruning comes to an end."""

from typing import TYPE_CHECKING

import pytest

from strongroom.vault.maintenance import prune

if TYPE_CHECKING:
    from tests.vault.conftest import World

pytestmark = pytest.mark.anyio


async def test_more_than_one_batch_is_pruned(world: "World") -> None:
    await world.create_user("ada")
    live = await world.log_in("ada")
    principal = await world.authenticate(live)
    await world.run(
        "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1200) "
        "INSERT INTO sessions (user_id, id, generation, valid_from, valid_till) "
        "SELECT :user_id, CAST(n AS BLOB), 1, 0, 0 FROM numbers",
        user_id=principal.user_id,
    )
    assert await prune(world.vault) == 1200
    assert await prune(world.vault) == 0
    assert await world.authenticate(live) == principal
