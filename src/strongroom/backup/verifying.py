"""Verify: is an archive whole, is a live database sound, without changing either."""

from pathlib import Path

from strongroom.backup import areas, invariants
from strongroom.backup.archive import Manifest, Reader
from strongroom.backup.making import Progress
from strongroom.server.db import Unavailable, migrate
from strongroom.server.db.copying import Snapshot
from strongroom.server.secret import ServerSecret
from strongroom.server.settings import Settings

_BATCH = 500


def verify_archive(source: Path, secret: ServerSecret | None, progress: Progress) -> tuple[Manifest, bool]:
    """Read every row and compare hashes and counts; the manifest, and whether its MAC could be checked.

    Without the server secret an archive that somebody wrote anew cannot be told from ours. `ArchiveRefused`.
    """
    reader = Reader(source)
    try:
        authentic = secret is not None and reader.is_of(secret)
        if secret is not None and authentic:
            reader.check_mac(secret)
        for entry in reader.manifest.areas:
            for table in entry.tables:
                for _ in reader.batches(entry.name, table):
                    pass
                progress(entry.name, table.name, table.rows)
        return reader.manifest, authentic
    finally:
        reader.close()


async def verify_databases(settings: Settings, progress: Progress) -> list[str]:
    """What is wrong, one sentence each, without values; nothing where all is well. The service may run meanwhile.

    `NotThere`, `SchemaError`, `Unavailable`.
    """
    opened = await areas.snapshots(settings)
    try:
        found: list[str] = []
        for area, snapshot in opened.items():
            found += [f"{area}: {sentence}" for sentence in await _in_area(area, snapshot)]
            progress(area, "", 0)
        return found or await _across(opened)
    finally:
        await areas.close(opened)


async def _in_area(area: str, snapshot: Snapshot) -> list[str]:
    if migrate.pending(areas.known(area), {number: checksum for number, _, checksum in await snapshot.history()}):
        return ["the schema is not up to date: start the service once, then verify again"]
    damage = await snapshot.damage()
    if damage:
        return damage  # what damaged files say is not worth asking
    found: list[str] = []
    for sentence, query in invariants.OF_AREA[area].items():
        try:
            ((breaches,),) = await snapshot.all(query)
        except Unavailable as error:
            return [*found, f"it cannot be read: {error.__cause__}"]
        if breaches:
            found.append(f"not true of {breaches}: {sentence}")
    return found


async def _across(opened: dict[str, Snapshot]) -> list[str]:
    found = []
    for area, query in invariants.PROVIDERS_NAMED.items():
        if area in opened:
            for (provider_id,) in await opened[area].all(query):
                if not await opened["access"].all(invariants.PROVIDER, id=provider_id):
                    found.append(f"{area}: a provider that rows belong to is not in access")
    if "vault" in opened and "keystore" in opened:
        missing = await _missing_keystore_users(opened["vault"], opened["keystore"])
        if missing:
            found.append(f"vault: {missing} of its users belong to key store users that are not there")
    return found


async def _missing_keystore_users(vault: Snapshot, keystore: Snapshot) -> int:
    missing, after = 0, b""
    while batch := await vault.all(invariants.KEYSTORE_USERS_NAMED, after=after, limit=_BATCH):
        for (user_id,) in batch:
            missing += not await keystore.all(invariants.KEYSTORE_USER, id=user_id)
        after = batch[-1][0]
    return missing
