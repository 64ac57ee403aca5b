"""The service in process: real, quick, and with a clock to move."""

import json
import logging
import time
from pathlib import Path

import httpx
import pytest

from strongroom.runtime.settings import SettingsError
from strongroom.testing import Service


def ask(service: Service, key: str) -> httpx.Response:
    headers = {"Service-Subscription-Key": key, "Authorization": service.provider_api_key}
    with httpx.Client(transport=service.transport, base_url=service.base_url, headers=headers) as http:
        return http.post("/keystore/admission_tokens")


def test_the_keys_are_what_they_are_called(strongroom_service: Service) -> None:
    service = strongroom_service
    assert ask(service, service.subscription_key).status_code == 201
    assert ask(service, service.secondary_subscription_key).status_code == 201
    assert ask(service, service.inactive_subscription_key).json()["code"] == "subscription_key_inactive"
    assert ask(service, "srk_other").json()["code"] == "subscription_key_invalid"


def test_it_is_ready_in_milliseconds() -> None:
    with Service():  # the first one also pays for imports
        pass
    started = time.perf_counter()
    with Service() as service:
        assert ask(service, service.subscription_key).status_code == 201
    assert time.perf_counter() - started < 1.0  # some 40 ms; the rest is for a busy machine


def test_services_do_not_share_anything() -> None:
    with Service() as one, Service() as other:
        assert one.folder != other.folder
        assert ask(other, one.subscription_key).json()["code"] == "subscription_key_invalid"
        one.clock.move(3600)
        assert one.clock.now() - other.clock.now() > 3_500_000


def test_the_folder_is_removed_unless_it_was_given(tmp_path: Path) -> None:
    with Service() as service:
        assert (service.folder / "keystore.sqlite").is_file()
    assert not service.folder.exists()
    with Service(folder=tmp_path / "kept") as first:
        keys = first.subscription_key
    with Service(folder=tmp_path / "kept") as second:
        assert second.subscription_key == keys


def test_settings_are_those_of_serve() -> None:
    with Service(admission_token_lifetime="5m") as service:
        token = service.issue_admission_token()
        service.clock.move(301)
        body = {"admission_token": token, "username": "ada", "passphrase": "in clear"}
        headers = {"Service-Subscription-Key": service.subscription_key}
        with httpx.Client(transport=service.transport, base_url=service.base_url, headers=headers) as http:
            assert http.post("/keystore/users", json=body).json()["code"] == "admission_token_expired"
    with pytest.raises(SettingsError):
        Service(port="x")


def test_the_log_is_kept() -> None:
    logger = logging.getLogger("strongroom")
    before = (logger.level, list(logger.handlers))
    with Service(log_level="debug") as service:
        ask(service, service.subscription_key)
        logger.debug("a line for this test")
        lines = [json.loads(line) for line in service.log]
    assert [line["path"] for line in lines if line["event"] == "request"] == ["/keystore/admission_tokens"]
    assert "a line for this test" in [line["event"] for line in lines]
    assert (logger.level, list(logger.handlers)) == before


def test_nothing_secret_in_its_repr(strongroom_service: Service) -> None:
    shown = repr(strongroom_service)
    assert strongroom_service.subscription_key not in shown
    assert strongroom_service.provider_api_key not in shown


def test_a_folder_in_use_is_refused_and_leaves_nothing_behind(tmp_path: Path) -> None:
    from strongroom.storage.data_locks import InUse

    with Service(folder=tmp_path / "data") as service:
        with pytest.raises(InUse), Service(folder=tmp_path / "data"):
            pass
        assert ask(service, service.subscription_key).status_code == 201


@pytest.mark.anyio
async def test_from_asyncio(strongroom_service: Service) -> None:
    headers = {
        "Service-Subscription-Key": strongroom_service.subscription_key,
        "Authorization": strongroom_service.provider_api_key,
    }
    async with httpx.AsyncClient(
        transport=strongroom_service.async_transport, base_url=strongroom_service.base_url, headers=headers
    ) as http:
        assert (await http.post("/keystore/admission_tokens")).status_code == 201
    async with strongroom_service.async_client() as client:
        assert (await client.issue_admission_token()).startswith("sra_")


@pytest.mark.slow
def test_a_user_is_registered_and_sessions_end(strongroom_session_service: Service) -> None:
    from strongroom import AdmissionTokenUsed, SessionExpired

    service = strongroom_session_service
    token = service.issue_admission_token()
    with service.client(provider_api_key=None) as client:
        account = client.register("ada", "correct horse", admission_token=token, iterations=600_000)
        assert account.open(account.seal(b"data")) == b"data"
        with pytest.raises(AdmissionTokenUsed):
            client.register("bob", "correct horse", admission_token=token, iterations=600_000)
        service.clock.move(13 * 3600)
        with pytest.raises(SessionExpired):
            account.create_data_encryption_key("notes")
        assert client.unlock("ada", "correct horse").open(account.seal(b"data")) == b"data"
