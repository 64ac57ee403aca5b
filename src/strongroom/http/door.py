"""The door, where HTTP ends: paths become routes, credentials principals, bytes records, and refusals problems."""

import logging
import os
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias
from urllib.parse import unquote_to_bytes

import msgspec

from strongroom.http import incoming, json_body, refusals
from strongroom.http.answers import Answer, Content, Versioned
from strongroom.http.asgi import Header, Headers, Receive, Scope, Send, whole
from strongroom.http.header_lines import constant, line
from strongroom.http.responses import Response, response
from strongroom.runtime.logging import LOGGER, AccessLog
from strongroom.runtime.principals import Subscription
from strongroom.services.usage import UsageCounter
from strongroom.storage import Unavailable
from strongroom.wire.endpoint import Credential, Endpoint, NoQuery, Open
from strongroom.wire.refusal import Refusal, Refused

Handler: TypeAlias = Callable[[Any, Any], Awaitable[msgspec.Struct | Answer | Content | Versioned | None]]
Authenticate: TypeAlias = Callable[[Subscription | None, str], Awaitable[Any]]

_REQUEST_ID = re.compile(rb"[A-Za-z0-9][A-Za-z0-9.-]{0,63}")  # no underscore: never one of our credentials
_PROBLEM = constant(b"content-type", refusals.MEDIA_TYPE.encode())
_ID_LINE = b"x-request-id: %b\r\n"
_NO_STORE = constant(b"cache-control", b"no-store")
_logger = logging.getLogger(LOGGER)


class AuthenticateSubscription(Protocol):
    async def __call__(self, key: str) -> Subscription:
        """The subscription of an active key; refuses with the `subscription_key_...` codes."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """One endpoint with its handler."""

    endpoint: Endpoint
    handler: Handler


def routes(endpoints: Iterable[Endpoint], api: object) -> list[Route]:
    """Every endpoint with the method of `api` that has its name; one without is a `TypeError` at start."""
    found = []
    for endpoint in endpoints:
        handler = getattr(api, endpoint.name, None)
        if handler is None:
            raise TypeError(f"{type(api).__name__} does not serve {endpoint.name}")
        found.append(Route(endpoint, handler))
    return found


class Door:
    """An ASGI application over a table of endpoints."""

    REFUSALS = "/refusals/"
    """Where the page of each refusal code is found; its URL is the `type` of the problem."""

    def __init__(
        self,
        routes: Iterable[Route],
        *,
        authenticate_subscription: AuthenticateSubscription,
        authenticate: Mapping[Credential, Authenticate],
        public_url: str,
        body_timeout: float = 10.0,
        access_log: AccessLog | None = None,
        usage: UsageCounter | None = None,
    ) -> None:
        self._credentials: dict[Route, Authenticate] = {}
        self._static: dict[str, dict[str, Route]] = {}
        self._by_prefix: dict[str, dict[str, Route]] = {}
        for route in routes:
            if not isinstance(route.endpoint.credential, Open):
                self._credentials[route] = authenticate[route.endpoint.credential]
            for path in route.endpoint.paths:
                prefix, brace, _ = path.partition("{")
                table = self._by_prefix if brace else self._static
                methods = table.setdefault(prefix, {})
                if route.endpoint.method in methods:
                    raise TypeError(f"{route.endpoint.method} {path} is served twice")
                methods[route.endpoint.method] = route
        self._authenticate_subscription = authenticate_subscription
        self._type_prefix = public_url + self.REFUSALS
        self._body_timeout = body_timeout
        self._access_log = access_log
        self._usage = usage
        self._request_ids = _request_ids()
        self._common = [constant(b"x-content-type-options", b"nosniff"), constant(b"vary", b"Authorization")]
        if public_url.startswith("https://"):
            self._common.append(constant(b"strict-transport-security", b"max-age=63072000"))
        self._blocks: dict[tuple[tuple[Header, ...], bool], bytes] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        request_id = next(self._request_ids)
        route: Route | None = None
        code: str | None = None
        try:
            headers = incoming.headers(scope["headers"])
            given = headers.get(b"x-request-id")
            if given is not None and _REQUEST_ID.fullmatch(given):
                request_id = given.decode("ascii")
            route, segment = self._route(scope)
            status, body, extra = await self._answer(route, segment, scope, headers, receive)
        except Refused as refused:
            code = refused.refusal.code
            status, body, extra = self._problem(refused, request_id, scope)
        except Unavailable as unavailable:
            cause = unavailable.__cause__
            _logger.error(
                "unavailable", extra={"request_id": request_id, "cause": type(cause).__name__}, exc_info=cause
            )
            code = Refusal.unavailable.code
            status, body, extra = self._problem(Refused(Refusal.unavailable), request_id, scope)
        except incoming.ClientGone:
            return
        except Exception:
            _logger.exception("failed", extra={"request_id": request_id})
            code = Refusal.internal_error.code
            status, body, extra = self._problem(Refused(Refusal.internal_error), request_id, scope)
        keeps = route is not None and status < 400 and (route.endpoint.cacheable or route.endpoint.conditional)
        exchange = whole(send)
        if (
            exchange is None
            or not isinstance(extra, tuple)
            or not exchange.answer(status, self._block(extra, keeps) + _ID_LINE % request_id.encode(), body)
        ):
            sent = [*self._headers(extra, keeps), (b"x-request-id", request_id.encode())]
            if status not in (204, 304):
                sent.append((b"content-length", b"%d" % len(body)))
            await send({"type": "http.response.start", "status": status, "headers": sent})
            await send({"type": "http.response.body", "body": body})
        seconds = time.perf_counter() - started
        if self._usage is not None:
            caller = scope.get("strongroom.subscription")
            if caller is not None:
                self._usage.count(caller, code, seconds)
        if self._access_log is not None:
            path = route.endpoint.path if route else "-"
            method = route.endpoint.method if route else "-"
            self._access_log.write(method, path, status, seconds, request_id)

    def _route(self, scope: Scope) -> tuple[Route, str | None]:
        """By the raw path, so that an encoded slash stays inside its segment."""
        path = scope["raw_path"].decode("latin-1")
        segment: str | None = None
        methods = self._static.get(path)
        if methods is None:
            cut = path.rfind("/") + 1
            methods = self._by_prefix.get(path[:cut])
            if methods is None or cut == len(path):
                raise Refused(Refusal.not_found)
            try:
                segment = unquote_to_bytes(path[cut:]).decode("utf-8")
            except UnicodeDecodeError:
                raise Refused(Refusal.not_found) from None
        route = methods.get(scope["method"])
        if route is None:
            scope["strongroom.allow"] = tuple(sorted(methods))
            raise Refused(Refusal.method_not_allowed)
        return route, segment

    async def _answer(
        self, route: Route, segment: str | None, scope: Scope, headers: dict[bytes, bytes], receive: Receive
    ) -> Response:
        endpoint = route.endpoint
        who: Any = None
        if endpoint.subscription_key:
            key = headers.get(b"service-subscription-key")
            if not key:
                raise Refused(Refusal.subscription_key_missing)
            who = scope["strongroom.subscription"] = await self._authenticate_subscription(key.decode("latin-1"))
        if not isinstance(endpoint.credential, Open):
            who = await self._credentials[route](who, incoming.authorization(headers))
        what: Any = segment
        if endpoint.has_body:
            body = await incoming.body(endpoint, headers, receive, self._body_timeout)
            what = json_body.decode(body, endpoint.request, endpoint.wrapper)
        elif endpoint.query is not NoQuery:
            what = incoming.query(scope["query_string"], endpoint.query)
        return await response(await route.handler(who, what), endpoint, headers.get(b"if-none-match"))

    def _headers(self, extra: Iterable[Header], keeps: bool) -> Headers:
        """What an answer says of itself; `keeps` where it says itself whether it may be kept."""
        return [*extra, *self._common] if keeps else [*extra, *self._common, _NO_STORE]

    def _block(self, extra: tuple[Header, ...], keeps: bool) -> bytes:
        """The same as lines. Tuples are written in the code, and few; what differs from answer to answer is a list."""
        found = self._blocks.get((extra, keeps))
        if found is None:
            found = self._blocks[extra, keeps] = b"".join(line(*header) for header in self._headers(extra, keeps))
        return found

    def _problem(self, refused: Refused, request_id: str, scope: Scope) -> Response:
        headers = refusals.headers(refused, scope.get("strongroom.allow", ()))
        headers.append(_PROBLEM)
        if refused.refusal in (Refusal.body_too_large, Refusal.request_timeout):
            headers.append((b"connection", b"close"))  # what is left of the request is not worth reading
        return refused.refusal.status, refusals.problem(refused, request_id, self._type_prefix), headers


def _request_ids() -> Iterator[str]:
    """16 hexadecimal digits each. One call of the system, which costs more than making them, is enough for many."""
    while True:
        digits = os.urandom(8 * 512).hex()
        for start in range(0, len(digits), 16):
            yield digits[start : start + 16]
