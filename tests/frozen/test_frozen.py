"""Databases that a version left are upgraded, found whole, and open for their users."""

from pathlib import Path

import pytest
from tests.conftest import login_secret
from tests.frozen.freezing import DATA, ENGINES, Deployment, freeze, thawed
from tests.frozen.making import (
    ACCOUNT_SECRET,
    CONTEXT,
    MEMBER,
    OTHER_CLIENT,
    PASSPHRASE,
    PLAINTEXT,
    USERNAME,
    WITH_ACCOUNT_SECRET,
    running,
)
from tests.portal.conftest import Site

from strongroom.backup.areas import read_secret
from strongroom.backup.verifying import verify_databases
from strongroom.runtime.settings import load

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

MEBIBYTE = 1024 * 1024


async def is_served(deployment: Deployment, values: dict[str, str]) -> None:
    """Today's service migrates the databases, and everyone in them goes on as before."""
    async with running(deployment.settings) as service:
        async with service.client() as client:
            account = await client.unlock(USERNAME, PASSPHRASE)
            assert await account.open(values["diary"], context=CONTEXT) == PLAINTEXT
            assert await account.open(values["note"], key="notes") == PLAINTEXT
            assert (await account.keypair("spare")).public_key
            assert await account.classification_nodes("esafe_tags")
            assert await client.unlock(WITH_ACCOUNT_SECRET, PASSPHRASE, account_secret=ACCOUNT_SECRET)
        login = {"username": OTHER_CLIENT, "passphrase": login_secret()}
        assert await service.made("POST", "/keystore/session", login)
        site = Site(service.application, service.clock, deployment.folder / "outbox")
        assert (await site.sign_in(MEMBER)).is_signed_in
        for browser in site.browsers:
            await browser.aclose()
    settings = load({}, deployment.settings)
    assert await verify_databases(settings, lambda *_: None, read_secret(settings)) == []


@pytest.mark.parametrize("file", sorted(DATA.glob("*/*.tar.gz")), ids=lambda file: f"{file.parent.name}/{file.name}")
async def test_what_a_version_left_is_served(file: Path, tmp_path: Path) -> None:
    with thawed(file, tmp_path) as (deployment, values):
        await is_served(deployment, values)


@pytest.mark.parametrize("engine", ENGINES)
async def test_what_is_made_today_can_be_frozen(engine: str, tmp_path: Path) -> None:
    file = await freeze(engine, tmp_path)
    assert file.stat().st_size < MEBIBYTE // 2
    with thawed(file, tmp_path) as (deployment, values):
        if engine == "sqlite":
            assert [table for table, rows in deployment.counts().items() if rows == 0] == []
        await is_served(deployment, values)
