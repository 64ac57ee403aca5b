"""Endpoints 1 to 3 and logging out: admission tokens, users, sessions."""

import asyncio
import re
from typing import Any

import pytest

from strongroom.access import providers, subscriptions

pytestmark = pytest.mark.anyio

LOGIN = "/keystore/session"
USERS = "/keystore/users"


def code(answer: Any) -> str:
    found: str = answer.json()["code"]
    return found


async def test_a_token_as_specified(service: Any) -> None:
    answer = await service.call("POST", "/keystore/admission_tokens", auth=service.keys.provider_api_key)
    assert answer.status_code == 201
    token = answer.json()["admission_token"]
    assert set(token) == {"id", "token_value", "used"}
    assert token["used"] is False
    assert token["token_value"].startswith("sra_")


async def test_only_the_provider_key_issues_tokens(service: Any) -> None:
    session = await service.user()
    for auth in ("srp_" + "x" * 49, "x", session, service.keys.subscription_key):
        answer = await service.call("POST", "/keystore/admission_tokens", auth=auth)
        assert (answer.status_code, code(answer)) == (401, "provider_key_invalid")


async def test_a_user_as_specified(service: Any) -> None:
    body = {"admission_token": await service.admission_token(), "username": "Ada", "passphrase": "raw, as specified"}
    answer = await service.call("POST", USERS, body)
    assert answer.status_code == 201
    user = answer.json()["user"]
    assert set(user) == {"id", "username"}
    assert user["username"] == "Ada"
    session = (await service.call("POST", LOGIN, {"username": "ADA", "passphrase": "raw, as specified"})).json()[
        "session"
    ]
    assert set(session) == {"session_authentication_string", "id", "valid_from", "valid_till", "username"}
    assert session["username"] == "Ada"
    assert re.fullmatch(r"[\w-]+\.[\w-]+", session["session_authentication_string"])
    for name in ("valid_from", "valid_till"):
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", session[name])


async def test_a_token_is_good_once(service: Any, login_secret: Any) -> None:
    token = await service.admission_token()
    body = {"admission_token": token, "username": "ada", "passphrase": login_secret()}
    assert (await service.call("POST", USERS, body)).status_code == 201
    again = await service.call("POST", USERS, body | {"username": "bob"})
    assert (again.status_code, code(again)) == (409, "admission_token_used")


async def test_a_taken_name_leaves_the_token_good(service: Any, login_secret: Any) -> None:
    await service.user("Straße")
    token = await service.admission_token()
    body = {"admission_token": token, "username": "STRASSE", "passphrase": login_secret()}
    taken = await service.call("POST", USERS, body)
    assert (taken.status_code, code(taken)) == (409, "username_taken")
    assert taken.json()["errors"][0]["error"] == "username_taken"
    assert (await service.call("POST", USERS, body | {"username": "other"})).status_code == 201


async def test_a_taken_name_is_told_only_to_who_holds_a_token(service: Any, login_secret: Any) -> None:
    await service.user("ada")
    body = {"admission_token": "sra_" + "0" * 49, "username": "ada", "passphrase": login_secret()}
    answer = await service.call("POST", USERS, body)
    assert (answer.status_code, code(answer)) == (401, "admission_token_invalid")


async def test_a_token_expires(service: Any, login_secret: Any) -> None:
    token = await service.admission_token()
    service.clock.move(24 * 3600 + 1)
    body = {"admission_token": token, "username": "ada", "passphrase": login_secret()}
    answer = await service.call("POST", USERS, body)
    assert (answer.status_code, code(answer)) == (401, "admission_token_expired")


async def test_a_token_of_the_vault_path_opens_the_vault_only(service: Any, login_secret: Any) -> None:
    token = await service.admission_token("/vault/admission_tokens")
    body = {"admission_token": token, "username": "ada", "passphrase": login_secret()}
    answer = await service.call("POST", USERS, body)
    assert (answer.status_code, code(answer)) == (401, "admission_token_invalid")


async def test_a_token_of_endpoint_9_opens_the_vault_only(service: Any, login_secret: Any) -> None:
    session = await service.user()
    answer = await service.call("GET", "/keystore/external_admission_tokens", auth=session)
    token = answer.json()["external_admission_token"]["vault_api_admission_token"]
    body = {"admission_token": token, "username": "bob", "passphrase": login_secret()}
    refused = await service.call("POST", USERS, body)
    assert (refused.status_code, code(refused)) == (401, "admission_token_invalid")


async def test_one_token_for_users_and_vault_users_is_good_for_one_of_them(
    service: Any, login_secret: Any, public_pem: Any
) -> None:
    body = {"admission_token": await service.admission_token(), "username": "ada", "passphrase": login_secret()}
    vault = {"user": {"public_key": public_pem(), "admission_token": body["admission_token"]}}
    answers = await asyncio.gather(service.call("POST", USERS, body), service.call("POST", "/vault/me", vault))
    assert sorted(answer.status_code for answer in answers) == [201, 409]


@pytest.mark.parametrize("username", ["", "a" * 129, "a\x07b", "a\x7f", "\U0001fae9"])
async def test_a_name_nobody_can_have_is_refused(service: Any, login_secret: Any, username: str) -> None:
    token = await service.admission_token()
    body = {"admission_token": token, "username": username, "passphrase": login_secret()}
    answer = await service.call("POST", USERS, body)
    assert answer.status_code == 422
    assert (await service.call("POST", USERS, body | {"username": "ada"})).status_code == 201
    login = await service.call("POST", LOGIN, {"username": username, "passphrase": login_secret()})
    assert (login.status_code, code(login)) == (401, "invalid_credentials")


@pytest.mark.parametrize("passphrase", ["", "é" * 513])
async def test_a_passphrase_outside_its_bounds_is_refused(service: Any, passphrase: str) -> None:
    body = {"admission_token": await service.admission_token(), "username": "ada", "passphrase": passphrase}
    answer = await service.call("POST", USERS, body)
    assert (answer.status_code, code(answer)) == (422, "passphrase_refused")


async def test_a_provider_can_insist_on_derived_login_secrets(service: Any, login_secret: Any) -> None:
    access = service.application.access

    async def insist(tx: Any) -> None:
        provider_id = await providers.find(tx, "sandbox")
        assert provider_id is not None
        await providers.set_login_policy(tx, provider_id, "derived_only")

    await access.write(insist)
    body = {"admission_token": await service.admission_token(), "username": "ada", "passphrase": "raw"}
    answer = await service.call("POST", USERS, body)
    assert (answer.status_code, code(answer)) == (422, "derived_secret_required")
    assert (await service.call("POST", USERS, body | {"passphrase": login_secret()})).status_code == 201


async def test_unknown_name_and_wrong_passphrase_get_the_same_answer(service: Any, login_secret: Any) -> None:
    await service.user("ada")
    answers = [
        await service.call("POST", LOGIN, {"username": name, "passphrase": secret})
        for name, secret in [
            ("ada", login_secret(b"wrong")),
            ("nobody", login_secret()),
            ("ada", "raw"),
            ("nobody", "raw"),
        ]
    ]
    bodies = [answer.json() | {"instance": ""} for answer in answers]
    assert all(body == bodies[0] for body in bodies)
    headers = [{**answer.headers, "x-request-id": ""} for answer in answers]
    assert all(header == headers[0] for header in headers)


async def test_a_session_ends_at_valid_till_and_not_before(service: Any) -> None:
    session = await service.user()
    path = "/keystore/data_encryption_keys"
    service.clock.move(12 * 3600 - 5)
    assert (await service.call("GET", path, auth=session)).status_code == 200
    service.clock.move(5)
    answer = await service.call("GET", path, auth=session)
    assert (answer.status_code, code(answer)) == (401, "session_invalid")


async def test_logging_out_ends_this_session_only(service: Any) -> None:
    first = await service.user()
    second = await service.log_in()
    assert (await service.call("DELETE", LOGIN, auth=first)).status_code == 204
    assert (await service.call("GET", "/keystore/keypairs", auth=first)).status_code == 401
    assert (await service.call("DELETE", LOGIN, auth=first)).status_code == 401
    assert (await service.call("GET", "/keystore/keypairs", auth=second)).status_code == 200


async def test_a_session_of_the_vault_or_of_another_provider_opens_nothing(service: Any) -> None:
    session = await service.user()
    vault = await service.vault_session()
    now = service.clock.now()

    async def second_provider(tx: Any) -> subscriptions.NewSubscription:
        provider_id = await providers.create(tx, "second", now)
        made = await subscriptions.create(tx, provider_id, "second", now)
        await subscriptions.activate(tx, provider_id, made.id, now)
        return made

    other = await service.application.access.write(second_provider)
    for auth, key in [(vault, None), (session, other.primary), (session[:-1], None), (session.upper(), None)]:
        answer = await service.call("GET", "/keystore/keypairs", auth=auth, key=key or "")
        assert (answer.status_code, code(answer)) == (401, "session_invalid")
    answer = await service.call(
        "POST", "/keystore/admission_tokens", auth=service.keys.provider_api_key, key=other.primary
    )
    assert (answer.status_code, code(answer)) == (401, "provider_key_invalid")


async def test_names_are_unique_for_a_provider_and_no_further(service: Any, login_secret: Any) -> None:
    await service.user("ada")
    now = service.clock.now()

    async def second_provider(tx: Any) -> tuple[str, str]:
        provider_id = await providers.create(tx, "second", now)
        made = await subscriptions.create(tx, provider_id, "second", now)
        await subscriptions.activate(tx, provider_id, made.id, now)
        return made.primary, await providers.create_key(tx, provider_id, "key", now)

    key, provider_key = await service.application.access.write(second_provider)
    foreign = await service.admission_token()
    body = {"admission_token": foreign, "username": "ada", "passphrase": login_secret(b"other")}
    answer = await service.call("POST", USERS, body, key=key)
    assert (answer.status_code, code(answer)) == (401, "admission_token_invalid")
    issued = await service.call("POST", "/keystore/admission_tokens", auth=provider_key, key=key)
    body["admission_token"] = issued.json()["admission_token"]["token_value"]
    assert (await service.call("POST", USERS, body, key=key)).status_code == 201
    login = {"username": "ada", "passphrase": login_secret(b"other")}
    assert (await service.call("POST", LOGIN, login, key=key)).status_code == 201
    assert (await service.call("POST", LOGIN, login)).status_code == 401
