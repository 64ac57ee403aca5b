"""The audit as sentences that name the key, subscription, colleague or user of each act."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from strongroom.access import providers, subscriptions
from strongroom.portal.accounts import developers
from strongroom.portal.accounts.developers import display_name
from strongroom.portal.membership import invitations
from strongroom.runtime.ids import to_text
from strongroom.services.audit import Action, AuditEvent
from strongroom.storage import Transaction

Kind: TypeAlias = Literal["", "subscription", "api_key", "person", "invitation", "user"]
"""The kind of object an act is about: it decides where its name is looked up."""

# `{}` is the name of the object.
SENTENCES: Mapping[Action, tuple[str, Kind]] = {
    Action.organisation_created: ("Organisation created", ""),
    Action.organisation_renamed: ("Organisation renamed", ""),
    Action.organisation_closed: ("Organisation closed", ""),
    Action.members_let_go: ("All members removed, because the organisation was closed", ""),
    Action.login_policy_set: ("Login policy set", ""),
    Action.subscription_created: ("Subscription {} created", "subscription"),
    Action.subscription_approved: ("Subscription {} approved", "subscription"),
    Action.subscription_rejected: ("Subscription {} rejected", "subscription"),
    Action.subscription_activated: ("Subscription {} activated", "subscription"),
    Action.subscription_renamed: ("Subscription {} renamed", "subscription"),
    Action.subscription_suspended: ("Subscription {} suspended", "subscription"),
    Action.subscription_resumed: ("Subscription {} resumed", "subscription"),
    Action.subscription_cancelled: ("Subscription {} cancelled", "subscription"),
    Action.expiry_changed: ("End of the subscription {} changed", "subscription"),
    Action.key_regenerated: ("Key of the subscription {} regenerated", "subscription"),
    Action.key_expiry_changed: ("End of a key of the subscription {} changed", "subscription"),
    Action.key_ended: ("Replaced key of the subscription {} ended", "subscription"),
    Action.api_key_created: ("Provider API key {} created", "api_key"),
    Action.api_key_revoked: ("Provider API key {} revoked", "api_key"),
    Action.member_invited: ("{} invited", "invitation"),
    Action.invitation_withdrawn: ("Invitation of {} withdrawn", "invitation"),
    Action.member_joined: ("{} joined", "person"),
    Action.role_changed: ("Role of {} changed", "person"),
    Action.member_left: ("{} left", "person"),
    Action.member_removed: ("{} removed", "person"),
    Action.user_suspend_asked: ("User {}: suspension asked for", "user"),
    Action.user_suspended: ("User {} suspended", "user"),
    Action.user_suspend_not_possible: ("User {} not suspended: it was not possible", "user"),
    Action.user_resume_asked: ("User {}: end of the suspension asked for", "user"),
    Action.user_resumed: ("User {} resumed", "user"),
    Action.user_resume_not_possible: ("User {} not resumed: it was not possible", "user"),
    Action.signed_up: ("Account confirmed", ""),
    Action.password_changed: ("Password changed", ""),
    Action.email_changed: ("E-mail address changed", ""),
    Action.account_deleted: ("Account deleted", ""),
    Action.totp_on: ("Authenticator codes turned on", ""),
    Action.totp_off: ("Authenticator codes turned off", ""),
    Action.passkey_added: ("Passkey added", ""),
    Action.passkey_removed: ("Passkey removed", ""),
    Action.recovery_codes_made: ("Recovery codes made", ""),
    Action.recovery_code_used: ("Recovery code used to sign in", ""),
}
GONE: Mapping[Kind, str] = {
    "subscription": "that was deleted",
    "api_key": "that was deleted",
    "person": "A deleted account",
    "invitation": "A colleague",
}


def sentence_of(event: AuditEvent) -> tuple[str, Kind]:
    """The sentence for an act. An act that only another version knows is shown by its name."""
    try:
        return SENTENCES[Action(event.action)]
    except ValueError:
        return event.action.replace("_", " ").capitalize(), ""


@dataclass(frozen=True, slots=True)
class Names:
    """The current names of the objects of some events, by id."""

    by_id: Mapping[bytes, str]

    def person(self, developer_id: bytes) -> str:
        return self.by_id.get(developer_id, GONE["person"])

    def sentence(self, event: AuditEvent) -> str:
        """What was done, with the name of the object."""
        text, kind = sentence_of(event)
        if "{}" not in text:
            return text
        if kind == "user":
            return text.format("" if event.object_id is None else to_text(event.object_id))
        name = self.by_id.get(event.object_id or b"")
        # Notes of earlier versions did not say which object it was.
        return " ".join(text.format(name or ("" if event.object_id is None else GONE[kind])).split())


async def names(tx: Transaction, provider_id: bytes, people: set[bytes], now: int) -> Names:
    """Of the subscriptions, provider API keys and invitations of one provider, and of these developers."""
    named = {record.id: f"“{record.name}”" for record in await subscriptions.list_of(tx, provider_id)}
    named |= {key.id: f"“{key.name}” ({key.hint})" for key in await providers.keys_of(tx, provider_id)}
    named |= {one.id: one.email for one in await invitations.list_of(tx, provider_id, now)}
    for developer_id in people:
        found = await developers.read(tx, developer_id)
        if found is not None:
            named[developer_id] = display_name(found.name, found.email)
    return Names(named)
