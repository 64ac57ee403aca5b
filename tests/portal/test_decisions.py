"""The operator's decisions on the command line beside a running portal: acts, notes and mails as on the page."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from click.testing import CliRunner, Result
from tests.portal.furnished import OPERATOR, differences, rows

from strongroom.cli.root import root
from strongroom.runtime.ids import from_text
from strongroom.services import audit
from strongroom.services.audit import Action
from strongroom.storage import Transaction

if TYPE_CHECKING:
    from tests.portal.conftest import Browser, Site

pytestmark = pytest.mark.anyio

Run: TypeAlias = Callable[..., Awaitable[Result]]


@pytest.fixture
def run(site: "Site") -> Run:
    """A command on the data folder of the portal, in a thread: each has an event loop of its own."""

    async def invoke(*arguments: str, **environment: str) -> Result:
        given = {"STRONGROOM_DATA": str(site.outbox.parent), "STRONGROOM_PUBLIC_URL": site.portal.base_url}
        return await asyncio.to_thread(CliRunner().invoke, root, arguments, env=given | environment)

    return invoke


async def apply_for(browser: "Browser", organisation: str, name: str) -> tuple[str, str]:
    """An organisation with a subscription that waits; the ids of both."""
    await browser.get("/organisations/new")
    await browser.send("/organisations/new", name=organisation)
    base = browser.path
    await browser.get(f"{base}/subscribe/production")
    await browser.send(f"{base}/subscribe/production", name=name, terms="yes")
    _, _, provider, _, subscription, *_ = browser.path.split("/")
    return provider, subscription


async def notes(site: "Site", subscription: str) -> list[tuple[Any, ...]]:
    found = await site.portal.store.read(
        lambda tx: tx.all(
            "SELECT action, actor_id, detail FROM audit_events WHERE object_id = :row ORDER BY id",
            row=from_text(subscription),
        )
    )
    return [tuple(row) for row in found][1:]  # the first is that it was made


async def test_what_waits_is_listed_over_all_providers(site: "Site", run: Run) -> None:
    empty = await run("admin", "subscription", "waiting")
    assert (empty.exit_code, empty.stdout) == (0, "")
    assert "No subscription is waiting" in empty.stderr
    ada, bob = await site.sign_up(), await site.sign_up("bob@example.com")
    _, first = await apply_for(ada, "Acme", "shop")
    _, second = await apply_for(bob, "Globex", "till")
    listed = json.loads((await run("admin", "subscription", "waiting", "--json")).stdout)
    assert [(one["id"], one["provider"], one["name"], one["product"], one["owners"]) for one in listed] == [
        (first, "Acme", "shop", "production", ["ada@example.com"]),
        (second, "Globex", "till", "production", ["bob@example.com"]),
    ]
    table = (await run("admin", "subscription", "waiting")).stdout
    assert all(word in table for word in (first, second, "ada@example.com", "Globex"))
    await run("admin", "subscription", "approve", "Acme", first)
    listed = json.loads((await run("admin", "subscription", "waiting", "--json")).stdout)
    assert [one["id"] for one in listed] == [second]


async def test_each_decision_is_recorded_and_owners_are_notified(site: "Site", run: Run) -> None:
    browser = await site.sign_up()
    provider, subscription = await apply_for(browser, "Acme", "shop")
    before = len(await site.mails())
    approved = await run("admin", "subscription", "approve", "Acme", subscription)
    assert approved.exit_code == 0, approved.stderr
    assert "1 owner will get a mail" in approved.stderr
    (mail,) = (await site.mails())[before:]
    body = mail.get_body(("plain",))
    assert body is not None
    assert "“shop” was approved" in body.get_content()
    path = f"/organisations/{provider}/subscriptions/{subscription}"
    assert await site.link() == path
    await browser.get(path)
    await browser.send(f"{path}/activate")

    reason = "Three times the quota of last month."
    for act, state in (("suspend", "suspended"), ("resume", "active")):
        done = await run("admin", "subscription", act, "Acme", subscription, "--reason", reason, "--json")
        assert json.loads(done.stdout) == {"id": subscription, "state": state, "owners_notified": 1}
        body = (await site.mails())[-1].get_body(("plain",))
        assert body is not None
        assert f"The operator says: {reason}" in body.get_content()
    assert await notes(site, subscription) == [
        ("subscription_approved", None, ""),
        ("subscription_activated", (await notes(site, subscription))[1][1], ""),
        ("subscription_suspended", None, reason),
        ("subscription_resumed", None, reason),
    ]


async def test_a_rejected_subscription_has_ended(site: "Site", run: Run) -> None:
    browser = await site.sign_up()
    provider, subscription = await apply_for(browser, "Acme", "shop")
    done = await run("admin", "subscription", "reject", "Acme", subscription, "--reason", "No such app.")
    assert done.exit_code == 0, done.stderr
    assert await notes(site, subscription) == [("subscription_rejected", None, "No such app.")]
    await browser.get(f"/organisations/{provider}/subscriptions/{subscription}")
    assert "The operator did not approve this subscription. The reason: No such app." in browser.text
    assert (await run("admin", "subscription", "waiting")).stdout == ""


async def test_the_reason_of_a_suspension_is_shown_until_it_is_resumed(site: "Site", run: Run) -> None:
    browser = await site.sign_up()
    provider, subscription = await apply_for(browser, "Acme", "shop")
    page = f"/organisations/{provider}/subscriptions/{subscription}"
    for act, *more in (("approve",), ("activate",), ("suspend", "--reason", "A key was found in public.")):
        await run("admin", "subscription", act, "Acme", subscription, *more)
    assert "The reason: A key was found in public." in (await browser.get(page)).text
    for act in ("resume", "cancel"):
        await run("admin", "subscription", act, "Acme", subscription)
        assert "reason" not in (await browser.get(page)).text
        assert "not approve" not in browser.text


async def test_operators_are_notified_of_waiting_subscriptions_up_to_a_limit(site: "Site") -> None:
    browser = await site.sign_up()
    await apply_for(browser, "Acme", "shop 0")
    base = browser.path.partition("/subscriptions/")[0]
    (mail,) = await site.mails(OPERATOR)
    body = mail.get_body(("plain",))
    assert body is not None
    assert all(word in " ".join(body.get_content().split()) for word in ("“Acme”", "“shop 0”", "Production"))
    assert await site.link(OPERATOR) == "/operator"
    for number in range(1, 7):
        await browser.get(f"{base}/subscribe/production")
        await browser.send(f"{base}/subscribe/production", name=f"shop {number}", terms="yes")
        assert "The keys of" in browser.text
    await browser.get(f"{base}/subscribe/sandbox")
    await browser.send(f"{base}/subscribe/sandbox", name="ready at once", terms="yes")
    assert len(await site.mails(OPERATOR)) == 5
    site.clock.move(3601)
    browser = await site.sign_in()
    await browser.get(f"{base}/subscribe/production")
    await browser.send(f"{base}/subscribe/production", name="later", terms="yes")
    assert len(await site.mails(OPERATOR)) == 6


async def test_keys_made_on_the_command_line_leave_the_notes_that_the_pages_leave(site: "Site", run: Run) -> None:
    browser = await site.sign_up()
    provider, subscription = await apply_for(browser, "Acme", "shop")
    await run("admin", "subscription", "approve", "Acme", subscription)
    key_id = "01a1feae-8717-7eaa-b555-04fe709261a1"
    for words in (
        ("subscription", "activate", "Acme", subscription),
        ("subscription", "regenerate", "Acme", subscription, "secondary", "--grace", "2h"),
        ("provider-key", "create", "Acme", "--name", "backend"),
        ("subscription", "cancel", "Acme", subscription),
    ):
        done = await run("admin", *words)
        assert done.exit_code == 0, done.stderr
    assert (await run("admin", "provider-key", "revoke", "Acme", key_id)).exit_code == 1
    await browser.get(f"/organisations/{provider}/activity")
    for said in (
        "Subscription “shop” activated",
        "secondary, the old key works for 2 hours more, the new one: no end",
        "backend (srp_...",
        "Subscription “shop” cancelled",
    ):
        assert said in browser.text
    assert "revoked" not in browser.text


@pytest.mark.parametrize("act", ["approve", "reject", "suspend", "resume"])
async def test_an_impossible_decision_changes_nothing_and_sends_no_mail(site: "Site", run: Run, act: str) -> None:
    browser = await site.sign_up()
    _, subscription = await apply_for(browser, "Acme", "shop")
    if act in ("approve", "reject"):
        await run("admin", "subscription", "approve", "Acme", subscription)
    await site.mails()
    before = await rows(site)
    for words in (
        ("Acme", subscription),
        ("Acme", "0198c0de-0000-7000-8000-000000000000"),
        ("Globex", subscription),
        ("Acme", subscription, "--reason", "x" * 161),
        ("Acme", subscription, "--reason", "two\nlines"),
    ):
        refused = await run("admin", "subscription", act, *words)
        assert refused.exit_code in (1, 2)
        assert "Traceback" not in refused.output
    assert differences(before, await rows(site)) == set()


async def test_a_provider_without_owners_gets_no_mail(site: "Site", run: Run) -> None:
    assert (await run("admin", "provider", "create", "Acme")).exit_code == 0
    made = await run("admin", "subscription", "create", "Acme", "--needs-approval", "--json")
    subscription = json.loads(made.stdout)["id"]
    waiting = await run("admin", "subscription", "waiting", "--json")
    assert json.loads(waiting.stdout)[0]["owners"] == []
    done = await run("admin", "subscription", "approve", "Acme", subscription, "--json")
    assert json.loads(done.stdout) == {"id": subscription, "state": "submitted", "owners_notified": 0}


async def test_a_reason_is_found_however_much_happened_since(site: "Site", run: Run) -> None:
    browser = await site.sign_up()
    provider, subscription = await apply_for(browser, "Acme", "shop")
    for act, *more in (("approve",), ("activate",), ("suspend", "--reason", "A key was found in public.")):
        await run("admin", "subscription", act, "Acme", subscription, *more)
    provider_id, now = from_text(provider), site.clock.now()
    assert provider_id is not None

    async def much(tx: Transaction) -> None:
        for _ in range(120):
            await audit.record(tx, provider_id, Action.subscription_suspended, now, object_id=b"x" * 16, detail="No.")

    await site.portal.store.write(much)
    page = f"/organisations/{provider}/subscriptions/{subscription}"
    assert "The reason: A key was found in public." in (await browser.get(page)).text
