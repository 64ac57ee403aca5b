"""Both faces against real sockets: deadlines, caps, redirects, cookies, compression."""

import gzip
import ipaddress
import socket
import ssl
import threading
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.client.sockets import HEAD, OK, Serve, read_request, trickle, whole

from strongroom import AsyncStrongroom, ProtocolViolation, ServiceUnavailable, Strongroom, StrongroomError


def ask(url: str, timeout: float = 5.0) -> None:
    with Strongroom(url, timeout=timeout) as service:
        assert service.calls.healthz().status == "ok"


def ask_async(url: str, timeout: float = 5.0) -> None:
    async def main() -> None:
        async with AsyncStrongroom(url, timeout=timeout) as service:
            await service.calls.healthz()

    anyio.run(main)


both = pytest.mark.parametrize("ask", [ask, ask_async])
Ask = Callable[..., None]


@both
def test_a_plain_answer_is_taken(serve: Serve, ask: Ask) -> None:
    ask(serve(whole(OK)))


@both
@pytest.mark.parametrize(
    ("start", "piece"),
    [(b"", b""), (HEAD, b"X-A: b\r\n"), (HEAD + b"Content-Length: 9000\r\n\r\n", b" ")],
    ids=["silent", "headers", "body"],
)
def test_the_deadline_is_for_the_whole_exchange(serve: Serve, ask: Ask, start: bytes, piece: bytes) -> None:
    """Each byte comes in time; all together they do not."""
    url = serve(trickle(start, piece))
    started = time.monotonic()
    with pytest.raises(ServiceUnavailable):
        ask(url, timeout=0.4)
    assert time.monotonic() - started < 3


@both
def test_a_body_without_end_is_cut_off(serve: Serve, ask: Ask) -> None:
    sent = 0

    def treat(connection: socket.socket) -> None:
        nonlocal sent
        read_request(connection)
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        block = b"10000\r\n" + b"A" * 65536 + b"\r\n"
        while True:
            connection.sendall(block)
            sent += 65536

    with pytest.raises(ProtocolViolation):
        ask(serve(treat))
    assert sent < 40 * 1024 * 1024


@both
def test_headers_without_end_are_cut_off(serve: Serve, ask: Ask) -> None:
    def treat(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(HEAD)
        while True:
            connection.sendall(b"X-A: " + b"b" * 8192 + b"\r\n")

    with pytest.raises(StrongroomError):
        ask(serve(treat))


@both
def test_a_compressed_body_is_refused_and_never_unpacked(serve: Serve, ask: Ask) -> None:
    bomb = gzip.compress(b" " * 50_000_000 + OK)
    with pytest.raises(ProtocolViolation):
        ask(serve(whole(bomb, HEAD + b"Content-Encoding: gzip\r\n")))


@both
def test_redirects_are_not_followed(serve: Serve, ask: Ask) -> None:
    reached = threading.Event()

    def elsewhere(connection: socket.socket) -> None:
        reached.set()

    other = serve(elsewhere)
    head = b"HTTP/1.1 307 Temporary Redirect\r\nLocation: " + other.encode() + b"/healthz\r\n"
    with pytest.raises(ProtocolViolation):
        ask(serve(whole(b"", head)))
    assert not reached.is_set()


@pytest.mark.parametrize(
    "location",
    [b"javascript:alert(1)", b"data:,x", b"ftp:x", b"http://[::", b"http://x:abc/", b"http://xn--a/", b"\xff", b"\x7f"],
)
def test_where_a_redirect_leads_is_not_looked_at(serve: Serve, location: bytes) -> None:
    """The library makes an address of it before it does not follow, and of some it fails outside its own errors."""
    with pytest.raises(ProtocolViolation):
        ask(serve(whole(b"", b"HTTP/1.1 302 Found\r\nLocation: " + location + b"\r\n")))


@pytest.mark.parametrize("host", ["xn--a.example", "soft\u00adhyphen.example", "a..example", "a" * 64 + ".example"])
def test_a_name_that_no_host_has_is_refused_at_once(host: str) -> None:
    with pytest.raises(StrongroomError):
        Strongroom(f"https://{host}")


def test_errors_carry_nothing_of_the_request_or_the_answer(serve: Serve) -> None:
    """Whatever reports errors with the variables of each frame finds addresses there, and no credentials."""
    answer = b'{"status": {"canary": 1}}'
    for treat in (whole(answer), whole(b"", b"HTTP/1.1 302 Found\r\n"), whole(b"x", b"canary\r\n")):
        url = serve(treat)
        service = Strongroom(url, subscription_key="canary-key", provider_api_key="canary-provider")
        with service, pytest.raises(StrongroomError) as caught:
            service.calls.issue_vault_admission_token()
        assert caught.value.__context__ is caught.value.__cause__ is None
        frames = traceback.walk_tb(caught.value.__traceback__)
        ours = [frame.f_locals for frame, _ in frames if "/strongroom/" in frame.f_code.co_filename]
        assert len(ours) > 4
        assert "canary" not in repr([caught.value, ours])


def test_cookies_are_not_sent_back(serve: Serve) -> None:
    requests: list[bytes] = []

    def treat(connection: socket.socket) -> None:
        while request := read_request(connection):
            requests.append(request)
            connection.sendall(HEAD + b"Set-Cookie: id=tracked\r\nContent-Length: 16\r\n\r\n" + OK)

    with Strongroom(serve(treat)) as service:
        service.calls.healthz()
        service.calls.healthz()
    assert len(requests) == 2
    assert b"tracked" not in requests[1]


def test_proxies_of_the_environment_are_not_used(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    ask(serve(whole(OK)))


@both
def test_a_service_that_is_not_there_is_unavailable(ask: Ask) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(ServiceUnavailable) as caught:
        ask(f"http://127.0.0.1:{port}")
    # The library's exception carries the request, and that the credentials: not even as a hidden context.
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@both
@pytest.mark.parametrize("noise", [b"", b"SSH-2.0\r\n\r\n", b"HTTP/1.1 abc\r\n\r\n", b"\x16\x03\x01\x02\x00"])
def test_what_is_not_http_is_unavailable(serve: Serve, ask: Ask, noise: bytes) -> None:
    def treat(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(noise)

    with pytest.raises(ServiceUnavailable):
        ask(serve(treat))


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A self-signed certificate for 127.0.0.1 and its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "loopback")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = tmp_path / "loopback.pem"
    file.write_bytes(signed.public_bytes(serialization.Encoding.PEM) + private)
    return file


def over_tls(certificate: Path, treat: Callable[[socket.socket], None]) -> Callable[[socket.socket], None]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def handshake(connection: socket.socket) -> None:
        with context.wrap_socket(connection, server_side=True) as wrapped:
            treat(wrapped)

    return handshake


@both
def test_certificates_are_checked_against_the_systems_trust_store(
    serve: Serve, ask: Ask, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = serve(over_tls(certificate, whole(OK))).replace("http://", "https://")
    with pytest.raises(ServiceUnavailable):
        ask(url)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    ask(url)


@both
def test_the_deadline_holds_over_tls(
    serve: Serve, ask: Ask, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    url = serve(over_tls(certificate, trickle(HEAD, b"X-A: b\r\n"))).replace("http://", "https://")
    started = time.monotonic()
    with pytest.raises(ServiceUnavailable):
        ask(url, timeout=0.4)
    assert time.monotonic() - started < 3


@both
@pytest.mark.parametrize(
    "record", [b"\x17\x03\x03\x00\x40" + bytes(64), b"\x15\x03\x03\x00\x02\x02\x28", b"HTTP/1.1 200 OK\r\n\r\n"]
)
def test_a_connection_that_is_tampered_with_is_unavailable(
    serve: Serve, ask: Ask, certificate: Path, monkeypatch: pytest.MonkeyPatch, record: bytes
) -> None:
    """Somebody on the way cannot read TLS, but can write into it."""

    def treat(connection: socket.socket) -> None:
        read_request(connection)
        with socket.socket(fileno=connection.detach()) as under:
            under.sendall(record)
            under.recv(1)

    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with pytest.raises(ServiceUnavailable):
        ask(serve(over_tls(certificate, treat)).replace("http://", "https://"))
