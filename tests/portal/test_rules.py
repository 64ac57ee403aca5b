"""The small rules: addresses, passwords, sealing, limits, where to go on to, what is forgotten."""

from collections.abc import AsyncIterator
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from strongroom.portal import lengths, limits, maintenance
from strongroom.portal.accounts.ceremonies import site as passkey_site
from strongroom.portal.accounts.emails import canonical_email
from strongroom.portal.accounts.passwords import fault
from strongroom.portal.lengths import MIN_PASSWORD
from strongroom.portal.limits import OPERATOR_NEWS, Limit, TooMany
from strongroom.portal.messaging import messages
from strongroom.portal.pages.usage import LATENCIES
from strongroom.portal.sealing import Unreadable, seal, unseal
from strongroom.portal.web import cookies
from strongroom.portal.web.signing_in import safe_next
from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Store, Transaction
from strongroom.storage.open import open_store

if TYPE_CHECKING:
    from tests.portal.conftest import Site

pytestmark = pytest.mark.anyio

PASSING = ("developer_sessions", "developer_links", "sign_ups", "passkey_challenges", "attempts")
SECRET = ServerSecret(b"s" * 32)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    made = open_store(f"sqlite:{tmp_path / 'access.sqlite'}", "access", files("strongroom.access") / "migrations")
    yield made
    await made.close()


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("Ada@Example.COM", "ada@example.com"),
        (" ada+x@example.com ", "ada+x@example.com"),
        ("ada@bücher.example", "ada@xn--bcher-kva.example"),
        ("o'hara@example.com", "o'hara@example.com"),
    ],
)
def test_addresses(text: str, canonical: str) -> None:
    assert canonical_email(text) == canonical


@pytest.mark.parametrize(
    "text",
    ["", "ada", "@example.com", "ada@", "ada@localhost", "a b@example.com", "a..b@example.com", "ada@exa mple.com",
     "ada@example.com\nBcc: eve@example.com", "a@b@example.com", "ä@example.com", "a" * 65 + "@example.com",
     "ada@" + "x." * 130 + "com", "<ada@example.com>", "ada@[127.0.0.1]",
     "=?utf-8?q?a?=@example.com", "a.=?q@example.com"],
)  # fmt: skip
def test_no_addresses(text: str) -> None:
    assert canonical_email(text) is None


@pytest.mark.parametrize("password", ["correct horse battery", "x1 y2 z3 a4 b5", "ümläute sind auch gut"])
def test_good_passwords(password: str) -> None:
    assert fault(password, "ada@example.com") is None


@pytest.mark.parametrize(
    "password",
    ["", "a" * (MIN_PASSWORD - 1), "a" * 20, "abababababab", "123456789012", "987654321098", "Password1234!",
     "ADA@example.com", "x" * 2000, "PasswordPassword"],
)  # fmt: skip
def test_bad_passwords(password: str) -> None:
    assert fault(password, "ada@example.com") is not None


def test_what_is_sealed_opens_for_its_purpose_and_row_alone() -> None:
    sealed = seal(SECRET, "totp", b"row", b"value")
    assert unseal(SECRET, "totp", b"row", sealed) == b"value"
    changed = sealed[:-1] + bytes([sealed[-1] ^ 1])
    others = [("mail", b"row", sealed), ("totp", b"other", sealed), ("totp", b"row", changed), ("totp", b"row", b"")]
    for purpose, row, value in others:
        with pytest.raises(Unreadable):
            unseal(SECRET, purpose, row, value)


def test_the_previous_secret_still_opens() -> None:
    sealed = seal(SECRET, "totp", b"row", b"value")
    assert unseal(ServerSecret(b"n" * 32, b"s" * 32), "totp", b"row", sealed) == b"value"
    with pytest.raises(Unreadable):
        unseal(ServerSecret(b"n" * 32), "totp", b"row", sealed)


async def test_a_limit_counts_in_its_window_and_each_key_alone(store: Store) -> None:
    limit = Limit("test", 2, 1000)

    async def count(key: str, now: int) -> None:
        await store.write(lambda tx: limits.count(tx, SECRET, limit, key, now))

    await count("ada", 0)
    await count("ada", 500)
    with pytest.raises(TooMany) as caught:
        await count("ada", 900)
    assert caught.value.retry_after == 1
    await count("eve", 900)
    await count("ada", 1000)
    await store.write(lambda tx: limits.forget(tx, SECRET, limit, "ada"))
    await count("ada", 1001)
    await count("ada", 1001)
    held = await store.read(lambda tx: tx.all("SELECT bucket FROM attempts"))
    assert len(held) == 2
    assert not any(b"ada" in row[0] for row in held)


@pytest.mark.parametrize("path", ["/", "/account", "/organisations/0-0"])
def test_pages_of_the_portal_to_go_on_to(path: str) -> None:
    assert safe_next(path) == path


@pytest.mark.parametrize(
    "path", ["", "account", "//x.example", "/\\x.example", "https://x.example", "/a\n", "/a?b=c", "/%2f"]
)
def test_no_other_pages_to_go_on_to(path: str) -> None:
    assert safe_next(path) == "/"


def test_passkeys_want_the_name_of_a_host() -> None:
    assert passkey_site("http://127.0.0.1:8000") is None
    assert passkey_site("http://[::1]:8000") is None
    found = passkey_site("https://vault.example")
    assert found is not None
    assert (found.host, found.origin) == ("vault.example", "https://vault.example")


def test_a_cookie_shows_no_value() -> None:
    assert "token" not in repr(cookies.Cookie(cookies.SESSION, "token"))


async def rows(site: "Site") -> dict[str, int]:
    async def look(tx: Transaction) -> dict[str, int]:
        return {table: len(await tx.all(f"SELECT * FROM {table}")) for table in PASSING}

    return await site.portal.store.read(look)


async def test_expired_rows_are_deleted(site: "Site") -> None:
    browser = await site.sign_up()
    for path, email in (("/sign-up", "eve@example.com"), ("/reset", "ada@example.com")):
        other = site.browser()
        await other.get(path)
        await other.send(path, email=email, password="plain words again")
    await browser.post("/sign-in/passkey/options")
    await site.mails()
    site.clock.move(3 * 86_400)
    held = await rows(site)
    assert all(held.values()), held
    assert await maintenance.prune(site.portal) == sum(held.values())
    assert set((await rows(site)).values()) == {0}


async def test_pages_take_what_the_rules_take(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lengths, "MAX_NAME", 81)
    monkeypatch.setattr(lengths, "MIN_PASSWORD", 13)
    browser = site.browser()
    await browser.get("/sign-up")
    assert 'maxlength="81"' in browser.text
    assert "At least 13 characters." in browser.text


def test_words_about_a_number_follow_it() -> None:
    assert LATENCIES == ("up to 5 ms", "up to 20 ms", "up to 100 ms", "up to 500 ms", "slower")
    mail = messages.subscription_waits("operator@example.com", "app", "Acme", "Production", "http://localhost:8000/")
    assert f"at most {OPERATOR_NEWS.times} of these" in mail.text
