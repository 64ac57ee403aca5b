"""The second step of signing in: codes good once, recovery codes, passkeys, and no way around it."""

import json
import re
from typing import TYPE_CHECKING

import pyotp
import pytest
from tests.portal.authenticator import Authenticator

from strongroom.portal.accounts import second_factor, sessions
from strongroom.portal.accounts.developers import Developer
from strongroom.portal.limits import SECOND_FACTOR
from strongroom.portal.pages import second_factor as page
from strongroom.portal.web.page import Visit
from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Transaction

if TYPE_CHECKING:
    from tests.portal.conftest import Browser, Site

pytestmark = pytest.mark.anyio

EMAIL = "ada@example.com"
PASSWORD = "plain words for a portal"


def code_at(key: str, site: "Site", *, steps: int = 0) -> str:
    return pyotp.TOTP(key).at(site.clock.now() // 1000, counter_offset=steps)


async def with_totp(site: "Site") -> tuple[str, list[str]]:
    """A developer who turned codes on; the key and the recovery codes."""
    browser = await site.sign_up()
    await browser.get("/account/totp")
    found = re.search(r'<code id="key"[^>]*>([A-Z2-7 ]+)</code>', browser.text)
    assert found
    key = found[1].replace(" ", "")
    await browser.send("/account/totp", code=code_at(key, site, steps=-1), password=PASSWORD)
    codes = re.findall(r"\b[a-hjkmnp-z02-9]{5}-[a-hjkmnp-z02-9]{5}\b", browser.text)
    assert len(codes) == 10
    return key, codes


async def with_passkey(site: "Site", authenticator: Authenticator) -> "Browser":
    browser = await site.sign_up()
    await add_passkey(browser, authenticator)
    return browser


async def add_passkey(browser: "Browser", authenticator: Authenticator, password: str = PASSWORD) -> int:
    await browser.get("/account/passkeys")
    options = await browser.post("/account/passkeys/options", password=password)
    if options.status_code != 200:
        return options.status_code
    answer = await browser.post("/account/passkeys", credential=authenticator.make(options.json()), name="blue key")
    return answer.status_code


async def use_passkey(browser: "Browser", authenticator: Authenticator) -> int:
    options = await browser.post("/sign-in/passkey/options")
    assert options.status_code == 200
    answer = await browser.post("/sign-in/passkey", credential=authenticator.use(options.json()), next="/account")
    if answer.status_code == 200:
        assert answer.json() == {"next": "/portal/account"}
    return answer.status_code


async def test_a_code_is_asked_for_and_nothing_is_open_before(site: "Site") -> None:
    key, _ = await with_totp(site)
    browser = await site.sign_in()
    assert browser.path == "/sign-in/second-factor"
    assert not browser.is_signed_in
    assert (await browser.get("/account")).url.path == "/portal/sign-in/second-factor"
    await browser.send("/sign-in/second-factor", code=code_at(key, site))
    assert browser.is_signed_in


async def test_a_code_is_good_once(site: "Site") -> None:
    key, _ = await with_totp(site)
    code = code_at(key, site)
    first, second = await site.sign_in(), await site.sign_in()
    await first.send("/sign-in/second-factor", code=code)
    await second.send("/sign-in/second-factor", code=code)
    assert first.is_signed_in
    assert not second.is_signed_in
    assert "was used before" in second.text


async def test_the_code_that_proved_the_device_is_used_up_too(site: "Site") -> None:
    key, _ = await with_totp(site)
    browser = await site.sign_in()
    await browser.send("/sign-in/second-factor", code=code_at(key, site, steps=-1))
    assert not browser.is_signed_in


async def test_codes_of_other_times_are_refused(site: "Site") -> None:
    key, _ = await with_totp(site)
    browser = await site.sign_in()
    for steps in (-4, 4):
        await browser.send("/sign-in/second-factor", code=code_at(key, site, steps=steps))
        assert not browser.is_signed_in


async def test_a_recovery_code_replaces_a_code_once(site: "Site") -> None:
    _, codes = await with_totp(site)
    first = await site.sign_in()
    await first.send("/sign-in/second-factor", code=codes[3].upper())
    assert first.is_signed_in
    second = await site.sign_in()
    await second.send("/sign-in/second-factor", code=codes[3])
    assert not second.is_signed_in
    await first.get("/account/security")
    assert "9 left" in first.text
    assert "Recovery code used to sign in" in first.text


async def test_new_recovery_codes_end_the_old_ones(site: "Site") -> None:
    _, codes = await with_totp(site)
    browser = await site.sign_in()
    await browser.send("/sign-in/second-factor", code=codes[0])
    await browser.get("/account/recovery-codes")
    await browser.send("/account/recovery-codes", password="not the password")
    assert browser.seen is not None
    assert browser.seen.status_code == 422
    await browser.send("/account/recovery-codes", password=PASSWORD)
    assert len(re.findall(r"\b[a-hjkmnp-z02-9]{5}-[a-hjkmnp-z02-9]{5}\b", browser.text)) == 10
    other = await site.sign_in()
    await other.send("/sign-in/second-factor", code=codes[1])
    assert not other.is_signed_in


async def test_guessing_codes_comes_to_an_end(site: "Site") -> None:
    key, _ = await with_totp(site)
    browser = await site.sign_in()
    for _ in range(SECOND_FACTOR.times):
        await browser.send("/sign-in/second-factor", code="000000")
    answer = await browser.send("/sign-in/second-factor", code=code_at(key, site))
    assert answer.status_code == 429


async def test_a_reset_does_not_get_around_the_second_step(site: "Site") -> None:
    await with_totp(site)
    browser = site.browser()
    await browser.get("/reset")
    await browser.send("/reset", email=EMAIL)
    link = await site.link(EMAIL, "/reset/")
    await browser.get(link)
    await browser.send(link, password="quite another password")
    other = await site.sign_in(password="quite another password")
    assert other.path == "/sign-in/second-factor"


async def test_codes_move_to_a_new_server_secret_at_the_next_sign_in(site: "Site") -> None:
    key, _ = await with_totp(site)
    portal, previous, current = site.portal, b"p" * 32, b"c" * 32

    async def sealed() -> bytes:
        [(value,)] = await portal.store.read(lambda tx: tx.all("SELECT totp_key FROM developers"))
        return bytes(value)

    [(developer_id,)] = await portal.store.read(lambda tx: tx.all("SELECT id FROM developers"))
    before = second_factor.seal_key(ServerSecret(previous), developer_id, key)
    await portal.store.write(lambda tx: tx.execute("UPDATE developers SET totp_key = :sealed", sealed=before))
    object.__setattr__(portal, "secret", ServerSecret(current, previous))
    browser = await site.sign_in()
    await browser.send("/sign-in/second-factor", code="000000")
    assert await sealed() == before
    await browser.send("/sign-in/second-factor", code=code_at(key, site))
    assert browser.is_signed_in
    moved = await sealed()
    object.__setattr__(portal, "secret", ServerSecret(current))
    assert second_factor.unseal_key(portal.secret, developer_id, moved) == key
    site.clock.move(60)
    browser = await site.sign_in()
    await browser.send("/sign-in/second-factor", code=code_at(key, site))
    assert browser.is_signed_in
    assert await sealed() == moved


async def test_turning_codes_off_asks_for_the_password(site: "Site") -> None:
    key, _ = await with_totp(site)
    browser = await site.sign_in()
    await browser.send("/sign-in/second-factor", code=code_at(key, site))
    await browser.get("/account/totp/off")
    await browser.send("/account/totp/off", password="not the password")
    assert 'id="password-error"' in browser.text
    await browser.send("/account/totp/off", password=PASSWORD)
    assert "Authenticator codes are off" in browser.text
    assert (await site.sign_in()).is_signed_in


async def test_the_key_is_stored_nowhere_in_clear(site: "Site") -> None:
    key, codes = await with_totp(site)
    await site.portal.store.check()
    held = b"".join(file.read_bytes() for file in site.outbox.parent.glob("access.sqlite*"))
    assert EMAIL.encode() in held
    assert key.encode() not in held
    assert not any(code.replace("-", "").encode() in held for code in codes)


async def test_a_passkey_is_a_second_step(site: "Site") -> None:
    authenticator = Authenticator()
    await with_passkey(site, authenticator)
    browser = await site.sign_in()
    assert browser.path == "/sign-in/second-factor"
    assert await use_passkey(browser, authenticator) == 200
    await browser.get("/account/security")
    assert browser.is_signed_in
    assert "blue key" in browser.text


async def test_a_passkey_alone_signs_in(site: "Site") -> None:
    authenticator = Authenticator()
    await with_passkey(site, authenticator)
    browser = site.browser()
    await browser.get("/sign-in")
    assert await use_passkey(browser, authenticator) == 200
    await browser.get("/")
    assert browser.is_signed_in


async def test_a_proof_is_good_once_and_for_one_browser(site: "Site") -> None:
    authenticator = Authenticator()
    await with_passkey(site, authenticator)
    browser, thief = site.browser(), site.browser()
    await browser.get("/sign-in")
    await thief.get("/sign-in")
    options = (await browser.post("/sign-in/passkey/options")).json()
    proof = authenticator.use(options)
    assert (await thief.post("/sign-in/passkey", credential=proof)).status_code == 422
    assert (await browser.post("/sign-in/passkey", credential=proof)).status_code == 200
    await browser.get("/")
    assert (await browser.post("/sign-in/passkey", credential=proof)).status_code == 422


@pytest.mark.parametrize(
    "authenticator",
    [
        Authenticator(origin="http://evil.example"),
        Authenticator(host="evil.example"),
        Authenticator(verifies=False),
    ],
    ids=["another origin", "another host", "no PIN"],
)
async def test_proofs_for_others_are_refused(site: "Site", authenticator: Authenticator) -> None:
    browser = await site.sign_up()
    assert await add_passkey(browser, authenticator) == 422


async def test_an_unknown_passkey_is_refused(site: "Site") -> None:
    await site.sign_up()
    browser = site.browser()
    await browser.get("/sign-in")
    assert await use_passkey(browser, Authenticator()) == 422


async def test_a_passkey_of_another_account_is_no_second_step(site: "Site") -> None:
    await with_passkey(site, Authenticator())
    theirs = Authenticator()
    other = await site.sign_up("eve@example.com")
    assert await add_passkey(other, theirs) == 200
    browser = await site.sign_in()
    assert await use_passkey(browser, theirs) == 422


async def test_a_copied_authenticator_is_noticed(site: "Site") -> None:
    authenticator = Authenticator()
    await with_passkey(site, authenticator)
    browser = site.browser()
    await browser.get("/sign-in")
    authenticator.count = 10
    assert await use_passkey(browser, authenticator) == 200
    authenticator.count = 3
    other = site.browser()
    await other.get("/sign-in")
    assert await use_passkey(other, authenticator) == 422


async def test_adding_a_passkey_asks_for_the_password(site: "Site") -> None:
    browser = await site.sign_up()
    assert await add_passkey(browser, Authenticator(), "not the password") == 422


@pytest.mark.parametrize(
    "credential", ["", "{}", "[]", "x", json.dumps({"response": {"clientDataJSON": "e30"}}), "[" * 9000]
)
async def test_what_is_no_proof_is_refused(site: "Site", credential: str) -> None:
    browser = site.browser()
    await browser.get("/sign-in")
    assert (await browser.post("/sign-in/passkey", credential=credential)).status_code == 422


async def test_removing_the_last_passkey_ends_the_second_step(site: "Site") -> None:
    browser = await with_passkey(site, Authenticator())
    await browser.get("/account/security")
    found = re.search(r'href="/portal(/account/passkeys/[0-9a-f-]{36}/remove)"', browser.text)
    assert found
    await browser.get(found[1])
    await browser.send(found[1], password=PASSWORD)
    assert "The passkey was removed" in browser.text
    assert (await site.sign_in()).is_signed_in


async def test_a_new_passkey_leads_to_recovery_codes_if_there_are_none(site: "Site") -> None:
    browser, next_pages = await site.sign_up(), []
    for _ in range(2):
        authenticator = Authenticator()
        await browser.get("/account/passkeys")
        options = await browser.post("/account/passkeys/options", password=PASSWORD)
        credential = authenticator.make(options.json())
        next_pages.append((await browser.post("/account/passkeys", credential=credential, name="key")).json()["next"])
        await browser.get("/account/recovery-codes")
        await browser.send("/account/recovery-codes", password=PASSWORD)
    assert next_pages == ["/portal/account/recovery-codes", "/portal/account/security"]


async def test_a_passkey_of_another_account_cannot_be_removed(site: "Site") -> None:
    browser = await with_passkey(site, Authenticator())
    await browser.get("/account/security")
    found = re.search(r'href="/portal(/account/passkeys/[0-9a-f-]{36}/remove)"', browser.text)
    assert found
    other = await site.sign_up("eve@example.com")
    await other.get("/account")
    assert (await other.post(found[1], password=PASSWORD)).status_code == 404
    assert (await site.sign_in()).path == "/sign-in/second-factor"


@pytest.mark.parametrize("kind", ["codes", "passkey"])
async def test_the_first_second_factor_ends_sessions_that_were_opened_without_one(site: "Site", kind: str) -> None:
    browser, other = await site.sign_up(), await site.sign_in()
    await turn_on(site, browser, kind)
    assert (await browser.get("/account")).url.path == "/portal/account"
    assert (await other.get("/account")).url.path == "/portal/sign-in"


async def turn_on(site: "Site", browser: "Browser", kind: str) -> None:
    if kind == "passkey":
        assert await add_passkey(browser, Authenticator()) == 200
    else:
        await browser.get("/account/totp")
        found = re.search(r'<code id="key"[^>]*>([A-Z2-7 ]+)</code>', browser.text)
        assert found
        await browser.send("/account/totp", code=code_at(found[1].replace(" ", ""), site), password=PASSWORD)
        assert "recovery codes" in browser.text


async def test_a_code_opens_nothing_where_the_first_step_was_undone_meanwhile(
    site: "Site", monkeypatch: pytest.MonkeyPatch
) -> None:
    key, _ = await with_totp(site)
    thief = await site.sign_in()
    accept = page._accept

    async def accepted(visit: Visit, tx: Transaction, developer: Developer, code: str) -> bool:
        await sessions.end_all(tx, developer.id)  # as a new password does
        return await accept(visit, tx, developer, code)

    monkeypatch.setattr(page, "_accept", accepted)
    await thief.send("/sign-in/second-factor", code=code_at(key, site))
    await thief.get("/account")
    assert not thief.is_signed_in
