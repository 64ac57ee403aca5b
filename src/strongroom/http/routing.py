"""From method and path to the endpoint: the table of the door."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import unquote_to_bytes

import msgspec
from msgspec import inspect as types

from strongroom.http.answers import Given
from strongroom.wire.endpoint import AnyEndpoint, Condition, NoQuery
from strongroom.wire.refusal import Refusal, Refused

Handler: TypeAlias = Callable[[Any], Awaitable[Given]]
"""Of one `Call`; a test holds the types of every handler against its endpoint."""

_NO_PATH: tuple[str, ...] = ()


class Route:
    """One endpoint with its handler, and what the door would otherwise ask of the endpoint at every request."""

    __slots__ = ("endpoint", "handler", "has_query", "keeps", "path", "takes_if_match")

    def __init__(self, endpoint: AnyEndpoint, handler: Handler) -> None:
        self.endpoint = endpoint
        self.handler = handler
        self.keeps = endpoint.cacheable or endpoint.is_conditional
        """Whether an answer says itself how long it may be kept."""
        self.has_query = endpoint.query is not NoQuery
        self.takes_if_match = Condition.if_match in endpoint.conditions
        record = endpoint.parameters
        plain = all(_is_any_text(field.type) for field in msgspec.structs.fields(record))
        self.path: Callable[..., Any] = record if plain else partial(_converted, record)
        """The path parameters, each an argument, as their record; `not_found` where one is not of its type."""


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


class RouteTable:
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
            methods, parameters = self._walk(path)
        route = methods.get("GET" if method == "HEAD" else method)
        if route is None:
            raise MethodNotAllowed(methods)
        return route, parameters

    def _walk(self, path: str) -> tuple[Methods, tuple[str, ...]]:
        """Segment by segment; what is named goes before a parameter."""
        node = self._tree
        raw = []
        for segment in path.split("/")[1:]:
            following = node.named.get(segment)
            if following is None:
                following = node.parameter
                if following is None or not segment:
                    raise Refused(Refusal.not_found)
                raw.append(segment)
            node = following
        if not node.methods:
            raise Refused(Refusal.not_found)
        return node.methods, tuple(map(_decoded, raw))


def _decoded(segment: str) -> str:
    if "%" not in segment and segment.isascii():
        return segment
    try:
        return unquote_to_bytes(segment).decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(Refusal.not_found) from None


def _is_any_text(annotation: Any) -> bool:
    about = types.type_info(annotation)
    return (about.type if isinstance(about, types.Metadata) else about) == types.StrType()


def _converted(record: type[msgspec.Struct], *parameters: str) -> msgspec.Struct:
    try:
        return msgspec.convert(dict(zip(record.__struct_fields__, parameters, strict=True)), record, strict=False)
    except msgspec.ValidationError:
        raise Refused(Refusal.not_found) from None
