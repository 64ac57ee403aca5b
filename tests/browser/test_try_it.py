"""Try it against a real service: an account made in the browser opens in Python, and the reverse."""

import json
import os
import re
import secrets
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, expect

from strongroom import AccountSecret, UnlockRefused

if TYPE_CHECKING:
    from tests.browser.conftest import Portal

PASSPHRASE = "correct horse battery staple"
JOURNEY = 60_000.0


@pytest.fixture
def username() -> str:
    return f"Ada-{secrets.token_hex(4)}"


def fill(page: Page, portal: "Portal", username: str, passphrase: str, admission: str = "") -> None:
    page.get_by_label("Subscription key").fill(portal.subscription_key)
    page.get_by_label("Admission token or provider API key").fill(admission)
    page.get_by_label("Username").fill(username)
    page.get_by_label("Passphrase").fill(passphrase)


def test_python_opens_what_the_browser_registered(page: Page, portal: "Portal", username: str) -> None:
    sent: list[str] = []
    page.on("request", lambda request: sent.append(f"{request.url} {request.headers} {request.post_data}"))
    page.goto(portal.url("/try"))
    with portal.client() as client:
        fill(page, portal, username, PASSPHRASE, client.issue_admission_token())
        page.get_by_role("button", name="Register").click()
        expect(page.locator("#progress")).to_contain_text("Registered in", timeout=JOURNEY)
        expect(page.locator("#requests > li")).to_have_count(9)
        assert "/keystore/users" in "".join(sent)
        assert PASSPHRASE not in "".join(sent)
        page.get_by_role("button", name="Seal").click()
        expect(page.locator("#opened")).to_contain_text("Nothing was sent")
        sealed = page.get_by_label("Sealed value").input_value()
        account = client.unlock(username, PASSPHRASE)
        assert account.open(sealed) == page.get_by_label("Something to keep").input_value().encode()
        assert account.classification_nodes("tag")
    sent.clear()
    page.get_by_role("link", name="Inspect the value").click()
    expect(page.get_by_label("Value")).to_have_value(sealed)
    expect(page.locator("#result")).to_contain_text("Aes256Gcm")
    assert page.url == portal.url("/inspect")
    assert sealed not in "".join(sent)


def test_the_lines_of_the_documentation_work_as_they_stand(page: Page, portal: "Portal", username: str) -> None:
    page.goto(portal.url("/docs"))
    settings = {
        "STRONGROOM_SUBSCRIPTION_KEY": portal.subscription_key,
        "STRONGROOM_PROVIDER_API_KEY": portal.provider_api_key,
    }
    line = page.locator("#first-call").inner_text()
    called = subprocess.run(
        ["sh", "-c", line], env={"PATH": "/usr/bin:/bin", **settings}, capture_output=True, text=True
    )
    assert '"token_value":"sra_' in called.stdout, called.stderr
    program = page.locator("#first-client").inner_text().replace('"ada"', f'"{username}"')
    program = f'passphrase = "{PASSPHRASE}"\n{program}'
    subprocess.run([sys.executable, "-c", program], env=os.environ | settings, check=True)
    with portal.client() as client:
        assert client.unlock(username, PASSPHRASE)


def test_the_browser_opens_what_python_registered(page: Page, portal: "Portal", username: str) -> None:
    with portal.client() as client:
        account = client.register(username, PASSPHRASE, iterations=600_000)
        sealed = account.seal("für dich, ☃".encode())
    page.goto(portal.url("/try"))
    fill(page, portal, username.swapcase(), PASSPHRASE)
    page.get_by_role("button", name="Unlock").click()
    expect(page.locator("#progress")).to_contain_text("Unlocked in", timeout=JOURNEY)
    page.get_by_label("Sealed value").fill(sealed)
    page.get_by_role("button", name="Open").click()
    expect(page.locator("#opened")).to_contain_text("für dich, ☃")
    page.get_by_label("Sealed value").fill(sealed.replace("Aes256Gcm.", "Aes256Gcm.AAAA"))
    page.get_by_role("button", name="Open").click()
    expect(page.locator("#opened")).to_contain_text("decryption failed")


def test_an_account_secret_is_made_and_both_sides_need_it(page: Page, portal: "Portal", username: str) -> None:
    sent: list[str] = []
    page.on("request", lambda request: sent.append(f"{request.url} {request.headers} {request.post_data}"))
    page.goto(portal.url("/try"))
    with portal.client() as client:
        fill(page, portal, username, PASSPHRASE, client.issue_admission_token())
        field = page.get_by_label("Account secret")
        field.fill("srx1_mistyped")
        page.get_by_role("button", name="Register").click()
        expect(field).to_be_focused()
        expect(field).to_have_accessible_description(re.compile("checksum does not hold"))
        page.get_by_role("button", name="Make an account secret").click()
        text = field.input_value()
        page.get_by_role("button", name="Register").click()
        expect(page.locator("#progress")).to_contain_text("Registered in", timeout=JOURNEY)
        assert text not in "".join(sent)
        account = client.unlock(username, PASSPHRASE, account_secret=AccountSecret.parse(text))
        sealed = account.seal(b"from Python")
        with pytest.raises(UnlockRefused):
            client.unlock(username, PASSPHRASE)
    # White space is ignored, for an account secret that was written down in groups.
    field.fill(" ".join(text[at : at + 8] for at in range(0, len(text), 8)))
    page.get_by_role("button", name="Unlock").click()
    expect(page.locator("#progress")).to_contain_text("Unlocked in", timeout=JOURNEY)
    page.get_by_label("Sealed value").fill(sealed)
    page.get_by_role("button", name="Open", exact=True).click()
    expect(page.locator("#opened")).to_contain_text("from Python")


def test_a_portal_that_runs_apart_reaches_the_service(page: Page, portal_apart: "Portal", username: str) -> None:
    with portal_apart.client() as client:
        client.register(username, PASSPHRASE, iterations=600_000)
    page.goto(portal_apart.url("/try"))
    assert portal_apart.address != portal_apart.base_url
    fill(page, portal_apart, username, PASSPHRASE)
    page.get_by_role("button", name="Unlock").click()
    expect(page.locator("#progress")).to_contain_text("Unlocked in", timeout=JOURNEY)


def test_a_wrong_passphrase_is_reported(page: Page, portal: "Portal", username: str) -> None:
    page.goto(portal.url("/try"))
    fill(page, portal, username, "something else")
    page.get_by_role("button", name="Unlock").click()
    failure = page.locator("#failure")
    expect(failure).to_contain_text("invalid_credentials", timeout=JOURNEY)
    failure.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("invalid_credentials")


def test_a_key_that_was_never_activated_is_refused(page: Page, portal: "Portal", username: str) -> None:
    page.goto(portal.url("/try"))
    fill(page, portal, username, PASSPHRASE)
    page.get_by_label("Subscription key").fill(portal.inactive_subscription_key)
    page.get_by_role("button", name="Unlock").click()
    expect(page.locator("#failure")).to_contain_text("subscription_key_inactive", timeout=JOURNEY)


def test_missing_fields_are_named_at_the_field(page: Page, portal: "Portal") -> None:
    page.goto(portal.url("/try"))
    page.get_by_role("button", name="Register").click()
    key = page.get_by_label("Subscription key")
    expect(key).to_be_focused()
    expect(key).to_have_accessible_description(
        "Begins with srk_. It stays in this page and is sent to the service alone. Sign up to have one. "
        "Enter a subscription key."
    )
    assert page.locator("#requests > li").count() == 0


def test_the_inspector_explains_and_sends_nothing(page: Page, portal: "Portal") -> None:
    page.goto(portal.url("/inspect"))
    page.wait_for_load_state("networkidle")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url))
    page.get_by_role("button", name="Key encryption key").click()
    result = page.locator("#result")
    expect(result).to_contain_text("key encryption key")
    expect(result).to_contain_text("t5SJX8tfhQ8u9j-_6gw5-6")
    page.get_by_label("Value").fill("none of this <b>is</b> known")
    expect(result).to_contain_text("Unknown to this inspector")
    page.get_by_label("Value").fill(json.dumps({"salt": "AAAA", "iter": 1000, "length": 32, "hash": "SHA256"}))
    expect(result).to_contain_text("1,000")
    expect(result).to_contain_text("Too cheap to derive")
    assert sent == []
