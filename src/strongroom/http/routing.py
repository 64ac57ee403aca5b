"""From method and path to the endpoint: the table of the door."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from urllib.parse import unquote_to_bytes

import msgspec

from strongroom.http.answers import Given
from strongroom.wire.endpoint import AnyEndpoint
from strongroom.wire.refusal import Refusal, Refused

Handler: TypeAlias = Callable[[Any], Awaitable[Given]]
"""Of one `Call`; a test holds the types of every handler against its endpoint."""

_NO_PATH: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """One endpoint with its handler."""

    endpoint: AnyEndpoint
    handler: Handler


Methods: TypeAlias = dict[str, Route]


@dataclass(slots=True)
class _Node:
    """One place in a path, behind a slash."""

    named: "dict[str, _Node]" = field(default_factory=dict)
    parameter: "_Node | None" = None
    methods: Methods = field(default_factory=dict)


class MethodNotAllowed(Refused):
    """`method_not_allowed`, with the methods that are."""

    def __init__(self, methods: Methods) -> None:
        super().__init__(Refusal.method_not_allowed)
        self.allow = tuple(sorted({*methods, *(("HEAD",) if "GET" in methods else ())}))


def routes(endpoints: Iterable[AnyEndpoint], api: object) -> list[Route]:
    """Every endpoint with the method of `api` that has its name; one without is a `TypeError` at start."""
    found = []
    for endpoint in endpoints:
        handler = getattr(api, endpoint.name, None)
        if handler is None:
            raise TypeError(f"{type(api).__name__} does not serve {endpoint.name}")
        found.append(Route(endpoint, handler))
    return found


class Table:
    """All routes. Paths are matched as they were sent, so that an encoded slash stays inside its segment."""

    def __init__(self, routes: Iterable[Route]) -> None:
        """`TypeError` where two endpoints are served at one place, or a path does not name its parameters."""
        self._fixed: dict[str, Methods] = {}
        self._tree = _Node()
        for route in routes:
            for path in route.endpoint.paths:
                self._add(path, route)

    def _add(self, path: str, route: Route) -> None:
        endpoint = route.endpoint
        segments = path.split("/")[1:]
        parameters = tuple(s[1:-1] for s in segments if s.startswith("{"))
        if parameters != endpoint.parameters.__struct_fields__:
            raise TypeError(f"{path} does not name the fields of {endpoint.parameters.__name__}")
        if not parameters:
            methods = self._fixed.setdefault(path, {})
        else:
            node = self._tree
            for segment in segments:
                if segment.startswith("{"):
                    node.parameter = node.parameter or _Node()
                    node = node.parameter
                else:
                    node = node.named.setdefault(segment, _Node())
            methods = node.methods
        if endpoint.method in methods:
            raise TypeError(f"{endpoint.method} {path} is served twice")
        methods[endpoint.method] = route

    def find(self, method: str, raw_path: bytes) -> tuple[Route, tuple[str, ...]]:
        """The route and its path parameters, decoded; HEAD is served as GET is. `not_found`, `MethodNotAllowed`."""
        path = raw_path.decode("latin-1")
        methods = self._fixed.get(path)
        parameters = _NO_PATH
        if methods is None:
            found = _walk(self._tree, path.split("/"), 1)
            if found is None:
                raise Refused(Refusal.not_found)
            methods, raw = found
            parameters = tuple(_decoded(segment) for segment in reversed(raw))
        route = methods.get("GET" if method == "HEAD" else method)
        if route is None:
            raise MethodNotAllowed(methods)
        return route, parameters


def _walk(node: _Node, segments: list[str], at: int) -> tuple[Methods, list[str]] | None:
    """The methods at the end of the path and its parameters, last one first. What is named goes before a parameter."""
    if at == len(segments):
        return (node.methods, []) if node.methods else None
    segment = segments[at]
    named = node.named.get(segment)
    if named is not None and (found := _walk(named, segments, at + 1)) is not None:
        return found
    if node.parameter is None or not segment or (found := _walk(node.parameter, segments, at + 1)) is None:
        return None
    found[1].append(segment)
    return found


def _decoded(segment: str) -> str:
    try:
        return unquote_to_bytes(segment).decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(Refusal.not_found) from None


def path_record(record: type[msgspec.Struct], parameters: tuple[str, ...]) -> msgspec.Struct:
    """The parameters in the types that the record declares; `not_found` where one is not of its type."""
    try:
        return msgspec.convert(dict(zip(record.__struct_fields__, parameters, strict=True)), record, strict=False)
    except msgspec.ValidationError:
        raise Refused(Refusal.not_found) from None
