"""Closing an organisation: its keys end and its members are removed, in one transaction."""

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
    """Close it for good and queue mail to every member; false where it was closed before.

    `closing.InUse`. The caller has checked that the actor is an owner; that lock makes concurrent invitations wait.
    """
    if not await closing.close(tx, provider.id, now):
        return False
    # Before the members are read: a colleague who accepts an invitation now is either a member, or too late.
    await tx.execute(END_INVITATIONS, provider_id=provider.id)
    members = await organisations.members_of(tx, provider.id)
    await tx.execute(END_MEMBERSHIPS, provider_id=provider.id)
    for member in members:
        await portal.mail.enqueue(tx, messages.organisation_closed(member.email, provider.name, portal.url("/")), now)
    await audit.record(tx, provider.id, Action.organisation_closed, now, actor_id=actor_id, detail=provider.name)
    people = counted(len(members), "person", "people")
    await audit.record(tx, provider.id, Action.members_let_go, now, actor_id=actor_id, detail=people)
    return True


async def rename(tx: Transaction, provider: ProviderRecord, name: str, actor_id: bytes, now: int) -> bool:
    """Change the name; `NameTaken`; false where the organisation was closed, or has this name already."""
    if not await providers.rename(tx, provider.id, name):
        return False
    await audit.record(tx, provider.id, Action.organisation_renamed, now, actor_id=actor_id, detail=name)
    return True
