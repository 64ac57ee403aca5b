"""Headers of answers as they go over the wire. No value can end its line, wherever it came from."""

import re
from typing import Final

from strongroom.http.asgi import Header

CONSTANT: Final[dict[Header, bytes]] = {}
"""The lines of headers that are written in the code."""
FRAMING: Final = frozenset((b"connection", b"content-length", b"transfer-encoding"))
"""What the server itself reads: where an answer ends, and whether another one may follow it."""

_NAME: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# RFC 9110 section 5.5: no control character but the tab, so nothing with which a line could end.
_VALUE: Final = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")


_STARTS: Final[dict[bytes, bytes]] = {}
_MOST_STARTS: Final = 256


def line(name: bytes, value: bytes) -> bytes:
    """`name: value` with its line end; `RuntimeError` for what cannot be a name or holds a control character."""
    start = _STARTS.get(name) or _start(name)
    if not value.isalnum() and _VALUE.fullmatch(value) is None:  # numbers and ids need no second look
        raise RuntimeError("a header that cannot be sent")
    return start + value + b"\r\n"


def constant(name: bytes, value: bytes) -> Header:
    """A header for many answers: it is checked and written here, once. For fixed values only, for each is kept."""
    if name.lower() in FRAMING:
        raise ValueError("this header belongs to one answer")
    header = (name, value)
    CONSTANT[header] = line(name, value)
    return header


def _start(name: bytes) -> bytes:
    if _NAME.fullmatch(name) is None:
        raise RuntimeError("a header that cannot be sent")
    start = name.lower() + b": "
    if len(_STARTS) < _MOST_STARTS:  # names are written in the code, so there are few
        _STARTS[name] = start
    return start
