"""From method and path to the endpoint: any number of parameters, each decoded once."""

from typing import Any

import msgspec
import pytest

from strongroom.http.routing import MethodNotAllowed, Route, RouteTable, routes
from strongroom.wire.endpoint import AnyEndpoint, Endpoint, NoPath, Open
from strongroom.wire.refusal import Refusal, Refused
from strongroom.wire.system import ENDPOINTS


class Item(msgspec.Struct, frozen=True):
    id: str


class Version(msgspec.Struct, frozen=True):
    id: str
    revision: int


def endpoint(method: str, path: str, parameters: Any = NoPath) -> AnyEndpoint:
    return Endpoint(method=method, path=path, summary="", credential=Open(because="a test"), parameters=parameters)


async def handler(call: Any) -> None:
    return None


LISTING = endpoint("GET", "/items")
LOOKUP = endpoint("POST", "/items/lookup")
READ = endpoint("GET", "/items/{id}", Item)
CHANGE = endpoint("PUT", "/items/{id}", Item)
VERSION = endpoint("GET", "/items/{id}/versions/{revision}", Version)
TABLE = RouteTable(Route(one, handler) for one in (LISTING, LOOKUP, READ, CHANGE, VERSION))


def found(method: str, path: str) -> tuple[AnyEndpoint, tuple[str, ...]]:
    route, parameters = TABLE.find(method, path.encode())
    return route.endpoint, parameters


def refused(method: str, path: str) -> Refused:
    with pytest.raises(Refused) as caught:
        TABLE.find(method, path.encode("latin-1"))
    return caught.value


def test_each_segment_is_a_parameter_of_its_own() -> None:
    assert found("GET", "/items") == (LISTING, ())
    assert found("GET", "/items/42") == (READ, ("42",))
    assert found("PUT", "/items/42") == (CHANGE, ("42",))
    assert found("GET", "/items/42/versions/7") == (VERSION, ("42", "7"))


def test_a_segment_is_decoded_once_and_an_encoded_slash_stays_inside() -> None:
    assert found("GET", "/items/a%2Fb/versions/%2525") == (VERSION, ("a/b", "%25"))
    assert found("GET", "/items/%C3%A9") == (READ, ("é",))


def test_what_is_named_goes_before_a_parameter() -> None:
    assert found("POST", "/items/lookup") == (LOOKUP, ())
    # A fixed path is one place: what it does not have is not looked for elsewhere.
    assert refused("GET", "/items/lookup").refusal is Refusal.method_not_allowed
    assert found("GET", "/items/lookup/versions/1") == (VERSION, ("lookup", "1"))


@pytest.mark.parametrize(
    "path",
    ["/items/", "/items//versions/1", "/items/42/versions", "/items/42/versions/", "/items/42/x", "//items", "", "/"],
)
def test_what_is_not_there_is_not_found(path: str) -> None:
    assert refused("GET", path).refusal is Refusal.not_found


def test_what_is_no_text_is_not_found() -> None:
    assert refused("GET", "/items/%ff").refusal is Refusal.not_found


def test_head_is_served_where_get_is() -> None:
    assert found("HEAD", "/items/42") == (READ, ("42",))
    other = refused("HEAD", "/items/lookup")
    assert isinstance(other, MethodNotAllowed)
    assert other.allow == ("POST",)
    get = refused("POST", "/items/42")
    assert isinstance(get, MethodNotAllowed)
    assert get.allow == ("GET", "HEAD", "PUT")


def test_parameters_have_the_types_of_their_record() -> None:
    path = Route(VERSION, handler).path
    assert path("42", "7") == Version("42", 7)
    assert Route(READ, handler).path("42") == Item("42")
    for revision in ("x", "1.5", "", "-"):
        with pytest.raises(Refused) as caught:
            path("42", revision)
        assert caught.value.refusal is Refusal.not_found


def test_a_path_names_the_fields_of_its_record() -> None:
    with pytest.raises(TypeError, match="does not name"):
        RouteTable([Route(endpoint("GET", "/items/{other}", Item), handler)])
    with pytest.raises(TypeError, match="does not name"):
        RouteTable([Route(endpoint("GET", "/items/{id}"), handler)])


def test_two_endpoints_at_one_place_do_not_start() -> None:
    for one in (LISTING, READ):
        with pytest.raises(TypeError, match="served twice"):
            RouteTable([Route(one, handler), Route(one, handler)])


def test_an_endpoint_without_a_handler_does_not_start() -> None:
    with pytest.raises(TypeError, match="healthz"):
        routes(ENDPOINTS, object())
