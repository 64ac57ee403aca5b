"""Closing an organisation: its keys end and its people are let go, in one transaction."""

from strongroom.access import closing, providers
from strongroom.access.providers import ProviderRecord
from strongroom.portal.area import Portal
from strongroom.portal.membership import organisations
from strongroom.portal.messaging import messages
from strongroom.portal.rendering import counted
from strongroom.services import audit
from strongroom.services.audit import Action
from strongroom.storage import Transaction

END_INVITATIONS = "DELETE FROM invitations WHERE provider_id = :provider_id"
END_MEMBERSHIPS = "DELETE FROM memberships WHERE provider_id = :provider_id"


async def close(tx: Transaction, portal: Portal, provider: ProviderRecord, actor_id: bytes, now: int) -> bool:
    """Close it for good and put down mail to everybody who belonged to it; false where it was closed before.

    `closing.InUse`. The caller has looked whether the actor is an owner: that makes whoever invites somebody wait.
    """
    if not await closing.close(tx, provider.id, now):
        return False
    # Before the members are read: a colleague who accepts one meanwhile is then either a member, or too late.
    await tx.execute(END_INVITATIONS, provider_id=provider.id)
    members = await organisations.members_of(tx, provider.id)
    await tx.execute(END_MEMBERSHIPS, provider_id=provider.id)
    for member in members:
        await portal.mail.put(tx, messages.organisation_closed(member.email, provider.name, portal.url("/")), now)
    await audit.record(tx, provider.id, Action.organisation_closed, now, actor_id=actor_id, detail=provider.name)
    people = counted(len(members), "person", "people")
    await audit.record(tx, provider.id, Action.members_let_go, now, actor_id=actor_id, detail=people)
    return True


async def rename(tx: Transaction, provider: ProviderRecord, name: str, actor_id: bytes, now: int) -> bool:
    """Another name, if nobody has it (`NameTaken`); false where it was closed, or has this name already."""
    if not await providers.rename(tx, provider.id, name):
        return False
    await audit.record(tx, provider.id, Action.organisation_renamed, now, actor_id=actor_id, detail=name)
    return True
