"""What a request brings: the headers, the credential, the query, the body."""

import asyncio
import re
from functools import cache
from typing import Any, Final
from urllib.parse import parse_qsl

import msgspec

from strongroom.http import json_body
from strongroom.http.asgi import Header, Receive, direct
from strongroom.http.faults import faults
from strongroom.http.octets import ClientGone, received, sha256_of, too_large
from strongroom.wire.endpoint import AnyEndpoint, Condition
from strongroom.wire.octets import Octets
from strongroom.wire.refusal import Refusal, Refused

LARGE_BODY: Final = 128 * 1024
"""A body above it is read in a thread: the reader takes seven milliseconds for a megabyte."""

_JSON = b"application/json"
_OCTETS = b"application/octet-stream"
_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,17})")
_ENTITY_TAG: Final = re.compile(r'"([\x21\x23-\x7e]{0,128})"')
_MAX_QUERY_FIELDS = 32
_WANTED = frozenset(
    (
        b"service-subscription-key",
        b"authorization",
        b"content-type",
        b"content-length",
        b"content-encoding",
        b"x-request-id",
        b"content-digest",
        b"if-match",
        b"if-none-match",
        b"if-range",
        b"range",
    )
)


def headers(raw: list[Header]) -> dict[bytes, bytes]:
    """By name. Of those we look at, one that was sent twice is refused: two readers could take different ones."""
    found = dict(raw)
    if len(found) != len(raw):
        wanted = [name for name, _ in raw if name in _WANTED]
        if len(set(wanted)) != len(wanted):
            raise Refused(Refusal.malformed_request, "A header was sent twice.")
    length = found.get(b"content-length")
    if length is not None and not (length.strip(b" \t").isdigit() and len(length) <= 15):
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
    """The parameters that the record names; others are ignored. `malformed_request`, or `validation_failed`."""
    try:
        pairs = parse_qsl(
            raw.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MAX_QUERY_FIELDS
        )
    except ValueError:
        raise Refused(Refusal.malformed_request, "The query cannot be read.") from None
    numbers = _numbers(record)
    values: dict[str, str | int] = {}
    for name, value in pairs:
        if name not in record.__struct_fields__:
            continue
        if name in values:
            raise Refused(Refusal.malformed_request, "A query parameter was sent twice.")
        if "\x00" in value:
            raise Refused(Refusal.malformed_request, "A query parameter holds NUL.")
        values[name] = int(value) if name in numbers and _INTEGER.fullmatch(value) else value
    try:
        return msgspec.convert(values, record)
    except msgspec.ValidationError:
        raise Refused(Refusal.validation_failed, faults=faults(values, record)) from None


@cache
def _numbers(record: type[msgspec.Struct]) -> frozenset[str]:
    """The parameters that are whole numbers."""
    schema = msgspec.json.schema_components([record])[1][record.__name__]
    return frozenset(
        name
        for name, about in schema["properties"].items()
        if any(variant.get("type") == "integer" for variant in about.get("anyOf", [about]))
    )


def if_match(headers: dict[bytes, bytes]) -> str | None:
    """The one entity tag of `If-Match`, without its quotes; None where the header is missing."""
    value = headers.get(b"if-match")
    if value is None:
        return None
    match = _ENTITY_TAG.fullmatch(value.decode("latin-1").strip(" \t"))
    if match is None:
        raise Refused(Refusal.malformed_request, "If-Match has to be one entity tag in quotes.")
    return match[1]


async def body(endpoint: AnyEndpoint, headers: dict[bytes, bytes], receive: Receive, seconds: float) -> Any:
    """What the endpoint takes: a record, within `seconds`, or a stream of octets; refused by media type and size."""
    media_type = headers.get(b"content-type", b"")
    wanted = _OCTETS if endpoint.takes_octets else _JSON
    if media_type != wanted:
        media_type = media_type.partition(b";")[0].strip().lower()
    if media_type != wanted or headers.get(b"content-encoding", b"identity") != b"identity":
        raise Refused(Refusal.unsupported_media_type, f"Send Content-Type: {wanted.decode()}, without compression.")
    limit = endpoint.body_limit
    announced = headers.get(b"content-length")
    length = None if announced is None else int(announced)
    if length is not None and length > limit:
        raise too_large(limit)
    if endpoint.takes_octets:
        digest = headers.get(b"content-digest") if Condition.content_digest in endpoint.conditions else None
        sha256 = None if digest is None else sha256_of(digest)
        return Octets(received(receive, limit, seconds, sha256), length)
    raw = await _whole(receive, limit, seconds)
    if len(raw) > LARGE_BODY:
        return await asyncio.to_thread(json_body.decode, raw, endpoint.body, endpoint.wrapper)
    return json_body.decode(raw, endpoint.body, endpoint.wrapper)


async def _whole(receive: Receive, limit: int, seconds: float) -> bytes:
    if (exchange := direct(receive)) is not None:
        found: bytes | None = exchange.arrived()
        if found is not None:  # as for most requests: nothing to wait for, so no deadline either
            if len(found) > limit:
                raise too_large(limit)
            return found
    chunks = []
    size = 0
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                chunk = message.get("body", b"")
                size += len(chunk)
                if size > limit:
                    raise too_large(limit)
                chunks.append(chunk)
                if not message.get("more_body", False):
                    return b"".join(chunks)
    except TimeoutError:
        raise Refused(Refusal.request_timeout) from None
