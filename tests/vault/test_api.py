"""The vault's handlers as the table of endpoints asks for them."""

import inspect

import pytest

from strongroom.server.answers import Versioned
from strongroom.server.door import routes
from strongroom.vault.api import VaultApi
from strongroom.wire import vault
from strongroom.wire.endpoint import Endpoint


def test_every_endpoint_is_served_in_the_order_of_the_table() -> None:
    served = [name for name, _ in inspect.getmembers(VaultApi, inspect.iscoroutinefunction)]
    assert sorted(served) == sorted(endpoint.name for endpoint in vault.ENDPOINTS)
    in_order = [name for name in vars(VaultApi) if not name.startswith("_")]
    assert in_order == [endpoint.name for endpoint in vault.ENDPOINTS]


def test_the_door_can_mount_it() -> None:
    assert len(routes(vault.ENDPOINTS, VaultApi.__new__(VaultApi))) == len(vault.ENDPOINTS)


@pytest.mark.parametrize("endpoint", vault.ENDPOINTS, ids=lambda endpoint: endpoint.name)
def test_a_handler_names_the_records_of_its_endpoint(endpoint: Endpoint) -> None:
    parameters = inspect.get_annotations(getattr(VaultApi, endpoint.name), eval_str=True)
    if endpoint.has_body:
        assert parameters["what"] is endpoint.request
    if "application/json" in endpoint.media_types and endpoint.status != 204:
        assert parameters["return"] is (Versioned if endpoint.conditional else endpoint.response)
