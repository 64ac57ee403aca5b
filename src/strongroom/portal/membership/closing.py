"""Closing an organisation: first its keys, in the access database, then its people, in the portal's own."""

from strongroom.access import closing, providers
from strongroom.access.providers import ProviderRecord
from strongroom.portal.area import Portal
from strongroom.portal.membership import organisations
from strongroom.portal.messaging import messages
from strongroom.portal.rendering import counted
from strongroom.runtime.clock import DAY
from strongroom.services import audit
from strongroom.services.audit import Action
from strongroom.storage import Transaction

LET_GO = (
    "DELETE FROM invitations WHERE provider_id = :provider_id",
    "DELETE FROM memberships WHERE provider_id = :provider_id",
)
LOOK_BACK = 7 * DAY
"""How long what a crash left half done is looked for: as long as an invitation lasts."""


async def close(portal: Portal, provider: ProviderRecord, actor_id: bytes) -> bool:
    """Close it for good and write to everybody who belonged to it; false where it was closed before. `InUse`."""
    now = portal.clock.now()

    async def work(tx: Transaction) -> bool:
        if not await closing.close(tx, provider.id, now):
            return False
        await audit.record(tx, provider.id, Action.organisation_closed, now, actor_id=actor_id, detail=provider.name)
        return True

    done = await portal.access.write(work)
    await _let_go(portal, provider.id, provider.name, actor_id)
    return done


async def finish(portal: Portal) -> int:
    """Do what is missing where a crash came between the two databases; how many organisations it was."""
    since = portal.clock.now() - LOOK_BACK
    found = await portal.access.read(lambda tx: closing.closed_since(tx, since))
    return sum([await _let_go(portal, provider_id, name) for provider_id, name in found])


async def rename(tx: Transaction, provider: ProviderRecord, name: str, actor_id: bytes, now: int) -> bool:
    """Another name, if nobody has it (`NameTaken`); false where it was closed, or has this name already."""
    if not await providers.rename(tx, provider.id, name):
        return False
    await audit.record(tx, provider.id, Action.organisation_renamed, now, actor_id=actor_id, detail=name)
    return True


async def _let_go(portal: Portal, provider_id: bytes, name: str, actor_id: bytes | None = None) -> bool:
    if not await portal.store.read(lambda tx: organisations.members_of(tx, provider_id)):
        return False
    now = portal.clock.now()

    async def work(tx: Transaction) -> bool:
        members = await organisations.members_of(tx, provider_id)
        for statement in LET_GO:
            await tx.execute(statement, provider_id=provider_id)
        for member in members:
            url = portal.url("/")
            await portal.mail.put(tx, messages.organisation_closed(member.email, name, url), now)
        if members:
            people = counted(len(members), "person", "people")
            await audit.record(tx, provider_id, Action.members_let_go, now, actor_id=actor_id, detail=people)
        return bool(members)

    done = await portal.store.write(work)
    portal.mail.wake()
    return done
