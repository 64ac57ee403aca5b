"""Listings of which a caller may ask for a page."""

from strongroom.storage import Row, Transaction, Value
from strongroom.wire.paging import Paging, PagingMeta

PAGE = " LIMIT :limit OFFSET :offset"


async def page(
    tx: Transaction, listing: str, count: str, paging: Paging, **values: Value
) -> tuple[list[Row], PagingMeta]:
    """The rows of the query `listing`, all of them unless a page is asked for."""
    if not paging.wanted:
        return await tx.all(listing, **values), PagingMeta()
    rows = await tx.all(listing + PAGE, **values, limit=paging.limit, offset=paging.offset)
    counted = await tx.one(count, **values)
    assert counted is not None
    return rows, PagingMeta.of(paging, counted[0])
