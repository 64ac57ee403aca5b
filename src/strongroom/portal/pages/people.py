"""The people of an organisation: roles, invitations, handing over and leaving."""

from typing import Any

from starlette.responses import Response

from strongroom.portal import limits
from strongroom.portal.accounts import developers
from strongroom.portal.accounts.developers import display_name
from strongroom.portal.accounts.emails import WRONG_EMAIL, canonical_email, mailbox
from strongroom.portal.limits import TooMany
from strongroom.portal.membership import invitations, organisations
from strongroom.portal.membership.invitations import Invitation
from strongroom.portal.membership.organisations import LastOwner, Role
from strongroom.portal.messaging import messages
from strongroom.portal.pages.organisation import provider_of
from strongroom.portal.refusals import Absent
from strongroom.portal.web.page import Needs, Page, Visit
from strongroom.runtime.ids import from_text, to_text
from strongroom.storage import Transaction


async def show(visit: Visit) -> Response:
    return await _page(visit, {})


async def invite(visit: Visit) -> Response:
    """A link goes to the address, whether it has an account or not; the page shows neither."""
    portal, now, who = visit.portal, visit.now, visit.who
    provider = await provider_of(visit)
    email, role = canonical_email(visit.form.text("email")), _role(visit)
    if email is None:
        return await _page(visit, {"email": WRONG_EMAIL})
    members = await visit.read(lambda tx: organisations.members_of(tx, provider.id))
    if email in {canonical_email(member.email) for member in members}:
        return await _page(visit, {"email": "This colleague belongs to the organisation already."})
    await visit.count(limits.MAIL_FROM, visit.network)

    async def work(tx: Transaction) -> None:
        await organisations.require_owner(tx, provider.id, who.developer_id)
        await limits.count_mail(tx, portal.secret, "invitation", email, visit.network, now)
        link = await invitations.issue(tx, provider.id, email, role, who.developer_id, now)
        url = portal.url(f"/invitations/{link}")
        await portal.mail.enqueue(
            tx, messages.invitation(email, provider.name, display_name(who.name, who.email), url), now
        )

    # The list on this page shows whether there is an invitation, so the notice has to be true as well.
    if not await portal.mail.write_unless_flooded(work):
        return await _page(visit, {"email": "This address had several messages within the hour. Try again later."})
    return visit.redirect(_path(visit), "invited")


async def withdraw(visit: Visit) -> Response:
    provider_id, now, actor = visit.organisation.provider_id, visit.now, visit.who.developer_id
    row = _id(visit, "invitation")
    done = await visit.write(lambda tx: invitations.withdraw(tx, provider_id, row, actor, now))
    return visit.redirect(_path(visit), "invitation_withdrawn" if done else "nothing_changed")


async def set_role(visit: Visit) -> Response:
    provider_id, now, actor = visit.organisation.provider_id, visit.now, visit.who.developer_id
    developer_id, role, name = _id(visit, "developer"), _role(visit), (await provider_of(visit)).name

    async def work(tx: Transaction) -> bool:
        done = await organisations.set_role(tx, provider_id, developer_id, role, actor, now)
        if done:
            await _notify(visit, tx, developer_id, name, f"You are now {_CALLED[role]} of")
        return done

    try:
        done = await visit.write(work)
    except LastOwner:
        return visit.redirect(_path(visit), "last_owner")
    return visit.redirect(_path(visit), "role_changed" if done else "nothing_changed")


async def hand_over(visit: Visit) -> Response:
    provider_id, now, actor = visit.organisation.provider_id, visit.now, visit.who.developer_id
    developer_id = _id(visit, "developer")
    if not visit.is_confirmed:
        name = await _display_name(visit, developer_id)
        text = f"{name} becomes an owner and you become a member: from then on only owners can make you one again."
        return visit.ask(f"Hand over to {name}?", text, "Hand over", _path(visit))
    name = (await provider_of(visit)).name

    async def work(tx: Transaction) -> bool:
        done = await organisations.hand_over(tx, provider_id, actor, developer_id, now)
        if done:
            await _notify(visit, tx, developer_id, name, "You are now an owner of")
            await _notify(visit, tx, actor, name, "You handed over, and are now a member of")
        return done

    done = await visit.write(work)
    return visit.redirect(_path(visit), "handed_over" if done else "nothing_changed")


async def remove(visit: Visit) -> Response:
    developer_id = _id(visit, "developer")
    if not visit.is_confirmed:
        name = await _display_name(visit, developer_id)
        text = "The organisation is closed to this colleague from then on. Keys that were copied go on working."
        return visit.ask(f"Remove {name}?", text, "Remove", _path(visit))
    return await _remove(visit, developer_id)


async def leave(visit: Visit) -> Response:
    if not visit.is_confirmed:
        text = "You can come back only if an owner invites you again. Its keys and users stay as they are."
        return visit.ask(f"Leave {(await provider_of(visit)).name}?", text, "Leave", _path(visit))
    return await _remove(visit, visit.who.developer_id)


async def show_invitation(visit: Visit) -> Response:
    link = visit.path("link")
    found = await visit.read(lambda tx: invitations.find(tx, link, visit.now))
    if found is None:
        return visit.page("link_over.html", status=404, what="invitation")
    session = visit.signed_in
    return visit.page(
        "invitation.html",
        invitation=found,
        link=link,
        is_theirs=session is not None and canonical_email(session.email) == found.email,
    )


async def accept(visit: Visit) -> Response:
    """Only for the account with the address that the link was sent to: a forwarded link is refused."""
    link, now, who = visit.path("link"), visit.now, visit.who

    async def work(tx: Transaction) -> tuple[Invitation | None, bool]:
        found = await invitations.find(tx, link, now)
        if found is None or canonical_email(who.email) != found.email:
            return None, False
        return found, await invitations.accept(tx, found, who.developer_id, now)

    found, done = await visit.write(work)
    if found is None:
        return await show_invitation(visit)
    return visit.redirect(f"/organisations/{to_text(found.provider_id)}", "joined" if done else "nothing_changed")


async def _display_name(visit: Visit, developer_id: bytes) -> str:
    """The name or address of the colleague; `Absent` for every other developer."""
    provider_id = visit.organisation.provider_id
    members = await visit.read(lambda tx: organisations.members_of(tx, provider_id))
    for member in members:
        if member.developer_id == developer_id:
            return display_name(member.name, member.email)
    raise Absent


async def _remove(visit: Visit, developer_id: bytes) -> Response:
    provider_id, now, actor = visit.organisation.provider_id, visit.now, visit.who.developer_id
    name = (await provider_of(visit)).name

    async def work(tx: Transaction) -> bool:
        done = await organisations.remove(tx, provider_id, developer_id, actor, now)
        if done:
            await _notify(
                visit, tx, developer_id, name, "You left" if developer_id == actor else "You were removed from"
            )
        return done

    try:
        done = await visit.write(work)
    except LastOwner:
        return visit.redirect(_path(visit), "last_owner")
    if done and developer_id == actor:
        return visit.redirect("/", "left")
    return visit.redirect(_path(visit), "member_removed" if done else "nothing_changed")


async def _notify(visit: Visit, tx: Transaction, developer_id: bytes, organisation: str, what: str) -> None:
    """Mail to the colleague whose role changed: otherwise a stolen session could take over an organisation unseen."""
    developer = await developers.read(tx, developer_id)
    if developer is None:
        return
    secret, key = visit.portal.secret, f"role\x00{mailbox(developer.email)}"
    try:
        await limits.count(tx, secret, limits.MAIL_TO, key, visit.now)
    except TooMany:
        return  # ten notifications within the hour were sent already
    message = messages.role_changed(developer.email, what, organisation, visit.portal.url("/"))
    await visit.portal.mail.enqueue(tx, message, visit.now)


async def _page(visit: Visit, errors: dict[str, str]) -> Response:
    provider = await provider_of(visit)

    async def look(tx: Transaction) -> dict[str, Any]:
        return {
            "members": await organisations.members_of(tx, provider.id),
            "invitations": await invitations.list_of(tx, provider.id, visit.now),
        }

    shown = await visit.read(look)
    return visit.page("organisation/people.html", errors=errors, provider=provider, **shown)


def _path(visit: Visit) -> str:
    return f"/organisations/{visit.path('organisation')}/people"


def _id(visit: Visit, name: str) -> bytes:
    found = from_text(visit.path(name))
    if found is None:
        raise Absent
    return found


def _role(visit: Visit) -> Role:
    match visit.form.text("role"):
        case "owner":
            return "owner"
        case "member":
            return "member"
    raise Absent


_CALLED = {"owner": "an owner", "member": "a member"}
_PEOPLE = "/organisations/{organisation}/people"

PAGES = (
    Page("GET", _PEOPLE, Needs.member, show),
    Page("POST", f"{_PEOPLE}/invite", Needs.owner, invite),
    Page("POST", f"{_PEOPLE}/leave", Needs.member, leave),
    Page("POST", f"{_PEOPLE}/{{developer}}/role", Needs.owner, set_role),
    Page("POST", f"{_PEOPLE}/{{developer}}/hand-over", Needs.owner, hand_over),
    Page("POST", f"{_PEOPLE}/{{developer}}/remove", Needs.owner, remove),
    Page("POST", "/organisations/{organisation}/invitations/{invitation}/withdraw", Needs.owner, withdraw),
    Page("GET", "/invitations/{link}", Needs.anybody, show_invitation),
    Page("POST", "/invitations/{link}", Needs.signed_in, accept),
)
