"""The messages that the portal sends, as text and as HTML from the same words."""

from collections.abc import Sequence

from strongroom.portal.limits import OPERATOR_NEWS
from strongroom.portal.messaging.mail import Message
from strongroom.portal.rendering import counted, render

MOST_NEWS = 20


def compose(to: str, subject: str, *paragraphs: str, button: str | None = None, url: str | None = None) -> Message:
    """A message with at most one link. Paragraphs are plain text; they are escaped in the HTML."""
    values = {"subject": subject, "paragraphs": paragraphs, "button": button, "url": url}
    return Message(to, subject, render("mail/message.txt", **values), render("mail/message.html", **values))


def confirm(to: str, url: str) -> Message:
    return compose(
        to,
        "Confirm your Strongroom account",
        "Someone, probably you, signed up at the Strongroom developer portal with this address.",
        "Open the link within a day and enter the password you chose. If it was not you, ignore this message: "
        "without the link there will be no account.",
        button="Confirm the account",
        url=url,
    )


def already_signed_up(to: str, url: str) -> Message:
    return compose(
        to,
        "You already have a Strongroom account",
        "Someone, probably you, signed up at the Strongroom developer portal with this address, which has an "
        "account already.",
        "If it was you, sign in; you can also reset the password there. If not, there is nothing to do.",
        button="Sign in",
        url=url,
    )


def reset(to: str, url: str) -> Message:
    return compose(
        to,
        "Reset your Strongroom password",
        "Someone, probably you, asked to reset your password at the Strongroom developer portal.",
        "Open the link within two hours to choose a new one. If it was not you, ignore this message: the password "
        "stays as it is.",
        button="Choose a new password",
        url=url,
    )


def no_account(to: str, url: str) -> Message:
    return compose(
        to,
        "No Strongroom account with this address",
        "Someone, probably you, asked to reset a password at the Strongroom developer portal, but there is no "
        "account with this address. Perhaps you signed up with another one.",
        button="Sign up",
        url=url,
    )


def change_email(to: str, url: str) -> Message:
    return compose(
        to,
        "Confirm your new e-mail address",
        "Open the link within two hours to use this address for your account at the Strongroom developer portal.",
        "If you did not ask for this, ignore the message: nothing changes without the link.",
        button="Use this address",
        url=url,
    )


def address_wanted(to: str, url: str) -> Message:
    """To an address that has an account, after a request to use it for another account."""
    return compose(
        to,
        "This address has a Strongroom account",
        "Someone asked to use this address for another account at the Strongroom developer portal. It has an account "
        "already, so nothing was changed.",
        "If it was you, delete this account first, or use another address. If not, there is nothing to do.",
        button="Look at the account",
        url=url,
    )


def security_notice(to: str, what: str, url: str) -> Message:
    """`what` is a whole sentence about something that happened to the account."""
    return compose(
        to,
        "A change to your Strongroom account",
        what,
        "If it was not you, reset the password at once and check where you are signed in.",
        button="Look at the account",
        url=url,
    )


def address_left(to: str) -> Message:
    """To the previous address of an account; it can no longer reset the password."""
    return compose(
        to,
        "A change to your Strongroom account",
        "The e-mail address of your account was changed. This one no longer belongs to it, and no password can be "
        "reset with it.",
        "If it was not you, another person knows your password: contact the operator of the service at once.",
    )


def account_deleted(to: str) -> Message:
    return compose(
        to,
        "Your Strongroom account was deleted",
        "Your account at the Strongroom developer portal was deleted, with its sessions and second factors.",
        "If it was not you, another person knows your password: contact the operator of the service at once.",
    )


def subscription_news(to: str, name: str, outcome: str, url: str, reason: str = "") -> Message:
    """`outcome` completes a sentence that begins with the name of the subscription."""
    return compose(
        to,
        "News about a Strongroom subscription",
        f"The subscription “{name}” {outcome}",
        *([f"The operator says: {reason}"] if reason else []),
        button="Look at the subscription",
        url=url,
    )


def subscription_waits(to: str, name: str, organisation: str, product: str, url: str) -> Message:
    """To an operator."""
    return compose(
        to,
        "A Strongroom subscription waits for you",
        f"The organisation “{organisation}” subscribed to {product} and calls it “{name}”. Its keys are refused until "
        "you approve it and the developer activates it.",
        f"There are at most {OPERATOR_NEWS.times} of these messages in an hour; the operator's page shows all that "
        "waits.",
        button="Look at what waits",
        url=url,
    )


def subscription_ends(to: str, name: str, when: str, url: str) -> Message:
    return compose(
        to,
        "A Strongroom subscription ends soon",
        f"The subscription “{name}” ends on {when}. From then on both its keys are refused.",
        "If it is still needed, give it a later end or make a new one in time.",
        button="Look at the subscription",
        url=url,
    )


def key_ends(to: str, key: str, when: str, url: str) -> Message:
    """`key` is the key in words, such as: primary key srk_...1a2b of “shop”."""
    return compose(
        to,
        "A Strongroom key ends soon",
        f"The {key} ends on {when}. From then on it is refused.",
        "If something still calls with it, regenerate it in time, or give it a later end.",
        button="Look at the key",
        url=url,
    )


def key_is_old(to: str, key: str, age: str, url: str) -> Message:
    return compose(
        to,
        "Time to replace a Strongroom key",
        f"The {key} was made {age} ago. The longer a key is in use, the more places hold a copy of it.",
        "Replace it when it suits you: the old one can go on for a while beside the new one. Nothing happens if you do "
        "not, and for this key there is no second message.",
        button="Look at the key",
        url=url,
    )


def quota_used(to: str, name: str, percent: int, quota: int, url: str) -> Message:
    return compose(
        to,
        f"A Strongroom subscription has used {percent} % of its quota",
        f"The subscription “{name}” has used {percent} % or more of the {counted(quota, 'call')} that its product "
        "states for a month.",
        "No call is refused for this: the quota is not enforced. Ask the operator for a larger product if you "
        "need one. The count starts again with the next month (UTC).",
        button="Look at the usage",
        url=url,
    )


def several(to: str, news: Sequence[str], url: str, *, about_ends: bool) -> Message:
    """More than one thing to know about one organisation; the first twenty are named. `about_ends`: some are."""
    ends = (
        "A key or subscription is refused from its end on: if it is still needed, give it a later end or replace it in "
        "time."
    )
    more = len(news) - MOST_NEWS
    return compose(
        to,
        f"{len(news)} things to know about your Strongroom subscriptions and keys",
        *news[:MOST_NEWS],
        *([f"And {more} more."] if more > 0 else []),
        *([ends] if about_ends else []),
        button="Look at the organisation",
        url=url,
    )


def role_changed(to: str, what: str, organisation: str, url: str) -> Message:
    """`what` begins a sentence that ends with the name of the organisation."""
    return compose(
        to,
        "A change to your Strongroom organisation",
        f"{what} the organisation “{organisation}”.",
        "If this surprises you, ask your colleagues: another person may be using the account of one of you.",
        button="To your organisations",
        url=url,
    )


def organisation_closed(to: str, name: str, url: str) -> Message:
    return compose(
        to,
        "A Strongroom organisation was closed",
        f"One of its owners closed the organisation “{name}”, to which you belonged. Its subscriptions and keys are "
        "refused from now on, for good.",
        button="To your organisations",
        url=url,
    )


def test(to: str, url: str) -> Message:
    return compose(
        to,
        "A test message of Strongroom",
        "The operator of this service sent this message to check that mail arrives.",
        "If it is in the spam folder, the domain of its sender probably needs an SPF or DKIM record.",
        button="To the portal",
        url=url,
    )


def invitation(to: str, organisation: str, inviter: str, url: str) -> Message:
    return compose(
        to,
        f"Join {organisation} at Strongroom",
        f"{inviter} invites you to the organisation “{organisation}” at the Strongroom developer portal.",
        "Open the link within seven days and sign in with this address, or sign up first. If you do not know who "
        "this is, ignore this message.",
        button="Look at the invitation",
        url=url,
    )
