"""Users as the areas really keep them, seen and suspended from the portal of the same process."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from tests.portal.furnished import UUID, furnish, log_in, register_user

if TYPE_CHECKING:
    from tests.portal.conftest import Site

pytestmark = pytest.mark.anyio

OWNER, MEMBER, STRANGER = "olga@example.com", "max@example.com", "eve@example.com"


async def test_a_suspended_user_is_refused_and_a_resumed_one_is_not(whole_site: "Site") -> None:
    acme = await furnish(whole_site, "Acme", OWNER, MEMBER)
    assert await log_in(acme) == (201, "")
    user = f"{acme.base}/users/keystore/{acme.ids['user']}"
    await acme.owner.get(f"{acme.base}/users")
    await acme.owner.send(f"{user}/suspend", confirmed="yes")
    refused = await log_in(acme)
    assert refused == (401, "invalid_credentials")
    await acme.member.get(f"{acme.base}/users")
    assert acme.ids["user"] in acme.member.text
    assert (await acme.member.post(f"{user}/resume")).status_code == 403
    assert await log_in(acme) == refused
    await acme.owner.send(f"{user}/resume")
    assert await log_in(acme) == (201, "")


async def test_an_organisation_sees_its_own_users_alone(whole_site: "Site") -> None:
    acme = await furnish(whole_site, "Acme", OWNER, MEMBER)
    globex = await furnish(whole_site, "Globex", STRANGER, "gus@example.com")
    for own, other in ((acme, globex), (globex, acme)):
        await own.owner.get(f"{own.base}/users")
        assert own.ids["user"] in own.owner.text
        assert other.ids["user"] not in own.owner.text
    # Both are called zoe; the name finds one's own.
    await acme.owner.get(f"{acme.base}/users")
    await acme.owner.send(f"{acme.base}/users/find", username="ZOE")
    assert acme.owner.text.count(acme.ids["user"]) > globex.owner.text.count(globex.ids["user"])
    assert globex.ids["user"] not in acme.owner.text


async def test_users_come_in_parts(whole_site: "Site", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strongroom.portal.pages.users.PAGE_SIZE", 2)
    acme = await furnish(whole_site, "Acme", OWNER, MEMBER)
    for name in ("yan", "xia"):
        await register_user(acme, name)
    await acme.owner.get(f"{acme.base}/users")
    first = re.findall(f"/users/keystore/({UUID})/suspend", acme.owner.text)
    [more] = re.findall(r'href="/portal(/[^"]*keystore_after=[^"]*)"', acme.owner.text)
    await acme.owner.get(more)
    second = re.findall(f"/users/keystore/({UUID})/suspend", acme.owner.text)
    assert (len(first), len(second), len({*first, *second})) == (2, 1, 3)


async def test_users_of_the_vault_are_suspended_too(whole_site: "Site", public_pem: Callable[[str], str]) -> None:
    acme = await furnish(whole_site, "Acme", OWNER, MEMBER)
    http, headers = acme.owner.http, {"Service-Subscription-Key": acme.subscription_key}
    answer = await http.post("/vault/admission_tokens", headers={**headers, "Authorization": acme.provider_api_key})
    token = answer.json()["admission_token"]["token_value"]
    body = {"user": {"public_key": public_pem("ada"), "admission_token": token}}
    assert (await http.post("/vault/me", headers=headers, json=body)).status_code == 201
    again = {"public_key": public_pem("ada")}
    before = await http.post("/vault/session", headers=headers, json=again)
    await acme.owner.get(f"{acme.base}/users")
    [user] = re.findall(f"/users/vault/({UUID})/suspend", acme.owner.text)
    await acme.owner.send(f"{acme.base}/users/vault/{user}/suspend", confirmed="yes")
    assert f"/users/vault/{user}/resume" in acme.owner.text
    after = await http.post("/vault/session", headers=headers, json=again)
    assert (before.status_code, after.status_code) == (201, 401)
