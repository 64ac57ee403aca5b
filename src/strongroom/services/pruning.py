"""Deletes rows that expired long ago, in small transactions, so that no request waits long."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from strongroom.storage import Store, Transaction

BATCH = 500

Prune: TypeAlias = Callable[[Transaction, int, int], Coroutine[Any, Any, int]]
"""Deletes at most `limit` rows that ended before a time: transaction, time, limit; returns how many."""


async def prune(store: Store, *old: tuple[Prune, int]) -> int:
    """Call each with its time, all in one transaction, again and again until none is left; how many rows."""

    async def some(tx: Transaction) -> int:
        return sum([await forget(tx, before, BATCH) for forget, before in old])

    total = 0
    while pruned := await store.write(some):
        total += pruned
    return total
