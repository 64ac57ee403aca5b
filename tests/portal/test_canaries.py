"""A whole visit, and afterwards a search for its secrets: in no database, in no log, in no address of a page."""

import io
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyotp
import pytest

from strongroom.runtime.logging import LOGGER, JsonFormatter

if TYPE_CHECKING:
    from tests.portal.conftest import Site

pytestmark = pytest.mark.anyio

EMAIL = "ada@example.com"
NEW_EMAIL = "ada@new.example.com"
PASSWORD = "plain words for a portal"
NEW = "quite another password"
TOKEN = re.compile(r"\bsr[a-z]_[0-9A-Za-z]{49}\b")


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    logger = logging.getLogger(LOGGER)
    logger.addHandler(handler)
    before = logger.level
    logger.setLevel("DEBUG")
    yield stream
    logger.setLevel(before)
    logger.removeHandler(handler)


async def visit(site: "Site") -> tuple[set[str], list[str]]:
    """Everything that is secret in a visit, and the addresses that were asked for."""
    secrets, addresses = {PASSWORD, NEW}, []
    ada: Any = await site.sign_up()

    async def note(request: Any) -> None:
        addresses.append(f"{request.url} {request.headers.get('referer', '')}")

    ada.http.event_hooks["request"].append(note)
    secrets.add(ada.http.cookies["strongroom_session"])
    await ada.get("/account/totp")
    found = re.search(r'<code id="key"[^>]*>([A-Z2-7 ]+)</code>', ada.text)
    assert found
    key = found[1].replace(" ", "")
    await ada.send("/account/totp", code=pyotp.TOTP(key).at(site.clock.now() // 1000), password=PASSWORD)
    codes = re.findall(r"\b[a-hjkmnp-z02-9]{5}-[a-hjkmnp-z02-9]{5}\b", ada.text)
    assert len(codes) == 10
    secrets |= {key, *codes, *(code.replace("-", "") for code in codes)}
    await ada.get("/organisations/new")
    await ada.send("/organisations/new", name="Acme")
    base = ada.path
    await ada.get(f"{base}/subscribe/sandbox")
    await ada.send(f"{base}/subscribe/sandbox", name="app", terms="yes")
    secrets |= set(TOKEN.findall(ada.text))
    await ada.get(f"{base}/api-keys")
    await ada.send(f"{base}/api-keys", name="backend")
    secrets |= set(TOKEN.findall(ada.text))
    await ada.get(f"{base}/people")
    await ada.send(f"{base}/people/invite", email="bob@example.com", role="owner")
    await ada.get("/account/security")
    await ada.send("/account/password", password=PASSWORD, new_password=NEW)
    secrets.add(ada.http.cookies["strongroom_session"])
    await ada.get("/account")
    await ada.send("/account/email", email=NEW_EMAIL, password=NEW)
    asking = site.browser()
    await asking.get("/reset")
    await asking.send("/reset", email=EMAIL)
    for to in (EMAIL, NEW_EMAIL, "bob@example.com"):
        for mail in await site.mails(to):
            body = mail.get_body(("plain",))
            assert body is not None
            secrets |= set(TOKEN.findall(body.get_content()))
    return secrets, addresses


async def test_no_secret_is_kept_logged_or_part_of_an_address(site: "Site", log: io.StringIO, tmp_path: Path) -> None:
    secrets, addresses = await visit(site)
    # Two passwords, two sessions, the key and ten codes twice, three keys, and links of four kinds.
    assert len(secrets) >= 2 + 2 + 21 + 3 + 4
    stored = b"".join(file.read_bytes() for file in (tmp_path / "data").glob("*.sqlite*"))
    assert b"ada@example.com" in stored
    written = log.getvalue()
    for secret in secrets:
        assert secret.encode() not in stored
        assert secret not in written
        assert not any(secret in address for address in addresses)
