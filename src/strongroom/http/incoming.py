"""What a request brings: the headers, the credential, the query, the body."""

import asyncio
from urllib.parse import parse_qsl

import msgspec

from strongroom.http import json_body
from strongroom.http.asgi import Header, Receive, whole
from strongroom.wire.endpoint import Endpoint
from strongroom.wire.refusal import Refusal, Refused

_JSON = b"application/json"
_MAX_QUERY_FIELDS = 32
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


class ClientGone(Exception):
    """The caller hung up before the request was whole; nobody is left to answer."""


def headers(raw: list[Header]) -> dict[bytes, bytes]:
    """By name. Of those we look at, one that was sent twice is refused: two readers could take different ones."""
    found = dict(raw)
    if len(found) != len(raw):
        wanted = [name for name, _ in raw if name in _WANTED]
        if len(set(wanted)) != len(wanted):
            raise Refused(Refusal.malformed_request, "A header was sent twice.")
    length = found.get(b"content-length")
    if length is not None and not (length.isdigit() and len(length) <= 15):
        raise Refused(Refusal.malformed_request, "Content-Length has to be a number.")
    return found


def authorization(headers: dict[bytes, bytes]) -> str:
    """The credential, sent bare or as `Bearer ...`."""
    value = headers.get(b"authorization", b"").decode("latin-1").strip()
    scheme, _, rest = value.partition(" ")
    if scheme.lower() == "bearer":
        value = rest.strip()
    if not value:
        raise Refused(Refusal.authorization_missing)
    return value


def query(raw: bytes, record: type[msgspec.Struct]) -> msgspec.Struct:
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


async def body(endpoint: Endpoint, headers: dict[bytes, bytes], receive: Receive, seconds: float) -> bytes:
    """The body, whole within `seconds`; refused by its media type and, announced or not, by its size."""
    media_type = headers.get(b"content-type", b"")
    if media_type != _JSON:
        media_type = media_type.partition(b";")[0].strip().lower()
    if media_type != _JSON or headers.get(b"content-encoding", b"identity") != b"identity":
        raise Refused(Refusal.unsupported_media_type)
    limit = endpoint.body_limit
    if int(headers.get(b"content-length", b"0")) > limit:
        raise _too_large(limit)
    if (exchange := whole(receive)) is not None:
        found: bytes | None = exchange.arrived()
        if found is not None:  # as for most requests: nothing to wait for, so no deadline either
            if len(found) > limit:
                raise _too_large(limit)
            return found
    try:
        async with asyncio.timeout(seconds):
            return await _whole(receive, limit)
    except TimeoutError:
        raise Refused(Refusal.request_timeout) from None


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
            raise _too_large(limit)
        chunks.append(chunk)
        if not message.get("more_body", False):
            return b"".join(chunks)


def _too_large(limit: int) -> Refused:
    return Refused(Refusal.body_too_large, f"At most {limit} bytes are taken here.")
