"""The activity of an organisation says of each change which key, subscription or colleague it was."""

import html
import re
from typing import Any, cast

import pytest

from strongroom.portal.membership.activity import SENTENCES
from strongroom.runtime.ids import from_text
from strongroom.services import audit
from strongroom.services.audit import Action

pytestmark = pytest.mark.anyio

BOB = "bob@example.com"
PASSWORD = "plain words for a portal"


async def lines(browser: Any, base: str) -> list[tuple[str, ...]]:
    """Who, what and detail of each line, newest first."""
    await browser.get(f"{base}/activity")
    rows = re.findall(r"<tr>(<td.*?)</tr>", browser.text)
    return [
        tuple(html.unescape(re.sub("<[^>]+>", "", cell)) for cell in re.findall("<td.*?</td>", row)) for row in rows
    ]


async def organisation(browser: Any) -> str:
    await browser.get("/organisations/new")
    await browser.send("/organisations/new", name="Acme")
    path: str = browser.path
    return path


async def test_every_line_names_its_object(site: Any) -> None:
    ada = await site.sign_up()
    base = await organisation(ada)
    await ada.get(f"{base}/subscribe/sandbox")
    await ada.send(f"{base}/subscribe/sandbox", name="app", terms="yes")
    subscription = ada.path.partition("/keys/")[0]
    await ada.send(f"{subscription}/activate")
    await ada.get(f"{base}/api-keys")
    await ada.send(f"{base}/api-keys", name="backend")
    hint = re.findall(r"srp_\w+", ada.text)[0]
    hint = f"{hint[:4]}...{hint[-4:]}"
    await ada.get(f"{base}/api-keys")
    [revoke] = [action.removeprefix("/portal") for action, _ in ada._forms if action.endswith("/revoke")]
    await ada.send(revoke, grace="day", confirmed="yes")
    await ada.get(f"{base}/people")
    await ada.send(f"{base}/people/invite", email=BOB, role="member")
    link = await site.link(BOB)
    bob = await site.sign_up(BOB, name="Bob")
    await bob.get(link)
    await bob.send(link)
    shown = [line[1:] for line in await lines(ada, base)]
    me = "Ada (ada@example.com)"
    assert ("Bob (bob@example.com)", "Bob (bob@example.com) joined", "member") in shown
    assert (me, "A colleague invited", f"{BOB} as member") in shown
    assert (me, f"Provider API key “backend” ({hint}) revoked", "works for 1 day more") in shown
    assert (me, "Subscription “app” activated", "") in shown
    assert (me, "Subscription “app” created", "app: sandbox, terms accepted") in shown
    assert shown[-1] == (me, "Organisation created", "Acme")


async def test_who_deletes_the_account_has_left(site: Any) -> None:
    ada = await site.sign_up()
    base = await organisation(ada)
    await ada.get(f"{base}/people")
    await ada.send(f"{base}/people/invite", email=BOB, role="member")
    link = await site.link(BOB)
    bob = await site.sign_up(BOB, name="Bob")
    await bob.get(link)
    await bob.send(link)
    await bob.get("/account/delete")
    await bob.send("/account/delete", password=PASSWORD)
    gone = "A deleted account"
    assert (await lines(ada, base))[0][1:] == (gone, f"{gone} left", "with the account")


async def test_a_name_that_is_taken_leaves_no_note_of_an_organisation(site: Any) -> None:
    ada = await site.sign_up()
    await organisation(ada)
    await ada.get("/organisations/new")
    assert (await ada.send("/organisations/new", name="Acme")).status_code == 422
    created = "SELECT detail FROM audit_events WHERE action = 'organisation_created'"
    assert len(await site.portal.store.read(lambda tx: tx.all(created))) == 1


async def test_an_unknown_act_is_shown_by_its_name(site: Any) -> None:
    ada = await site.sign_up()
    base = await organisation(ada)
    provider_id = from_text(base.rpartition("/")[2])
    assert provider_id is not None
    now = site.clock.now()
    new = cast("Action", "something_new")
    await site.portal.store.write(lambda tx: audit.record(tx, provider_id, new, now, detail="a detail"))
    assert ("The operator", "Something new", "a detail") in [line[1:] for line in await lines(ada, base)]


def test_every_act_has_a_sentence_of_its_own() -> None:
    assert SENTENCES.keys() == set(Action)
    assert len({sentence for sentence, _ in SENTENCES.values()}) == len(Action)
