"""Asks the areas' databases what the areas say of their rows. Which tables there are, only the areas know."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from strongroom.access import integrity as access
from strongroom.keystore import integrity as keystore
from strongroom.portal import integrity as portal
from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Row
from strongroom.storage.copying import Destination, Snapshot
from strongroom.storage.integrity import RAISE_RESTORE_EPOCH, RESTORE_EPOCH, Integrity, Recomputed
from strongroom.vault import integrity as vault

OF_AREA: Mapping[str, Integrity] = {
    "access": access.INTEGRITY | portal.INTEGRITY,
    "keystore": keystore.INTEGRITY,
    "vault": vault.INTEGRITY,
}


async def in_area(area: str, snapshot: Snapshot, secret: ServerSecret | None) -> AsyncGenerator[str, None]:
    """What is not true of the rows of one area, one sentence each, without values. `Unavailable`."""
    integrity = OF_AREA[area]
    for sentence, query in (RESTORE_EPOCH | dict(integrity.invariants)).items():
        ((breaches,),) = await snapshot.all(query)
        if breaches:
            yield _finding(breaches, sentence)
    for sentence, recomputed in integrity.recomputed(secret).items():
        breaches = await disagreements(snapshot, recomputed)
        if breaches:
            yield _finding(breaches, sentence)


async def across(opened: Mapping[str, Snapshot]) -> list[str]:
    """What rows name of another area, and is not there. `Unavailable`."""
    sets = {name: (area, query) for area in opened for name, query in OF_AREA[area].sets.items()}
    found = []
    for area, snapshot in opened.items():
        for sentence, reference in OF_AREA[area].references.items():
            if reference.to in sets:
                other, query = sets[reference.to]
                count = await missing(snapshot, reference.query, opened[other], query)
                found += [f"{area}: {_finding(count, sentence)}"] if count else []
    return found


async def disagreements(snapshot: Snapshot, recomputed: Recomputed) -> int:
    """How many things do not agree; memory does not grow with their number. `Unavailable`."""
    count, key = 0, recomputed.key
    thing: list[Row] = []
    async for batch in snapshot.stream(recomputed.query):
        for row in batch:
            if thing and (not key or row[:key] != thing[0][:key]):
                count += not recomputed.agrees(thing)
                thing = []
            thing.append(row)
    return count + (bool(thing) and not recomputed.agrees(thing))


async def end_permissions(area: str, destination: Destination, now: int) -> None:
    """What a restore ends: sessions, and what is good for one use."""
    for statement in (*OF_AREA[area].endings, RAISE_RESTORE_EPOCH):
        values = {"now": now} if ":now" in statement else {}
        await destination.run(statement, **values)


async def missing(naming: Snapshot, named: str, other: Snapshot, known: str) -> int:
    """How many rows of the query `named` are not among those of `known` in another database. `Unavailable`."""
    # Maybe on another server too: both are read once in one order, side by side.
    count = 0
    async with aclosing(_each(other, known)) as there, aclosing(_each(naming, named)) as wanted:
        found = await anext(there, None)
        async for row in wanted:
            while found is not None and found < row:
                found = await anext(there, None)
            count += found != row
    return count


async def _each(snapshot: Snapshot, query: str) -> AsyncGenerator[Row, None]:
    async with aclosing(snapshot.stream(query)) as batches:
        async for batch in batches:
            for row in batch:
                yield row


def _finding(breaches: int, sentence: str) -> str:
    return f"not true of {breaches}: {sentence}"
