"""What a handler gives back, as status, body and headers."""

import msgspec

from strongroom.http.answers import Answer, Content, Versioned
from strongroom.http.asgi import Header, Headers
from strongroom.http.header_lines import constant
from strongroom.wire.endpoint import Endpoint

Response = tuple[int, bytes, tuple[Header, ...] | Headers]

_JSON = constant(b"content-type", b"application/json")
# For what needs a session: no cache between us and the caller keeps it, and the session is checked every time.
_REVALIDATE = constant(b"cache-control", b"private, no-cache")
_ONLY_JSON = (_JSON,)
_encode = msgspec.json.Encoder().encode


async def response(
    answer: msgspec.Struct | Answer | Content | Versioned | None, endpoint: Endpoint, if_none_match: bytes | None
) -> Response:
    """304 without a body for a caller who holds this version already."""
    if answer is None:
        return endpoint.status, b"", ()
    if isinstance(answer, Answer):
        return answer.status, _encode(answer.body), _ONLY_JSON
    if isinstance(answer, Versioned):
        validators = [(b"etag", answer.etag.encode()), _REVALIDATE]
        if _is_held(answer.etag, if_none_match):
            return 304, b"", validators
        return endpoint.status, _encode(await answer.make()), [_JSON, *validators]
    if isinstance(answer, Content):
        return _content(answer, endpoint.status, if_none_match)
    return endpoint.status, _encode(answer), _ONLY_JSON


def _content(content: Content, status: int, if_none_match: bytes | None) -> Response:
    headers = [(name.lower().encode(), value.encode()) for name, value in content.headers.items()]
    headers.append((b"content-type", content.media_type.encode()))
    etag = content.headers.get("ETag")
    if etag is not None and _is_held(etag, if_none_match):
        return 304, b"", headers
    return status, content.data, headers


def _is_held(etag: str, if_none_match: bytes | None) -> bool:
    """The weak comparison of RFC 9110 section 13.1.2: a proxy that compresses may have made our tag a weak one."""
    if if_none_match is None:
        return False
    held = [tag.strip().removeprefix("W/") for tag in if_none_match.decode("latin-1").split(",")]
    return etag in held or held == ["*"]
