"""Which pages of other origins may call the API from a browser."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from strongroom.runtime.settings import SettingsError, load
from strongroom.testing import Service
from strongroom.testing.service import BASE_URL

PORTAL = "https://portal.example"
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "service-subscription-key"}


def client(service: Service) -> httpx.Client:
    return httpx.Client(transport=service.transport, base_url=BASE_URL)


@pytest.fixture(scope="module")
def open_to_portal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    folder: Path = tmp_path_factory.mktemp("cors")
    with (
        Service(folder=folder, cors_origins=f"{PORTAL},https://other.example:8443") as service,
        client(service) as made,
    ):
        yield made


def test_no_origin_is_allowed_unless_it_is_listed(strongroom_session_service: Service) -> None:
    with client(strongroom_session_service) as closed:
        answer = closed.get("/healthz", headers={"Origin": PORTAL})
        assert answer.status_code == 200
        assert "access-control-allow-origin" not in answer.headers
        assert closed.options("/keystore/users", headers={"Origin": PORTAL, **PREFLIGHT}).status_code == 405


def test_a_listed_origin_may_read_answers_and_refusals(open_to_portal: httpx.Client) -> None:
    for path, status in (("/healthz", 200), ("/keystore/keypairs", 401)):
        answer = open_to_portal.get(path, headers={"Origin": PORTAL})
        assert answer.status_code == status
        assert answer.headers["access-control-allow-origin"] == PORTAL
        assert "Origin" in answer.headers["vary"]
        assert "Retry-After" in answer.headers["access-control-expose-headers"]
        assert "access-control-allow-credentials" not in answer.headers


def test_a_listed_origin_gets_its_preflight(open_to_portal: httpx.Client) -> None:
    answer = open_to_portal.options("/keystore/users", headers={"Origin": PORTAL, **PREFLIGHT})
    assert answer.status_code == 204
    assert answer.headers["access-control-allow-origin"] == PORTAL
    assert "POST" in answer.headers["access-control-allow-methods"]
    for header in ("Service-Subscription-Key", "Authorization", "Content-Type"):
        assert header in answer.headers["access-control-allow-headers"]


@pytest.mark.parametrize(
    "origin", ["https://portal.example.evil", "http://portal.example", "null", "https://PORTAL.example", "*", ""]
)
def test_no_other_origin_is_taken_for_a_listed_one(open_to_portal: httpx.Client, origin: str) -> None:
    answer = open_to_portal.get("/healthz", headers={"Origin": origin})
    assert "access-control-allow-origin" not in answer.headers
    # A cache must not hand this answer to a page of the listed origin.
    assert "Origin" in answer.headers["vary"]


def test_an_answer_to_no_origin_is_not_for_a_cache_to_hand_to_one(open_to_portal: httpx.Client) -> None:
    """As when a picture is looked at directly, and later fetched by a page of the listed origin."""
    answer = open_to_portal.get("/openapi.json")
    assert "access-control-allow-origin" not in answer.headers
    assert "Origin" in answer.headers["vary"]


def test_a_preflight_of_another_origin_is_refused_as_everything_is(open_to_portal: httpx.Client) -> None:
    answer = open_to_portal.options("/keystore/users", headers={"Origin": "https://evil.example", **PREFLIGHT})
    assert answer.status_code == 405
    assert answer.json()["code"] == "method_not_allowed"
    assert "access-control-allow-methods" not in answer.headers


@pytest.mark.parametrize("origin", ["*", "portal.example", f"{PORTAL}/", f"{PORTAL}/path", "https://Portal.example"])
def test_what_is_no_origin_is_refused(origin: str) -> None:
    with pytest.raises(SettingsError, match="cors_origins"):
        load({}, {"cors_origins": origin})


def test_origins_are_a_list() -> None:
    assert load({}, {"cors_origins": f"{PORTAL}, http://localhost:9000"}).cors_origins == (
        PORTAL,
        "http://localhost:9000",
    )
