"""Mail over TLS: a real SMTP server with a certificate of an authority of our own, begun at once or by STARTTLS."""

import datetime
import smtplib
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from strongroom.portal.messaging import messages
from strongroom.portal.messaging.mail import NotSent
from strongroom.portal.messaging.mailers import SmtpMailer

pytestmark = pytest.mark.anyio

HOST = "mail.example"
MESSAGE = messages.confirm("ada@example.com", "http://localhost:8000/portal/confirm/x")


@dataclass
class Authority:
    """A certificate authority, and the certificate it gave to one host."""

    folder: Path
    trusted: Path = field(init=False)
    chain: Path = field(init=False)

    def __post_init__(self) -> None:
        now = datetime.datetime.now(datetime.UTC)
        key, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "An authority of our own")])
        host = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])

        def certificate(subject: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
            made = x509.CertificateBuilder().subject_name(subject).issuer_name(name).public_key(public)
            made = made.serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(hours=1))
            return made.not_valid_after(now + datetime.timedelta(days=1))

        root = certificate(name, key.public_key()).add_extension(x509.BasicConstraints(True, None), True)
        leaf = certificate(host, own.public_key()).add_extension(
            x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False
        )
        pem = serialization.Encoding.PEM
        self.trusted, self.chain = self.folder / "authority.pem", self.folder / "chain.pem"
        self.trusted.write_bytes(root.sign(key, hashes.SHA256()).public_bytes(pem))
        private = own.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        self.chain.write_bytes(private + leaf.sign(key, hashes.SHA256()).public_bytes(pem))


@dataclass
class Inbox:
    """What arrived, how it was protected, and what was said before it was."""

    taken: list[tuple[bool, list[str]]] = field(default_factory=list)
    logins: list[bool] = field(default_factory=list)

    async def handle_DATA(self, server: SMTP, session: Any, envelope: Any) -> str:  # noqa: N802  # aiosmtpd's name
        self.taken.append((is_protected(server), envelope.rcpt_tos))
        return "250 OK"


def is_protected(server: SMTP) -> bool:
    assert server.transport is not None
    return server.transport.get_extra_info("sslcontext") is not None


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


@pytest.fixture
def trusted(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operator's machine trusts the authority."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.trusted))


@pytest.fixture
def serve(inbox: Inbox, authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], int]]:
    """Start a server that begins with TLS, offers it, or speaks in clear; its port, where every name now leads."""
    running: list[Controller] = []
    look_up = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *rest, **more: look_up("127.0.0.1", *rest, **more))

    def check(server: SMTP, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        inbox.logins.append(is_protected(server))
        return AuthResult(success=(data.login, data.password) == (b"portal", b"p/w"), handled=False)

    def start(kind: str) -> int:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.chain)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        given: dict[str, dict[str, Any]] = {
            "implicit": {"ssl_context": context, "auth_require_tls": False},
            "starttls": {"tls_context": context, "require_starttls": True},
            "clear": {"auth_require_tls": False},
        }
        controller = Controller(inbox, hostname="127.0.0.1", port=port, authenticator=check, **given[kind])
        controller.start()
        running.append(controller)
        return port

    yield start
    for controller in running:
        controller.stop()


async def send(scheme: str, port: int, host: str = HOST) -> None:
    await SmtpMailer(f"{scheme}://portal:p%2Fw@{host}:{port}", "portal@vault.example").send(MESSAGE)


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize(("scheme", "kind"), [("smtps", "implicit"), ("smtp", "starttls")])
async def test_a_message_goes_out_under_tls(serve: Callable[[str], int], inbox: Inbox, scheme: str, kind: str) -> None:
    await send(scheme, serve(kind))
    assert inbox.taken == [(True, ["ada@example.com"])]
    assert inbox.logins == [True]


@pytest.mark.parametrize(("scheme", "kind"), [("smtps", "implicit"), ("smtp", "starttls")])
async def test_an_untrusted_authority_gets_no_message_and_no_password(
    serve: Callable[[str], int], inbox: Inbox, scheme: str, kind: str
) -> None:
    with pytest.raises(NotSent) as caught:
        await send(scheme, serve(kind))
    assert isinstance(caught.value.__cause__, ssl.SSLCertVerificationError)
    assert (inbox.taken, inbox.logins) == ([], [])


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize(("scheme", "kind"), [("smtps", "implicit"), ("smtp", "starttls")])
async def test_the_certificate_of_another_host_is_refused(
    serve: Callable[[str], int], inbox: Inbox, scheme: str, kind: str
) -> None:
    with pytest.raises(NotSent) as caught:
        await send(scheme, serve(kind), "other.example")
    assert isinstance(caught.value.__cause__, ssl.SSLCertVerificationError)
    assert (inbox.taken, inbox.logins) == ([], [])


@pytest.mark.usefixtures("trusted")
async def test_a_server_that_offers_no_tls_gets_no_message_and_no_password(
    serve: Callable[[str], int], inbox: Inbox
) -> None:
    with pytest.raises(NotSent) as caught:
        await send("smtp", serve("clear"))
    assert isinstance(caught.value.__cause__, smtplib.SMTPNotSupportedError)
    assert (inbox.taken, inbox.logins) == ([], [])
