"""Refusals on the wire: RFC 9457 problem documents, one shape everywhere."""

import msgspec

from strongroom.wire.refusal import Problem, Refusal, Refused

MEDIA_TYPE = "application/problem+json"
PATH = "/refusals/"
"""Where the page of each refusal code is found; its URL is the `type` of the problem."""

_encode = msgspec.json.Encoder().encode


def problem(refused: Refused, request_id: str, type_prefix: str) -> bytes:
    """The document for a refusal. It holds nothing that the caller sent."""
    return _encode(_problem(refused, request_id, type_prefix))


def _problem(refused: Refused, request_id: str, type_prefix: str) -> Problem:
    refusal = refused.refusal
    return Problem(
        type=type_prefix + refusal.code,
        title=refusal.title,
        status=refusal.status,
        detail=refused.detail,
        instance=request_id,
        code=refusal.code,
        errors=refused.faults,
    )


def example(refusal: Refusal, base_url: str) -> Problem:
    """The document of a refusal as documents show it."""
    return _problem(Refused(refusal), "5f2c8d1e9b3a4706", f"{base_url}{PATH}")


def headers(refused: Refused) -> list[tuple[bytes, bytes]]:
    """What goes with the status: the challenge, the waiting time."""
    found = []
    if refused.refusal.status == 401:
        found.append((b"www-authenticate", b'Bearer realm="strongroom"'))
    if refused.retry_after is not None or refused.refusal in (Refusal.unavailable, Refusal.rate_limited):
        found.append((b"retry-after", str(refused.retry_after or 1).encode()))
    return found


def whole_answer(refused: Refused, request_id: str, type_prefix: str) -> bytes:
    """Head and document for a request that reached no application; the connection ends with it."""
    body = problem(refused, request_id, type_prefix)
    head = [f"HTTP/1.1 {refused.refusal.status} {refused.refusal.title}".encode()]
    head += [name + b": " + value for name, value in headers(refused)]
    head += [
        b"content-type: " + MEDIA_TYPE.encode(),
        f"content-length: {len(body)}".encode(),
        b"connection: close",
    ]
    return b"\r\n".join(head) + b"\r\n\r\n" + body
