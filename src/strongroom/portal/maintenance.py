"""What the portal does from time to time without being asked."""

from strongroom.portal import limits, sessions
from strongroom.portal.area import Portal
from strongroom.server.db import Transaction

BATCH = 500


async def prune(portal: Portal) -> int:
    """Forget sessions and counts of attempts that are over, in small transactions; how many rows."""
    now = portal.clock.now()

    async def some(tx: Transaction) -> int:
        return await sessions.prune(tx, now, BATCH) + await limits.prune(tx, now, BATCH)

    total = 0
    while pruned := await portal.store.write(some):
        total += pruned
    return total
