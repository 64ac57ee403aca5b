"""Digests by which content that was stored before is known when it is posted again.

A digest is over named columns and bears the number of the way it was made, so that it can be made again as long as
its row is kept:

    version (1 byte) || SHA-256(JSON ["strongroom/digest", version, kind, {column: value, ...}])

The JSON is UTF-8 without white space, columns in the order of their names, bytes in Base64. A column whose value is
None is left out.

To add a field to a record: pass its column to `digest`, with None where the client sent none. Rows from before have
none, so their digests stay as they are, and what an older client posts again is known as before. The version does not
change. Only where the same columns have to be put together in another way it is raised by one; then the rows of before
keep the digest they have, and what is posted is looked up by the digests of all versions.
"""

import hashlib
import hmac
from collections.abc import Sequence
from typing import TypeAlias

import msgspec

VERSION = 1
SIZE = 33

Content: TypeAlias = str | int | bytes | Sequence[str] | None

_PREFIX = bytes((VERSION,))
_encode = msgspec.json.Encoder(order="deterministic").encode


def digest(kind: str, **columns: Content) -> bytes:
    """Of today's version. `kind` keeps records of different kinds apart."""
    if None in columns.values():
        columns = {name: value for name, value in columns.items() if value is not None}
    return _PREFIX + hashlib.sha256(_encode(("strongroom/digest", VERSION, kind, columns))).digest()


def agrees(stored: bytes, made: bytes) -> bool:
    """Whether a stored digest is the one that was made anew."""
    return hmac.compare_digest(stored, made)
