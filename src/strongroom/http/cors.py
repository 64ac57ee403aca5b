"""Cross-origin requests: browsers on the listed origins, such as a portal that runs apart, may call the API."""

from strongroom.http.asgi import Application, Headers, Message, Receive, Scope, Send

_METHODS = b"GET, POST, DELETE"
_REQUEST_HEADERS = b"Accept, Authorization, Content-Type, If-None-Match, Service-Subscription-Key, X-Request-Id"
_RESPONSE_HEADERS = b"ETag, Retry-After, WWW-Authenticate, X-Request-Id"
_SECONDS = b"600"


class CrossOrigin:
    """Wraps an ASGI application. Cookies are never allowed along: every credential of the API is sent on purpose."""

    def __init__(self, application: Application, origins: tuple[str, ...]) -> None:
        self._application = application
        self._origins = frozenset(origin.encode() for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = next((value for name, value in scope["headers"] if name == b"origin"), None)
        # Also where no origin is named: a cache must not hand that answer to a page of a listed one.
        added = [(b"vary", b"Origin")]
        if origin in self._origins:
            added.append((b"access-control-allow-origin", origin))
            if scope["method"] == "OPTIONS":
                await _preflight(send, added)
                return
            added.append((b"access-control-expose-headers", _RESPONSE_HEADERS))

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *added]}
            await send(message)

        await self._application(scope, receive, sent)


async def _preflight(send: Send, added: Headers) -> None:
    headers = [
        *added,
        (b"access-control-allow-methods", _METHODS),
        (b"access-control-allow-headers", _REQUEST_HEADERS),
        (b"access-control-max-age", _SECONDS),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
