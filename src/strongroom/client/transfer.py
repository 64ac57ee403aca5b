"""How the drivers use their HTTP library: no redirects, cookies or proxies, capped bodies, one deadline for a whole
exchange."""

import ssl
import threading
import time
from collections.abc import Iterable
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final

import httpcore
import httpx

from strongroom.client.connection import BODY_LIMIT
from strongroom.client.conversation import Reply
from strongroom.client.errors import ProtocolViolation, ServiceUnavailable

TICK: Final = 0.2
"""Seconds between two events of progress during long work."""

UNREACHABLE: Final = "the service cannot be reached or broke off"
DEADLINE: Final = "the service did not answer in time"


def settings(timeout: float) -> dict[str, Any]:
    """What both clients are made with."""
    return {
        "timeout": timeout,
        "follow_redirects": False,
        "trust_env": False,
        # Sessions travel in Authorization alone; a cookie would be a second, unseen identity.
        "cookies": CookieJar(DefaultCookiePolicy(allowed_domains=[])),
    }


def tls() -> ssl.SSLContext:
    """The system's trust store and TLS 1.2 or later."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


class Intake:
    """One answer as it arrives: refused as soon as it is too large or compressed."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self._body = bytearray()
        # A compressed body was not asked for, and it may unpack to anything.
        if response.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise ProtocolViolation("the body is encoded although that was not accepted")

    def take(self, chunk: bytes) -> None:
        self._body += chunk
        if len(self._body) > BODY_LIMIT:
            raise ProtocolViolation("the body is larger than 16 MiB")

    def reply(self, seconds: float) -> Reply:
        headers = self._response.headers
        return Reply(
            status=self._response.status_code,
            content_type=headers.get("content-type", ""),
            retry_after=headers.get("retry-after", ""),
            body=bytes(self._body),
            seconds=seconds,
        )


class Deadline(threading.local):
    """The moment by which this thread's exchange has to be over."""

    at = float("inf")

    def start(self, seconds: float) -> None:
        self.at = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds left; past the deadline `ServiceUnavailable`."""
        left = self.at - time.monotonic()
        if left <= 0:
            raise ServiceUnavailable(DEADLINE)
        return left


class _DeadlineStream(httpcore.NetworkStream):
    """A time limit per read lets a service that sends a byte a second hold its caller for ever; this one does not."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline) -> None:
        self._stream = stream
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._deadline.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._deadline.left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        stream = self._stream.start_tls(ssl_context, server_hostname, self._deadline.left())
        return _DeadlineStream(stream, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _DeadlineBackend(httpcore.SyncBackend):
    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        stream = super().connect_tcp(host, port, self._deadline.left(), local_address, socket_options)
        return _DeadlineStream(stream, self._deadline)


class DeadlineTransport(httpx.HTTPTransport):
    """HTTP/1.1 over TCP and TLS whose every read, write and handshake ends at the deadline."""

    def __init__(self, deadline: Deadline) -> None:
        context = tls()
        super().__init__(verify=context, trust_env=False)
        # httpx has no public seam for the network backend; the test of the deadline fails if this attribute moves.
        self._pool = httpcore.ConnectionPool(ssl_context=context, network_backend=_DeadlineBackend(deadline))
