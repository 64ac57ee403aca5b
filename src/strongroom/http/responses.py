"""What a handler gives back, as status, headers and body."""

from typing import Final, NamedTuple, TypeAlias

import msgspec

from strongroom.http import ranges
from strongroom.http.answers import Answer, Content, Given, Stream, Versioned
from strongroom.http.asgi import Header, Headers
from strongroom.http.header_lines import constant
from strongroom.wire.endpoint import AnyEndpoint, Condition

_JSON: Final = constant(b"content-type", b"application/json")
# For what needs a session: no cache between us and the caller keeps it, and the session is checked every time.
_REVALIDATE: Final = constant(b"cache-control", b"private, no-cache")
_ACCEPT_RANGES: Final = constant(b"accept-ranges", b"bytes")
_ONLY_JSON: Final = (_JSON,)
_encode = msgspec.json.Encoder().encode


class Piece(NamedTuple):
    """The part of a stream that is the answer: from one offset to another, to its end where that is None."""

    stream: Stream
    start: int
    stop: int | None

    @property
    def length(self) -> int | None:
        return None if self.stop is None else self.stop - self.start


Response: TypeAlias = tuple[int, bytes | Piece, tuple[Header, ...] | Headers]


async def response(given: Given, endpoint: AnyEndpoint, headers: dict[bytes, bytes], method: str) -> Response:
    """304 without a body for a caller who holds this version already, 206 for a range."""
    if given is None:
        return endpoint.status, b"", ()
    if isinstance(given, Answer):
        return given.status, _encode(given.body), _ONLY_JSON
    if isinstance(given, Versioned):
        validators = [(b"etag", given.etag.encode()), _REVALIDATE]
        if _is_held(given.etag, headers):
            return 304, b"", validators
        return endpoint.status, _encode(await given.make()), [_JSON, *validators]
    if isinstance(given, Content):
        return endpoint.status, given.data, _of(given)
    if isinstance(given, Stream):
        return _stream(given, endpoint, headers, method)
    return endpoint.status, _encode(given), _ONLY_JSON


def _stream(stream: Stream, endpoint: AnyEndpoint, headers: dict[bytes, bytes], method: str) -> Response:
    said = _of(stream)
    if stream.etag is not None:
        said.append((b"etag", stream.etag.encode()))
        if endpoint.is_conditional and _is_held(stream.etag, headers):
            return 304, b"", said
    if stream.length is None or Condition.range not in endpoint.conditions:
        return endpoint.status, Piece(stream, 0, stream.length), said
    said.append(_ACCEPT_RANGES)
    if method == "GET":  # of no other method a range has a meaning (RFC 9110 section 14.2)
        found = ranges.requested(headers.get(b"range"), headers.get(b"if-range"), stream.length, stream.etag)
        if found is not None:
            start, stop = found
            said.append((b"content-range", b"bytes %d-%d/%d" % (start, stop - 1, stream.length)))
            return 206, Piece(stream, start, stop), said
    return endpoint.status, Piece(stream, 0, stream.length), said


def _of(given: Content | Stream) -> Headers:
    said = [(name.lower().encode(), value.encode()) for name, value in given.headers.items()]
    said.append((b"content-type", given.media_type.encode()))
    return said


def _is_held(etag: str, headers: dict[bytes, bytes]) -> bool:
    """The weak comparison of RFC 9110 section 13.1.2: a proxy that compresses may have made our tag a weak one."""
    if_none_match = headers.get(b"if-none-match")
    if if_none_match is None:
        return False
    held = [tag.strip().removeprefix("W/") for tag in if_none_match.decode("latin-1").split(",")]
    return etag in held or held == ["*"]
