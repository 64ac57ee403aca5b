"""The door, where HTTP ends: paths become routes, credentials principals, bytes records, and refusals problems."""

import logging
import os
import re
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Protocol, TypeAlias

from strongroom.http import incoming, refusals
from strongroom.http.asgi import Header, Headers, Receive, Scope, Send, direct
from strongroom.http.call import Call
from strongroom.http.header_lines import constant, line
from strongroom.http.octets import ClientGone
from strongroom.http.ranges import OutsideRange
from strongroom.http.responses import Piece, Response, response
from strongroom.http.routing import MethodNotAllowed, Route, RouteTable
from strongroom.runtime.logging import LOGGER, AccessLog
from strongroom.runtime.principals import Subscription
from strongroom.services.usage import UsageCounter
from strongroom.storage import Unavailable
from strongroom.wire.endpoint import Credential, NoBody, NoPath, NoQuery, Open
from strongroom.wire.refusal import Refusal, Refused

Authenticate: TypeAlias = Callable[[Subscription | None, str], Awaitable[Any]]

_REQUEST_ID = re.compile(rb"[A-Za-z0-9][A-Za-z0-9.-]{0,63}")  # no underscore: never one of our credentials
_PROBLEM = constant(b"content-type", refusals.MEDIA_TYPE.encode())
_ID_LINE = b"x-request-id: %b\r\n"
_NO_PATH, _NO_QUERY, _NO_BODY = NoPath(), NoQuery(), NoBody()
_NO_STORE = constant(b"cache-control", b"no-store")
_logger = logging.getLogger(LOGGER)


class AuthenticateSubscription(Protocol):
    async def __call__(self, key: str) -> Subscription:
        """The subscription of an active key; refuses with the `subscription_key_...` codes."""
        ...


class Door:
    """An ASGI application over a table of endpoints."""

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
        served = tuple(routes)
        self._table = RouteTable(served)
        self._credentials = {
            route: authenticate[route.endpoint.credential]
            for route in served
            if not isinstance(route.endpoint.credential, Open)
        }
        self._authenticate_subscription = authenticate_subscription
        self._type_prefix = public_url + refusals.PATH
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
        failed: Refused | None = None
        try:
            headers = incoming.headers(scope["headers"])
            given = headers.get(b"x-request-id")
            if given is not None and _REQUEST_ID.fullmatch(given):
                request_id = given.decode("ascii")
            route, parameters = self._table.find(scope["method"], scope["raw_path"])
            status, body, extra = await self._answer(route, parameters, scope, headers, receive)
        except Refused as refused:
            failed = refused
        except Unavailable as unavailable:
            cause = unavailable.__cause__
            _logger.error(
                "unavailable", extra={"request_id": request_id, "cause": type(cause).__name__}, exc_info=cause
            )
            failed = Refused(Refusal.unavailable)
        except ClientGone:
            return
        except Exception:
            _logger.exception("failed", extra={"request_id": request_id})
            failed = Refused(Refusal.internal_error)
        if failed is not None:
            status, body, extra = self._problem(failed, request_id)
        keeps = route is not None and status < 400 and route.keeps
        exchange = direct(send)
        if (
            exchange is None
            or not isinstance(extra, tuple)
            or not isinstance(body, bytes)
            or scope["method"] == "HEAD"
            or not exchange.answer(status, self._block(extra, keeps) + _ID_LINE % request_id.encode(), body)
        ):
            sent = [*self._headers(extra, keeps), (b"x-request-id", request_id.encode())]
            try:
                await _send(send, status, sent, body, is_head=scope["method"] == "HEAD")
            except ClientGone:
                pass  # a stream need not be made to its end
            except Exception:
                _logger.exception("an answer broke off", extra={"request_id": request_id})
                raise  # the server ends the connection: what was sent must not pass for the whole
        seconds = time.perf_counter() - started
        if self._usage is not None:
            caller = scope.get("strongroom.subscription")
            if caller is not None:
                self._usage.count(caller, None if failed is None else failed.refusal.code, seconds)
        if self._access_log is not None:
            path = route.endpoint.path if route else "-"
            method = scope["method"] if route else "-"
            self._access_log.write(method, path, status, seconds, request_id)

    async def _answer(
        self,
        route: Route,
        parameters: tuple[str, ...],
        scope: Scope,
        headers: dict[bytes, bytes],
        receive: Receive,
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
        for condition in endpoint.needed:
            if condition.value.lower().encode() not in headers:
                raise Refused(Refusal.precondition_required, f"Send {condition.value}.")
        call: Call[Any, Any, Any, Any] = Call(
            who,
            route.path(*parameters) if parameters else _NO_PATH,
            incoming.query(scope["query_string"], endpoint.query) if route.has_query else _NO_QUERY,
            _NO_BODY
            if endpoint.body is NoBody
            else await incoming.body(endpoint, headers, receive, self._body_timeout),
            incoming.if_match(headers) if route.takes_if_match else None,
        )
        return await response(await route.handler(call), endpoint, headers, scope["method"])

    def _headers(self, extra: Iterable[Header], keeps: bool) -> Headers:
        """What an answer says of itself; `keeps` where it says itself whether it may be kept."""
        return [*extra, *self._common] if keeps else [*extra, *self._common, _NO_STORE]

    def _block(self, extra: tuple[Header, ...], keeps: bool) -> bytes:
        """The same as lines. Tuples are written in the code, and few; what differs from answer to answer is a list."""
        found = self._blocks.get((extra, keeps))
        if found is None:
            found = self._blocks[extra, keeps] = b"".join(line(*header) for header in self._headers(extra, keeps))
        return found

    def _problem(self, refused: Refused, request_id: str) -> Response:
        headers = refusals.headers(refused)
        headers.append(_PROBLEM)
        if isinstance(refused, MethodNotAllowed):
            headers.append((b"allow", ", ".join(refused.allow).encode()))
        if isinstance(refused, OutsideRange):
            headers.append((b"content-range", b"bytes */%d" % refused.length))
        if refused.refusal in (Refusal.body_too_large, Refusal.request_timeout):
            headers.append((b"connection", b"close"))  # what is left of the request is not worth reading
        return refused.refusal.status, refusals.problem(refused, request_id, self._type_prefix), headers


async def _send(send: Send, status: int, headers: Headers, body: bytes | Piece, *, is_head: bool) -> None:
    """The answer in messages; `ClientGone` where the caller hangs up, any other failure of a stream as it is."""
    length = len(body) if isinstance(body, bytes) else body.length
    if length is not None and status not in (204, 304):
        headers.append((b"content-length", b"%d" % length))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    if isinstance(body, Piece) and not is_head:
        async with aclosing(body.stream.read(body.start, body.stop)) as pieces:
            async for piece in pieces:
                try:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                except ConnectionResetError:  # here alone: what makes the stream may raise the same
                    raise ClientGone from None
    await send({"type": "http.response.body", "body": body if isinstance(body, bytes) and not is_head else b""})


def _request_ids() -> Iterator[str]:
    """16 hexadecimal digits each. One call of the system, which costs more than making them, is enough for many."""
    while True:
        digits = os.urandom(8 * 512).hex()
        for start in range(0, len(digits), 16):
            yield digits[start : start + 16]
