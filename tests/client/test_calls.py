"""The single calls: one for every endpoint of the contract, and each speaks as its line in the table says."""

import contextlib
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from strongroom import AsyncStrongroom, Strongroom, StrongroomError
from strongroom.client.blocking.calls import Calls
from strongroom.crypto.secret import Secret
from strongroom.wire import keystore, system, vault
from strongroom.wire.endpoint import Credential, NoBody

if TYPE_CHECKING:
    from tests.client.conftest import Peer

Connect = Callable[..., Strongroom]
# Documentation for people and their tools.
NOT_CALLED = {"openapi", "refusal"}


def calls() -> dict[str, Any]:
    areas = {"keystore": keystore.ENDPOINTS, "vault": vault.ENDPOINTS, "system": system.ENDPOINTS}
    table = {endpoint.name: (area, endpoint) for area, endpoints in areas.items() for endpoint in endpoints}
    return {name: found for name, found in table.items() if not found[1].internal and name not in NOT_CALLED}


def test_there_is_a_call_for_every_endpoint_and_none_besides() -> None:
    assert {name for name in dir(Calls) if not name.startswith("_")} == set(calls())


ARGUMENTS = {
    "public_key": (Path(__file__).parent.parent / "keys" / "ada.public.pem").read_text(),
    "page": None,
    "per": None,
    "scheme_name": None,
    "by_name": None,
    "external_identifiers": ["sharing"],
    "passphrase": "raw",
}


@pytest.mark.parametrize("name", sorted(calls()))
def test_each_call_uses_its_endpoint(peer: "Peer", connect: Connect, name: str) -> None:
    area, endpoint = calls()[name]
    with connect(peer) as service:
        method = getattr(service.calls, name)
        arguments = {
            parameter: ARGUMENTS.get(parameter, "x.y")
            for parameter in inspect.signature(getattr(Calls, name)).parameters
            if parameter != "self"
        }
        # The peer has no such thing; that it was asked is what counts.
        with contextlib.suppress(StrongroomError):
            method(**arguments)
    [seen] = peer.seen
    assert seen.name == f"{area}.{endpoint.name}"
    expected = {
        Credential.provider: "srp_provider",
        Credential.keystore_session: "x.y",
        Credential.vault_session: "x.y",
    }
    wanted = expected[endpoint.credential] if isinstance(endpoint.credential, Credential) else None
    assert seen.headers.get("authorization") == wanted
    assert bool(seen.body) == (endpoint.body is not NoBody)
    assert ("service-subscription-key" in seen.headers) == endpoint.subscription_key


def test_the_whole_flow_by_single_calls(peer: "Peer", connect: Connect) -> None:
    with connect(peer) as service:
        token = service.calls.issue_admission_token()
        assert service.calls.create_user(token.token_value, "Ada", "raw").username == "Ada"
        session = Secret(service.calls.create_session("Ada", "raw").session_authentication_string)
        stored = service.calls.store_passphrase_derivation_artefact(session, "QQ==")
        assert stored.verification_artefacts == ""
        assert service.calls.read_passphrase_derivation_artefact(session) == stored
        key = service.calls.store_data_encryption_key(session, "Aes256Gcm.x.y")
        assert service.calls.list_data_encryption_keys(session, page=1, per=2).data_encryption_keys == [key]
        assert service.calls.read_data_encryption_key(session, key.id) == key
        service.calls.delete_session(session.reveal())
    assert [seen.url for seen in peer.seen if "?" in seen.url] == [
        "http://127.0.0.1:8000/keystore/data_encryption_keys?page=1&per=2"
    ]


@pytest.mark.anyio
async def test_the_same_calls_are_awaited(peer: "Peer") -> None:
    transport = httpx.MockTransport(peer.handle)
    async with AsyncStrongroom("http://localhost", subscription_key="srk_x", transport=transport) as service:
        assert (await service.calls.version()).name == "strongroom"
        assert inspect.iscoroutinefunction(type(service).close)
