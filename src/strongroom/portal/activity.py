"""What the audit of an organisation says, as sentences that name which key, subscription, colleague or user it was."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from strongroom.access import providers, subscriptions
from strongroom.portal import developers, invitations
from strongroom.portal.developers import called
from strongroom.server.audit import AuditEvent
from strongroom.server.db import Transaction
from strongroom.server.ids import to_text

Kind: TypeAlias = Literal["", "subscription", "api_key", "person", "invitation", "user"]
"""What the object of an act is, so where its name is found."""

# With `{}` where the object stands.
SENTENCES: Mapping[str, tuple[str, Kind]] = {
    "organisation_created": ("Organisation created", ""),
    "organisation_renamed": ("Organisation renamed", ""),
    "organisation_closed": ("Organisation closed", ""),
    "members_let_go": ("Everybody let go, because the organisation was closed", ""),
    "login_policy_set": ("Login policy set", ""),
    "subscription_created": ("Subscription {} created", "subscription"),
    "subscription_approved": ("Subscription {} approved", "subscription"),
    "subscription_rejected": ("Subscription {} rejected", "subscription"),
    "subscription_activated": ("Subscription {} activated", "subscription"),
    "subscription_renamed": ("Subscription {} renamed", "subscription"),
    "subscription_suspended": ("Subscription {} suspended", "subscription"),
    "subscription_resumed": ("Subscription {} resumed", "subscription"),
    "subscription_cancelled": ("Subscription {} cancelled", "subscription"),
    "expiry_changed": ("End of the subscription {} changed", "subscription"),
    "key_regenerated": ("Key of the subscription {} regenerated", "subscription"),
    "key_expiry_changed": ("End of a key of the subscription {} changed", "subscription"),
    "key_ended": ("Replaced key of the subscription {} ended", "subscription"),
    "api_key_created": ("Provider API key {} created", "api_key"),
    "api_key_revoked": ("Provider API key {} revoked", "api_key"),
    "member_invited": ("{} invited", "invitation"),
    "invitation_withdrawn": ("Invitation of {} withdrawn", "invitation"),
    "member_joined": ("{} joined", "person"),
    "role_changed": ("Role of {} changed", "person"),
    "member_left": ("{} left", "person"),
    "member_removed": ("{} removed", "person"),
    "user_suspend_asked": ("User {}: suspension asked for", "user"),
    "user_suspended": ("User {} suspended", "user"),
    "user_suspend_not_possible": ("User {} not suspended: it was not possible", "user"),
    "user_resume_asked": ("User {}: end of the suspension asked for", "user"),
    "user_resumed": ("User {} resumed", "user"),
    "user_resume_not_possible": ("User {} not resumed: it was not possible", "user"),
}
GONE: Mapping[Kind, str] = {
    "subscription": "that is gone",
    "api_key": "that is gone",
    "person": "Somebody whose account is gone",
    "invitation": "Somebody",
}


@dataclass(frozen=True, slots=True)
class Names:
    """What the objects of some events are called now, by id."""

    by_id: Mapping[bytes, str]

    def person(self, developer_id: bytes) -> str:
        return self.by_id.get(developer_id, GONE["person"])

    def sentence(self, event: AuditEvent) -> str:
        """What was done to which object; an act without a sentence of ours is told by its word."""
        text, kind = SENTENCES.get(event.action, (event.action.replace("_", " ").capitalize(), ""))
        if "{}" not in text:
            return text
        if kind == "user":
            return text.format("" if event.object_id is None else to_text(event.object_id))
        name = self.by_id.get(event.object_id or b"")
        # Notes of earlier versions did not say which object it was.
        return " ".join(text.format(name or ("" if event.object_id is None else GONE[kind])).split())


async def names_in_access(tx: Transaction, provider_id: bytes) -> dict[bytes, str]:
    """What the subscriptions and provider API keys of one provider are called."""
    named = {record.id: f"“{record.name}”" for record in await subscriptions.list_of(tx, provider_id)}
    keys = await providers.keys_of(tx, provider_id)
    return named | {key.id: f"“{key.name}” ({key.hint})" for key in keys}


async def names_of_people(tx: Transaction, provider_id: bytes, ids: set[bytes], now: int) -> dict[bytes, str]:
    """What these developers, and those who are invited, are called."""
    named = {one.id: one.email for one in await invitations.list_of(tx, provider_id, now)}
    for developer_id in ids:
        found = await developers.read(tx, developer_id)
        if found is not None:
            named[developer_id] = called(found.name, found.email)
    return named
