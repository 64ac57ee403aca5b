"""Every act on keys, roles, subscriptions and users leaves its line: who did what to which of them."""

from dataclasses import dataclass
from typing import TypeAlias

import pytest
from tests.portal.furnished import OPERATOR, restore
from tests.portal.world import MEMBER, OWNER, World

from strongroom.access import closing
from strongroom.portal.pages import ALL
from strongroom.portal.web.page import Needs
from strongroom.runtime.ids import from_text
from strongroom.storage import Transaction

pytestmark = pytest.mark.anyio

ORGANISATION, SUBSCRIPTION = (
    "/organisations/{organisation}",
    "/organisations/{organisation}/subscriptions/{subscription}",
)
PEOPLE, OPERATE = f"{ORGANISATION}/people", "/operator/subscriptions/{provider}/{subscription}/{act}"
USER = f"{ORGANISATION}/users/{{area}}/{{user}}/{{act}}"


Line: TypeAlias = tuple[bytes, bytes | None, str, bytes | None, str]
"""Whose organisation or account, who, what, to which object, and how."""


@dataclass(frozen=True)
class Act:
    """A form that is sent, and the line it has to leave."""

    who: str
    path: str
    action: str
    about: str
    """What the path calls it; `who` for the caller, `new` for what was not there before."""
    detail: str
    """A word that the line has to hold."""
    first: str
    """What is done before, so that it can be done at all."""
    given: dict[str, str]
    """Fields of the form, and what stands in the path."""


def act(who: str, path: str, action: str, about: str, detail: str = "", first: str = "", **given: str) -> Act:
    return Act(who, path, action, about, detail, first, given)


ACTS = (
    act(MEMBER, f"{ORGANISATION}/subscribe/{{product}}", "subscription_created", "new", "sandbox"),
    act(MEMBER, f"{SUBSCRIPTION}/activate", "subscription_activated", "subscription", subscription="inactive"),
    act(MEMBER, f"{SUBSCRIPTION}/name", "subscription_renamed", "subscription", "shop", name="shop"),
    act(MEMBER, f"{SUBSCRIPTION}/expiry", "expiry_changed", "subscription", "no end", ends=""),
    act(OWNER, f"{SUBSCRIPTION}/cancel", "subscription_cancelled", "subscription"),
    act(MEMBER, f"{SUBSCRIPTION}/keys", "key_regenerated", "subscription", "primary", slot="primary"),
    act(MEMBER, f"{SUBSCRIPTION}/keys", "key_regenerated", "subscription", "7 days", slot="secondary", grace="week"),
    act(MEMBER, f"{SUBSCRIPTION}/key-expiry", "key_expiry_changed", "subscription", "primary", slot="primary"),
    act(MEMBER, f"{SUBSCRIPTION}/replaced-keys", "key_ended", "subscription", "primary", slot="primary"),
    act(OWNER, f"{ORGANISATION}/settings/name", "organisation_renamed", "", "Apex", name="Apex"),
    act(OWNER, f"{ORGANISATION}/settings/close", "organisation_closed", "", "Acme", confirmation="Acme"),
    act(OWNER, f"{ORGANISATION}/settings/close", "members_let_go", "", "2 people", confirmation="Acme"),
    act(OWNER, f"{ORGANISATION}/api-keys", "api_key_created", "", "backend", name="backend"),
    act(OWNER, f"{ORGANISATION}/api-keys/{{key}}/revoke", "api_key_revoked", "key", "day", grace="day"),
    act(OWNER, f"{PEOPLE}/invite", "member_invited", "new", "owner", email="dora@example.com"),
    act(OWNER, f"{ORGANISATION}/invitations/{{invitation}}/withdraw", "invitation_withdrawn", "invitation"),
    act(OWNER, f"{PEOPLE}/{{developer}}/role", "role_changed", "developer", "owner", role="owner"),
    act(OWNER, f"{PEOPLE}/{{developer}}/hand-over", "role_changed", "developer", "owner"),
    act(OWNER, f"{PEOPLE}/{{developer}}/hand-over", "role_changed", "who", "member"),
    act(OWNER, f"{PEOPLE}/{{developer}}/remove", "member_removed", "developer"),
    act(MEMBER, f"{PEOPLE}/leave", "member_left", "who"),
    act(OWNER, USER, "user_suspended", "user", "keystore", act="suspend"),
    act(OWNER, USER, "user_resumed", "user", "keystore", act="resume", first="suspend"),
    act(OPERATOR, OPERATE, "subscription_approved", "subscription", act="approve", subscription="waiting"),
    act(OPERATOR, OPERATE, "subscription_rejected", "subscription", act="reject", subscription="waiting"),
    act(OPERATOR, OPERATE, "subscription_suspended", "subscription", act="suspend"),
    act(OPERATOR, OPERATE, "subscription_resumed", "subscription", act="resume", first="suspend"),
    act(OWNER, "/account/recovery-codes", "recovery_codes_made", ""),
    act(OWNER, "/account/passkeys/{passkey}/remove", "passkey_removed", "passkey"),
    act(OPERATOR, "/account/totp/off", "totp_off", ""),
    act(MEMBER, "/account/password", "password_changed", "", new_password="quite another password"),
)
NO_LINE = {f"{ORGANISATION}/users/find": "it changes nothing"}


async def lines(world: World) -> dict[bytes, Line]:
    """Both audits, by the ids of their lines."""

    async def look(tx: Transaction) -> dict[bytes, Line]:
        found = await tx.all("SELECT id, subject_id, actor_id, action, object_id, detail FROM audit_events")
        return {row[0]: (row[1], row[2], row[3], row[4], row[5]) for row in found}

    portal = world.site.portal
    return {**await portal.store.read_many(look), **await portal.store.read_many(look)}


async def developer(world: World, email: str) -> bytes:
    row = await world.site.portal.store.read(lambda tx: tx.one("SELECT id FROM developers WHERE email = :e", e=email))
    assert row is not None
    return bytes(row[0])


async def left_by(world: World, done: Act) -> list[Line]:
    """The lines that were not there before."""
    [page] = [page for page in ALL if page.method == "POST" and page.path == done.path]
    fields = dict(done.given)
    named = {name: fields.pop(name) for name in ("subscription", "act") if name in fields}
    if "subscription" in named:
        named["subscription"] = world.acme.ids[named["subscription"]]
    if done.first:
        await world.call(done.who, page, world.acme.address(page, **{**named, "act": done.first}))
    before = await lines(world)
    await world.call(done.who, page, world.acme.address(page, **named), **fields)
    return [line for row, line in (await lines(world)).items() if row not in before]


async def test_every_act_leaves_its_line(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closing, "QUIET", 0)  # its keys were used just now
    known = {from_text(found) for found in world.acme.ids.values()}
    organisation = from_text(world.acme.ids["organisation"])
    wrong = []
    for done in ACTS:
        actor = await developer(world, done.who)
        subject = actor if done.path.startswith("/account/") else organisation
        left = await left_by(world, done)
        objects = [
            row
            for whose, who, action, row, detail in left
            if (whose, who, action) == (subject, actor, done.action) and done.detail in detail
        ]
        if done.about == "new":
            is_right = len(objects) == 1 and objects[0] is not None and objects[0] not in known
        elif done.about == "who":
            is_right = objects == [actor]
        elif done.about:
            name = done.given.get("subscription", done.about) if done.about == "subscription" else done.about
            is_right = objects == [from_text(world.acme.ids[name])]
        else:
            is_right = len(objects) == 1
        if not is_right or {(whose, who) for whose, who, *_ in left} != {(subject, actor)}:
            wrong.append((done, left))
        await restore(world.site, world.rows)
    assert wrong == []


def test_every_act_of_an_organisation_is_covered() -> None:
    pages = {
        page.path for page in ALL if page.method == "POST" and page.needs in (Needs.member, Needs.owner, Needs.operator)
    }
    assert pages - {done.path for done in ACTS} == set(NO_LINE)
