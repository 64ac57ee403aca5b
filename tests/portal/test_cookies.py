"""Cookies where browsers come over TLS: bound to this host, so that no other host can set a session."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from strongroom.app import Application
from strongroom.portal.accounts import developers, sessions
from strongroom.runtime.clock import HOUR
from strongroom.runtime.settings import load
from strongroom.storage import Transaction

pytestmark = pytest.mark.anyio

BASE_URL = "https://vault.example"


@pytest.fixture
async def application(tmp_path: Path) -> AsyncIterator[Application]:
    given = {"data": str(tmp_path / "data"), "areas": "portal", "public_url": BASE_URL, "access_log": "off"}
    made = Application(load({}, given))
    await made.start(warm=False)
    yield made
    await made.close()


@pytest.fixture
async def http(application: Application) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url=BASE_URL) as client:
        yield client


async def signed_in(application: Application) -> str:
    """The token of a session."""
    portal = application.portal
    assert portal is not None
    now = portal.clock.now()

    async def work(tx: Transaction) -> str:
        developer_id = await developers.create(tx, "ada@example.com", "Ada", "no hash", now)
        assert developer_id is not None
        return await sessions.create(tx, developer_id, "full", now, HOUR)

    return await portal.store.write(work)


async def test_a_cookie_is_bound_to_the_host_and_out_of_reach_for_scripts(http: httpx.AsyncClient) -> None:
    answer = await http.get("/portal/sign-in")
    [cookie] = answer.headers.get_list("set-cookie")
    name, *attributes = cookie.split("; ")
    assert name.startswith("__Host-strongroom_form=")
    assert {attribute.lower() for attribute in attributes} == {"httponly", "path=/", "samesite=lax", "secure"}
    assert answer.headers["strict-transport-security"].startswith("max-age=")


async def test_a_cookie_that_a_sibling_domain_could_have_set_is_no_session(
    application: Application, http: httpx.AsyncClient
) -> None:
    token = await signed_in(application)
    planted = await http.get("/portal/account", headers={"Cookie": f"strongroom_session={token}"})
    assert planted.headers["location"].startswith("/portal/sign-in")
    own = await http.get("/portal/account", headers={"Cookie": f"__Host-strongroom_session={token}"})
    assert own.status_code == 200


async def test_no_outbox_and_no_mail_where_other_machines_have_access(http: httpx.AsyncClient) -> None:
    assert (await http.get("/portal/outbox")).status_code == 404
    assert (await http.get("/portal/outbox", headers={"Host": "localhost"})).status_code == 404
    assert (await http.get("/portal/sign-up")).status_code == 503
