"""The operator's pages: who is admitted, and what they show about the file of products."""

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from strongroom.access import providers, subscriptions
from strongroom.portal.pages import operator
from strongroom.portal.subscriptions.products import Products
from strongroom.storage import Transaction

if TYPE_CHECKING:
    from tests.portal.conftest import Site

pytestmark = pytest.mark.anyio
OPERATOR = "operator@example.com"
PASSWORD = "plain words for a portal"
GOOD = """
[[product]]
id = "gold"
name = "Gold"
description = "The best."
approval = true
"""


async def test_a_password_alone_opens_no_page_of_the_operator(site: "Site") -> None:
    browser = await site.sign_up(OPERATOR)
    answer = await browser.get("/operator")
    assert (answer.status_code, 'href="/portal/account/security"' in answer.text) == (403, True)
    x = "00000000-0000-7000-8000-000000000000"
    assert (await browser.post(f"/operator/subscriptions/{x}/{x}/approve")).status_code == 403


async def test_turning_two_step_sign_in_off_closes_them_again(site: "Site") -> None:
    browser = await site.operator()
    assert (await browser.get("/operator")).status_code == 200
    await browser.get("/account/totp/off")
    await browser.send("/account/totp/off", password=PASSWORD)
    assert (await browser.get("/operator")).status_code == 403


async def test_the_operator_may_choose_otherwise(site: "Site") -> None:
    object.__setattr__(site.portal, "settings", replace(site.portal.settings, operator_second_factor=False))
    browser = await site.sign_up(OPERATOR)
    assert (await browser.get("/operator")).status_code == 200


async def test_what_waits_is_shown_page_by_page(site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator, "PAGE_SIZE", 2)
    now = site.clock.now()

    async def fill(tx: Transaction) -> None:
        provider_id = await providers.create(tx, "Acme", now)
        for number in range(5):
            await subscriptions.create(tx, provider_id, f"app {number}", now, approved=False)

    await site.portal.store.write(fill)
    browser = await site.operator()
    await browser.get("/operator")
    seen = []
    while True:
        seen += re.findall(r"<strong>(app \d)</strong> of Acme", browser.text)
        more = re.search(r'href="/portal(/operator\?after=[^"]+)"', browser.text)
        if more is None:
            break
        await browser.get(more[1])
    assert sorted(seen) == [f"app {number}" for number in range(5)]


async def test_a_broken_file_of_products_is_reported(site: "Site", tmp_path: Path) -> None:
    path = tmp_path / "products.toml"
    path.write_text(GOOD, "utf-8")
    object.__setattr__(site.portal, "products", Products(path))
    browser = await site.operator()
    assert "cannot be used as it is now" not in (await browser.get("/operator")).text
    path.write_text(GOOD.replace("approval", "aproval"), "utf-8")
    assert "cannot be used as it is now" in (await browser.get("/operator")).text
    assert "Gold" in (await browser.get("/products")).text
    path.write_text(GOOD.replace("Gold", "Silver"), "utf-8")
    assert "Silver" in (await browser.get("/products")).text
    assert "cannot be used as it is now" not in (await browser.get("/operator")).text
