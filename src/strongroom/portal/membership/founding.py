"""What is left where the making of an organisation was interrupted: owners of a provider that was never made."""

from collections.abc import Iterable

from strongroom.access import providers
from strongroom.portal.area import Portal
from strongroom.portal.membership.closing import LET_GO, LOOK_BACK
from strongroom.runtime.clock import HOUR, MINUTE
from strongroom.storage import Transaction

BEGUN = "SELECT DISTINCT provider_id FROM memberships WHERE created_at > :since AND created_at <= :before"
BEGUN_BY = "SELECT provider_id FROM memberships WHERE developer_id = :developer_id AND created_at <= :before"

GIVEN_UP = HOUR
"""After this nobody makes the provider any more, however long a database kept a request waiting."""
TAKES = MINUTE
"""Within this one may still be about to be made: an account is not deleted from under it."""


async def tidy(portal: Portal) -> int:
    """Let go of the places in organisations that were never made; how many organisations it was."""
    now = portal.clock.now()
    rows = await portal.store.read(lambda tx: tx.all(BEGUN, since=now - LOOK_BACK, before=now - GIVEN_UP))
    gone = await _never_made(portal, [row[0] for row in rows])

    async def work(tx: Transaction) -> None:
        for provider_id in gone:
            for statement in LET_GO:
                await tx.execute(statement, provider_id=provider_id)

    if gone:
        await portal.store.write(work)
    return len(gone)


async def never_made(portal: Portal, developer_id: bytes) -> frozenset[bytes]:
    """The organisations of this developer whose making was interrupted: they keep nobody from deleting an account."""
    before = portal.clock.now() - TAKES
    rows = await portal.store.read(lambda tx: tx.all(BEGUN_BY, developer_id=developer_id, before=before))
    return await _never_made(portal, [row[0] for row in rows])


async def _never_made(portal: Portal, provider_ids: Iterable[bytes]) -> frozenset[bytes]:
    async def look(tx: Transaction) -> frozenset[bytes]:
        return frozenset([row for row in provider_ids if await providers.read(tx, row) is None])

    return await portal.access.read_many(look)
