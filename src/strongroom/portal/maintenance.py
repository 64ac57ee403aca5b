"""The regular maintenance of the portal."""

from strongroom.portal import limits, notifications_sent
from strongroom.portal.accounts import challenges, links, sessions, sign_ups
from strongroom.portal.area import Portal
from strongroom.portal.membership import invitations
from strongroom.portal.subscriptions import shown_once
from strongroom.storage import Transaction

BATCH = 500


async def prune(portal: Portal) -> int:
    """Delete what has expired, from sessions to counts of attempts, in small transactions; how many rows."""
    now = portal.clock.now()

    async def some(tx: Transaction) -> int:
        return (
            await sessions.prune(tx, now, BATCH)
            + await limits.prune(tx, now, BATCH)
            + await links.prune(tx, now, BATCH)
            + await sign_ups.prune(tx, now, BATCH)
            + await challenges.prune(tx, now, BATCH)
            + await invitations.prune(tx, now, BATCH)
            + await shown_once.prune(tx, now, BATCH)
            + await notifications_sent.prune(tx, now, BATCH)
        )

    total = 0
    while pruned := await portal.store.write(some):
        total += pruned
    return total
