"""The door, where HTTP ends: paths become routes, credentials principals, bytes records, and refusals problems."""

import asyncio
import logging
import os
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias
from urllib.parse import parse_qsl, unquote_to_bytes

import msgspec

from strongroom.server import json_body, refusals
from strongroom.server.answers import Answer, Content, Versioned
from strongroom.server.db import Unavailable
from strongroom.server.logging import LOGGER, AccessLog
from strongroom.server.principals import Subscription
from strongroom.server.usage import UsageCounter
from strongroom.wire.endpoint import Credential, Endpoint, NoQuery, Open
from strongroom.wire.refusal import Refusal, Refused

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Headers: TypeAlias = list[tuple[bytes, bytes]]
Handler: TypeAlias = Callable[[Any, Any], Awaitable[msgspec.Struct | Answer | Content | Versioned | None]]
Authenticate: TypeAlias = Callable[[Subscription | None, str], Awaitable[Any]]

_REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,63}")  # no underscore: never one of our credentials
_MAX_QUERY_FIELDS = 32
_JSON = (b"content-type", b"application/json")
# For what needs a session: no cache between us and the caller keeps it, and the session is checked every time.
_REVALIDATE = (b"cache-control", b"private, no-cache")
_WANTED = frozenset(
    (
        b"service-subscription-key",
        b"authorization",
        b"content-type",
        b"content-length",
        b"content-encoding",
        b"x-request-id",
        b"if-none-match",
    )
)
_logger = logging.getLogger(LOGGER)
_encode = msgspec.json.Encoder().encode


class AuthenticateSubscription(Protocol):
    async def __call__(self, key: str) -> Subscription:
        """The subscription of an active key; refuses with the `subscription_key_...` codes."""
        ...


class ClientGone(Exception):
    """The caller hung up before the request was whole; nobody is left to answer."""


@dataclass(frozen=True, slots=True)
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
        self._static: dict[str, dict[str, Route]] = {}
        self._by_prefix: dict[str, dict[str, Route]] = {}
        for route in routes:
            for path in route.endpoint.paths:
                prefix, brace, _ = path.partition("{")
                table = self._by_prefix if brace else self._static
                methods = table.setdefault(prefix, {})
                if route.endpoint.method in methods:
                    raise TypeError(f"{route.endpoint.method} {path} is served twice")
                methods[route.endpoint.method] = route
        self._authenticate_subscription = authenticate_subscription
        self._authenticate = authenticate
        self._type_prefix = public_url + self.REFUSALS
        self._body_timeout = body_timeout
        self._access_log = access_log
        self._usage = usage
        self._common: Headers = [(b"x-content-type-options", b"nosniff"), (b"vary", b"Authorization")]
        if public_url.startswith("https://"):
            self._common.append((b"strict-transport-security", b"max-age=63072000"))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = time.perf_counter()
        request_id = os.urandom(8).hex()
        route: Route | None = None
        code: str | None = None
        extra: Headers
        try:
            headers = _headers(scope["headers"])
            given = headers.get(b"x-request-id")
            if given is not None and _REQUEST_ID.fullmatch(given):
                request_id = given
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
        except ClientGone:
            return
        except Exception:
            _logger.exception("failed", extra={"request_id": request_id})
            code = Refusal.internal_error.code
            status, body, extra = self._problem(Refused(Refusal.internal_error), request_id, scope)
        sent = [
            *extra,
            *self._common,
            (b"x-request-id", request_id.encode()),
        ]
        if status not in (204, 304):
            sent.append((b"content-length", str(len(body)).encode()))
        if route is None or status >= 400 or not (route.endpoint.cacheable or route.endpoint.conditional):
            sent.append((b"cache-control", b"no-store"))
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
        self, route: Route, segment: str | None, scope: Scope, headers: dict[bytes, str], receive: Receive
    ) -> tuple[int, bytes, Headers]:
        endpoint = route.endpoint
        who: Any = None
        if endpoint.subscription_key:
            key = headers.get(b"service-subscription-key")
            if not key:
                raise Refused(Refusal.subscription_key_missing)
            who = scope["strongroom.subscription"] = await self._authenticate_subscription(key)
        if not isinstance(endpoint.credential, Open):
            who = await self._authenticate[endpoint.credential](who, _authorization(headers))
        what: Any = segment
        if endpoint.has_body:
            body = await self._body(endpoint, headers, receive)
            what = json_body.decode(body, endpoint.request, endpoint.wrapper)
        elif endpoint.query is not NoQuery:
            what = _query(scope["query_string"], endpoint.query)
        answer = await route.handler(who, what)
        if answer is None:
            return endpoint.status, b"", []
        if isinstance(answer, Content):
            return _content(answer, endpoint.status, headers.get(b"if-none-match"))
        if isinstance(answer, Versioned):
            validators = [(b"etag", answer.etag.encode()), _REVALIDATE]
            if _is_held(answer.etag, headers.get(b"if-none-match")):
                return 304, b"", validators
            return endpoint.status, _encode(await answer.make()), [_JSON, *validators]
        if isinstance(answer, Answer):
            return answer.status, _encode(answer.body), [_JSON]
        return endpoint.status, _encode(answer), [_JSON]

    async def _body(self, endpoint: Endpoint, headers: dict[bytes, str], receive: Receive) -> bytes:
        media_type = headers.get(b"content-type", "").partition(";")[0].strip().lower()
        if media_type != "application/json" or headers.get(b"content-encoding", "identity") != "identity":
            raise Refused(Refusal.unsupported_media_type)
        if int(headers.get(b"content-length", "0")) > endpoint.body_limit:
            raise Refused(Refusal.body_too_large, f"At most {endpoint.body_limit} bytes are taken here.")
        try:
            async with asyncio.timeout(self._body_timeout):
                return await _whole(receive, endpoint.body_limit)
        except TimeoutError:
            raise Refused(Refusal.request_timeout) from None

    def _problem(self, refused: Refused, request_id: str, scope: Scope) -> tuple[int, bytes, Headers]:
        headers = refusals.headers(refused, scope.get("strongroom.allow", ()))
        headers.append((b"content-type", refusals.MEDIA_TYPE.encode()))
        if refused.refusal in (Refusal.body_too_large, Refusal.request_timeout):
            headers.append((b"connection", b"close"))  # what is left of the request is not worth reading
        return refused.refusal.status, refusals.problem(refused, request_id, self._type_prefix), headers


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[bytes, str]:
    """The headers we look at. Sent twice they are refused: two readers could take different ones."""
    found: dict[bytes, str] = {}
    for name, value in raw:
        if name in _WANTED:
            if name in found:
                raise Refused(Refusal.malformed_request, "A header was sent twice.")
            found[name] = value.decode("latin-1")
    length = found.get(b"content-length")
    if length is not None and not (length.isascii() and length.isdigit() and len(length) <= 15):
        raise Refused(Refusal.malformed_request, "Content-Length has to be a number.")
    return found


def _authorization(headers: dict[bytes, str]) -> str:
    """The credential, sent bare or as `Bearer ...`."""
    value = headers.get(b"authorization", "").strip()
    scheme, _, rest = value.partition(" ")
    if scheme.lower() == "bearer":
        value = rest.strip()
    if not value:
        raise Refused(Refusal.authorization_missing)
    return value


def _query(raw: bytes, record: type[msgspec.Struct]) -> msgspec.Struct:
    try:
        pairs = parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MAX_QUERY_FIELDS
        )
    except ValueError:
        raise Refused(Refusal.malformed_request, "The query cannot be read.") from None
    fields = record.__struct_fields__
    wanted = [(name, value) for name, value in pairs if name in fields]
    if len(dict(wanted)) != len(wanted):
        raise Refused(Refusal.malformed_request, "A query parameter was sent twice.")
    if any("\x00" in value for _, value in wanted):
        raise Refused(Refusal.malformed_request, "A query parameter holds NUL.")
    return json_body.decode_query(dict(wanted), record)


async def _whole(receive: Receive, limit: int) -> bytes:
    chunks = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            raise Refused(Refusal.body_too_large, f"At most {limit} bytes are taken here.")
        chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks)


def _content(content: Content, status: int, if_none_match: str | None) -> tuple[int, bytes, Headers]:
    headers = [(name.lower().encode(), value.encode()) for name, value in content.headers.items()]
    headers.append((b"content-type", content.media_type.encode()))
    etag = content.headers.get("ETag")
    if etag is not None and _is_held(etag, if_none_match):
        return 304, b"", headers
    return status, content.data, headers


def _is_held(etag: str, if_none_match: str | None) -> bool:
    """The weak comparison of RFC 9110 section 13.1.2: a proxy that compresses may have made our tag a weak one."""
    if if_none_match is None:
        return False
    held = [tag.strip().removeprefix("W/") for tag in if_none_match.split(",")]
    return etag in held or held == ["*"]
