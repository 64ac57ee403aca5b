"""Try it against a malicious service: no unauthenticated value opens, and no answer becomes markup."""

import json
import secrets
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import Page, Route, expect

from strongroom.crypto.encoding import encode_padded

if TYPE_CHECKING:
    from tests.browser.conftest import Portal

PASSPHRASE = "correct horse battery staple"
JOURNEY = 60_000.0
DERIVATION = "/keystore/passphrase_derivation_artefact"
KEK = "/keystore/key_encryption_key"
DEKS = "/keystore/data_encryption_keys"
KEYPAIR = "/keystore/keypairs/external_id/vault"
VAULT = "/vault/session"
MARKUP = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
WEAK = encode_padded(json.dumps({"salt": "A" * 43 + "=", "iter": 1, "length": 32, "hash": "SHA256"}).encode())
SLOW = encode_padded(json.dumps({"salt": "A" * 43 + "=", "iter": 2**31 - 1, "length": 32, "hash": "SHA256"}).encode())


@pytest.fixture(scope="module")
def username(portal: "Portal") -> str:
    name = f"ada-{secrets.token_hex(4)}"
    with portal.client() as client:
        client.register(name, PASSPHRASE, iterations=600_000)
    return name


@pytest.fixture(scope="module")
def other(portal: "Portal") -> str:
    """Another account with the same passphrase."""
    name = f"eve-{secrets.token_hex(4)}"
    with portal.client() as client:
        client.register(name, PASSPHRASE, iterations=600_000)
    return name


def unlock(page: Page, portal: "Portal", username: str) -> None:
    page.goto(portal.url("/try"))
    page.get_by_label("Subscription key").fill(portal.subscription_key)
    page.get_by_label("Username").fill(username)
    page.get_by_label("Passphrase").fill(PASSPHRASE)
    page.get_by_role("button", name="Unlock").click()


def answering(page: Page, path: str, answer: Any, status: int = 200) -> None:
    """From now on this path answers this to every request."""
    body = answer if isinstance(answer, str) else json.dumps(answer)
    page.route(f"**{path}", lambda route: route.fulfill(status=status, body=body, content_type="application/json"))


def refused(page: Page, wording: str = "") -> None:
    failure = page.locator("#failure")
    expect(failure).not_to_be_empty(timeout=JOURNEY)
    expect(failure).to_contain_text(wording)
    expect(page.locator("#sealing")).to_be_hidden()


def test_nothing_of_another_account_opens(page: Page, portal: "Portal", username: str, other: str) -> None:
    theirs: dict[str, str] = {}

    def keep(route: Route) -> None:
        answer = route.fetch()
        theirs[route.request.url.removeprefix(portal.base_url)] = answer.text()
        route.fulfill(response=answer)

    page.route(f"{portal.base_url}/keystore/**", keep)
    page.route(f"{portal.base_url}/vault/**", keep)
    unlock(page, portal, other)
    expect(page.locator("#progress")).to_contain_text("Unlocked in", timeout=JOURNEY)
    page.unroute_all()
    for path in (DERIVATION, KEK, DEKS, KEYPAIR, VAULT):
        answering(page, path, theirs[path])
        unlock(page, portal, username)
        refused(page)
        page.unroute(f"**{path}")
    # All of it together is the other account, and is not taken for this one either.
    for path in (DERIVATION, KEK, DEKS, KEYPAIR, VAULT):
        answering(page, path, theirs[path])
    unlock(page, portal, username)
    refused(page)


@pytest.mark.parametrize("artefacts", [WEAK, SLOW], ids=["weak", "endless"])
def test_parameters_are_refused_before_any_work(page: Page, portal: "Portal", username: str, artefacts: str) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    def change(route: Route) -> None:
        body = route.fetch().json()
        body["passphrase_derivation_artefact"]["derivation_artefacts"] = artefacts
        route.fulfill(json=body)

    page.route(f"**{DERIVATION}", change)
    unlock(page, portal, username)
    refused(page)
    assert not any(KEK in url for url in asked)


def test_an_answer_is_text_and_never_part_of_the_page(page: Page, portal: "Portal", username: str) -> None:
    problem = {"detail": MARKUP, "title": MARKUP, "code": "../../../evil.example/" + MARKUP, "type": "javascript:1"}
    answering(page, DERIVATION, problem, 422)
    unlock(page, portal, username)
    refused(page, "<img src=x")
    page.locator("#requests details").last.evaluate("details => { details.open = true; }")
    assert page.locator("main img, #failure script, #requests script").count() == 0
    link = page.locator("#failure a")
    href = link.evaluate("link => link.href")
    assert href.startswith(portal.url("/docs/errors/..%2F"))
    assert page.title() == "Try it · Strongroom"


@pytest.mark.parametrize(
    "answer",
    ["", "[]", '{"passphrase_derivation_artefact": {"derivation_artefacts": {}}}', '{"a":' * 5000 + "1" + "}" * 5000],
    ids=["nothing", "a list", "no text", "deep"],
)  # fmt: skip
def test_a_malformed_answer_is_reported_as_a_fault_of_the_service(
    page: Page, portal: "Portal", username: str, answer: str
) -> None:
    answering(page, DERIVATION, answer)
    unlock(page, portal, username)
    refused(page, "does not follow the protocol")


def test_nothing_is_kept_in_the_browser(page: Page, portal: "Portal", username: str) -> None:
    unlock(page, portal, username)
    expect(page.locator("#progress")).to_contain_text("Unlocked in", timeout=JOURNEY)
    stores = "[localStorage.length, sessionStorage.length, (await indexedDB.databases()).length, document.cookie]"
    assert page.evaluate(f"async () => {stores}") == [0, 0, 0, ""]
    # What opens something without further proof is not shown in full: a screenshot must not be a sign-in.
    requests = page.locator("#requests").text_content() or ""
    for prefix in ("srl1_", "srs_", "srk_"):
        assert not any(len(word) > 30 for word in requests.split('"') if word.startswith(prefix))
