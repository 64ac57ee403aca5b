"""Headers of answers as they go over the wire. No value can end its line, wherever it came from."""

import re
from typing import Final

from strongroom.server.asgi import Header

CONSTANT: Final[dict[Header, bytes]] = {}
"""The lines of headers that are written in the code."""

_NAME: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# RFC 9110 section 5.5: no control character but the tab, so nothing with which a line could end.
_VALUE: Final = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
# The server reads these, so they are never taken for text alone.
_FRAMING: Final = (b"connection", b"content-length", b"transfer-encoding")


def line(name: bytes, value: bytes) -> bytes:
    """`name: value` with its line end; `RuntimeError` for what cannot be a name or holds a control character."""
    if _NAME.fullmatch(name) is None or _VALUE.fullmatch(value) is None:
        raise RuntimeError("a header that cannot be sent")
    return b"%b: %b\r\n" % (name.lower(), value)


def constant(name: bytes, value: bytes) -> Header:
    """A header for many answers: it is checked and written here, once. For fixed values only, for each is kept."""
    if name.lower() in _FRAMING:
        raise ValueError("this header belongs to one answer")
    header = (name, value)
    CONSTANT[header] = line(name, value)
    return header
