"""A request body that is a stream of octets: in time, within its limit, and what its digest says."""

import asyncio
import binascii
import hashlib
import hmac
import re
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import IO, Final

from strongroom.http.asgi import Receive
from strongroom.wire.octets import Octets
from strongroom.wire.refusal import Refusal, Refused

MAX_IN_MEMORY: Final = 256 * 1024
"""What `spooled` keeps in memory; beyond it there is a file without a name."""
LEAST_BYTES_PER_SECOND: Final = 8 * 1024

_DIGEST: Final = re.compile(r"(?:^|,)[ \t]*sha-256=:([A-Za-z0-9+/]{43}=):[ \t]*(?:;[^,]*)?(?=,|\Z)")


class ClientGone(Exception):
    """The caller hung up before the request, or the answer, was whole."""


async def received(receive: Receive, limit: int, seconds: float, sha256: bytes | None) -> AsyncIterator[bytes]:
    """The body of one request in pieces, none of them empty.

    `body_too_large`, `request_timeout` where less than `LEAST_BYTES_PER_SECOND` come over `seconds`, and at the end
    `digest_mismatch` where `sha256` says something else. Time in which the next piece is not asked for does not count.
    """
    loop = asyncio.get_running_loop()
    hashed = None if sha256 is None else hashlib.sha256()
    size, waited, arrived = 0, 0.0, 0
    more = True
    while more:
        began = loop.time()
        try:
            async with asyncio.timeout(seconds - waited):
                message = await receive()
        except TimeoutError:
            raise Refused(Refusal.request_timeout) from None
        if message["type"] == "http.disconnect":
            raise ClientGone
        piece: bytes = message.get("body", b"")
        more = message.get("more_body", False)
        size += len(piece)
        if size > limit:
            raise too_large(limit)
        waited += loop.time() - began
        arrived += len(piece)
        if arrived >= seconds * LEAST_BYTES_PER_SECOND:
            waited, arrived = 0.0, 0
        if hashed is not None:
            hashed.update(piece)
        if piece:
            yield piece
    if hashed is not None and sha256 is not None and not hmac.compare_digest(hashed.digest(), sha256):
        raise Refused(Refusal.digest_mismatch)


@asynccontextmanager
async def spooled(octets: Octets) -> AsyncIterator[IO[bytes]]:
    """The whole body as a file that is read from its start; gone when the block ends.

    Above `MAX_IN_MEMORY` it is on disk, without a name, so that nothing is left of it however the process ends.
    Reading from it may wait for the disk: do it in a thread.
    """
    with tempfile.SpooledTemporaryFile(max_size=MAX_IN_MEMORY) as file:
        waiting = bytearray()
        async for piece in octets:
            waiting += piece
            if len(waiting) >= MAX_IN_MEMORY:
                await asyncio.to_thread(file.write, bytes(waiting))
                waiting.clear()
        await asyncio.to_thread(file.write, bytes(waiting))
        file.seek(0)
        yield file


def sha256_of(header: bytes) -> bytes:
    """The `sha-256` of a `Content-Digest` header (RFC 9530); `malformed_request` without one, or with several."""
    found = _DIGEST.findall(header.decode("latin-1"))
    if len(found) != 1:
        raise Refused(Refusal.malformed_request, "Content-Digest has to hold sha-256=:...: with 44 Base64 characters.")
    return binascii.a2b_base64(found[0])


def too_large(limit: int) -> Refused:
    return Refused(Refusal.body_too_large, f"At most {limit} bytes are taken here.")
