"""Refusals on the wire: RFC 9457 problem documents, one shape everywhere."""

import msgspec

from strongroom.wire.refusal import Problem, Refusal, Refused

MEDIA_TYPE = "application/problem+json"

_encode = msgspec.json.Encoder().encode


def problem(refused: Refused, request_id: str, type_prefix: str) -> bytes:
    """The document for a refusal. It holds nothing that the caller sent."""
    refusal = refused.refusal
    return _encode(
        Problem(
            type=type_prefix + refusal.code,
            title=refusal.title,
            status=refusal.status,
            detail=refused.detail,
            instance=request_id,
            code=refusal.code,
            errors=refused.faults,
        )
    )


def headers(refused: Refused, allow: tuple[str, ...] = ()) -> list[tuple[bytes, bytes]]:
    """What goes with the status: the challenge, the waiting time, the methods that are allowed."""
    found = []
    if refused.refusal.status == 401:
        found.append((b"www-authenticate", b'Bearer realm="strongroom"'))
    if refused.retry_after is not None or refused.refusal in (Refusal.unavailable, Refusal.rate_limited):
        found.append((b"retry-after", str(refused.retry_after or 1).encode()))
    if allow:
        found.append((b"allow", ", ".join(allow).encode()))
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
