"""The head of a request, as the parser finds it: how much of it is taken, and what becomes of it."""

import re
from typing import Any
from urllib.parse import unquote

import httptools

from strongroom.http.asgi import Headers, Scope
from strongroom.http.limits import MAX_HEAD_BYTES, MAX_HEADERS
from strongroom.wire.refusal import Refusal

# An offer of another protocol may be passed over (RFC 9110 section 7.8). The parser cannot: it would look for no body.
# So it does not get to see the header; where the head came in two pieces, a request with a body is refused.
_OFFER = re.compile(rb"\r\n[Uu]pgrade:")
_PASSED_OVER = b"\r\npassed-over:"
_FRAMES_BODY = (b"content-length", b"transfer-encoding")


class HeadRefused(Exception):
    """Raised in a call of the parser, which ends with it and gives it as the context of its own error."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.code)
        self.refusal = refusal


def without_offer(data: bytes) -> bytes:
    """What was read, with the header unknown in which its first head offers another protocol. It begins with a head."""
    if data.find(b"pgrade:") < 0:
        return data
    head, end, rest = data.partition(b"\r\n\r\n")
    return _OFFER.sub(_PASSED_OVER, head) + end + rest


class Head:
    """Grows with each header. `HeadRefused` where it is too large or cannot be read in one way alone."""

    def __init__(self) -> None:
        self.url = b""
        self.headers: Headers = []
        self.expects_continue = False
        self._hosts = 0
        self._is_chunked = False
        self._bytes = 0

    def count(self, size: int) -> None:
        """For heads that might be too large: a read of as many bytes as a head may have brings none."""
        self._bytes += size
        if self._bytes > MAX_HEAD_BYTES or len(self.headers) > MAX_HEADERS:
            raise HeadRefused(Refusal.headers_too_large)

    def count_all(self) -> None:
        """What was added uncounted."""
        self._bytes = len(self.url) + sum(header_size(*header) for header in self.headers)

    def add(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name == b"host":
            self._hosts += 1
        elif name == b"expect":
            self.expects_continue = value.lower() == b"100-continue"
        elif name == b"transfer-encoding":
            # The parser takes any list that ends in chunked, over several headers too. Proxies differ there, and
            # decode nothing else either.
            if self._is_chunked or value.lower().strip(b" \t") != b"chunked":
                raise HeadRefused(Refusal.malformed_request)
            self._is_chunked = True
        self.headers.append((name, value.strip(b" \t")))

    def scope(self, method: bytes, version: str, client: Any, server: Any, *, upgrades: bool) -> Scope:
        """Of a request whose head is complete. `upgrades`: the parser saw an offer of another protocol."""
        headers = self.headers
        if len(headers) > MAX_HEADERS:
            raise HeadRefused(Refusal.headers_too_large)
        if version != "1.1":  # the parser also knows 0.9, whose requests have no headers, and 2.0, which is no text
            if version != "1.0" or self._is_chunked:  # which knows no chunks
                raise HeadRefused(Refusal.malformed_request)
            self.expects_continue = False  # nor answers before the answer
        if self._hosts != 1 and (self._hosts or version != "1.0"):
            raise HeadRefused(Refusal.malformed_request)  # RFC 9112 section 3.2
        if upgrades and any(name in _FRAMES_BODY and value != b"0" for name, value in headers):
            raise HeadRefused(Refusal.malformed_request)  # its body would be read as the next request
        if b"#" in self.url:  # belongs in no request: what stands behind it, another reader might take for the path
            raise HeadRefused(Refusal.malformed_request)
        url = httptools.parse_url(self.url)
        raw_path = url.path
        path = raw_path.decode("ascii")
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": version,
            "server": server,
            "client": client,
            "scheme": "http",
            "method": method.decode("ascii"),
            "root_path": "",
            "path": unquote(path) if "%" in path else path,
            "raw_path": raw_path,
            "query_string": url.query or b"",
            "headers": headers,
        }


def header_size(name: bytes, value: bytes) -> int:
    return len(name) + len(value) + 4
