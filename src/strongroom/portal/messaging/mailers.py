"""The two transports for mail: an SMTP server, or in development a folder and the console."""

import asyncio
import smtplib
import ssl
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid
from pathlib import Path
from urllib.parse import unquote, urlsplit

from strongroom.portal.messaging.mail import Mailer, Message, NotSent
from strongroom.runtime.clock import Clock
from strongroom.runtime.ids import new_row_id
from strongroom.runtime.settings import Settings, is_loopback

TIMEOUT = 20.0


def make(settings: Settings, clock: Clock) -> Mailer | None:
    """SMTP where it is configured; the outbox where the portal listens to this machine alone; otherwise none."""
    if settings.smtp_url is not None:
        return SmtpMailer(settings.smtp_url, settings.sender)
    if is_loopback(urlsplit(settings.base_url).hostname or ""):
        return OutboxMailer(settings.data / "outbox", settings.sender, clock)
    return None


def compose(message: Message, sender: str) -> EmailMessage:
    """Text and HTML alternatives (RFC 2046 section 5.1.4), with the headers that a receiving server looks for."""
    mail = EmailMessage(policy=SMTP)
    mail["From"] = Address("Strongroom", addr_spec=sender)
    mail["To"] = Address(addr_spec=message.to)
    # People choose names that stand in a subject, and the library reads encoded words (RFC 2047) in what it is given:
    # a line break in one of them would let its author add a header or a body.
    mail["Subject"] = message.subject.replace("=?", "= ?")
    mail["Date"] = formatdate()
    mail["Message-ID"] = make_msgid(domain=sender.rpartition("@")[2])
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(message.text)
    mail.add_alternative(message.html, subtype="html")
    return mail


def why(error: NotSent) -> str:
    """What went wrong, for the operator: in our words and those of the TLS library, never in the server's."""
    cause = error.__cause__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"the certificate of the mail server is not accepted: {cause.verify_message}"
    if isinstance(cause, smtplib.SMTPAuthenticationError):
        return f"the mail server refuses the user name or the password ({cause.smtp_code})"
    if isinstance(cause, smtplib.SMTPResponseException):
        return f"the mail server refuses ({cause.smtp_code})"
    if isinstance(cause, smtplib.SMTPRecipientsRefused):
        codes = sorted({str(code) for code, _ in cause.recipients.values()})
        return f"the mail server refuses the address ({', '.join(codes)})"
    if isinstance(cause, smtplib.SMTPNotSupportedError):
        return "the mail server offers no TLS, or no way to log in"
    if isinstance(cause, OSError) and not isinstance(cause, smtplib.SMTPException):
        return f"the mail server cannot be reached: {cause.strerror or type(cause).__name__}"
    return f"the message was not sent: {type(cause).__name__}"


class SmtpMailer:
    """`smtp://` with STARTTLS, or `smtps://`. Clear text is spoken to this machine only."""

    def __init__(self, url: str, sender: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._host = parts.hostname
        self._implicit = parts.scheme == "smtps"
        self._port = parts.port or (465 if self._implicit else 587)
        self._user = unquote(parts.username) if parts.username else None
        self._password = unquote(parts.password) if parts.password else ""
        self._sender = sender

    def __repr__(self) -> str:
        return "SmtpMailer(***)"

    async def send(self, message: Message) -> None:
        """`NotSent` unless the server took responsibility for the message."""
        try:
            await asyncio.to_thread(self._send, compose(message, self._sender))
        except (OSError, smtplib.SMTPException, ValueError) as error:
            raise NotSent from error

    def check(self) -> None:
        """Connect and log in as for a message, and send none; `NotSent` where that fails."""
        try:
            with self._connected() as connection:
                connection.noop()
        except (OSError, smtplib.SMTPException) as error:
            raise NotSent from error

    def _send(self, mail: EmailMessage) -> None:
        with self._connected() as connection:
            connection.send_message(mail)

    @contextmanager
    def _connected(self) -> Iterator[smtplib.SMTP]:
        context = ssl.create_default_context()
        if self._implicit:
            connection: smtplib.SMTP = smtplib.SMTP_SSL(self._host, self._port, timeout=TIMEOUT, context=context)
        else:
            connection = smtplib.SMTP(self._host, self._port, timeout=TIMEOUT)
        with connection:
            # A server that offers no TLS, or an attacker in between who removed the offer, gets no message.
            if not self._implicit and not is_loopback(self._host):
                connection.starttls(context=context)
            if self._user is not None:
                connection.login(self._user, self._password)
            yield connection


class OutboxMailer:
    """A folder of `.eml` files, and the text on the console. For development: no mail leaves this machine."""

    def __init__(self, folder: Path, sender: str, clock: Clock) -> None:
        self._folder = folder
        self._sender = sender
        self._clock = clock

    async def send(self, message: Message) -> None:
        try:
            await asyncio.to_thread(self._write, message)
        except OSError as error:
            raise NotSent from error

    def _write(self, message: Message) -> None:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        file = self._folder / f"{new_row_id(self._clock.now()).hex()}.eml"
        part = file.with_suffix(".part")
        part.touch(mode=0o600)
        part.write_bytes(compose(message, self._sender).as_bytes())
        part.rename(file)  # a program that watches the folder sees whole messages only
        sys.stderr.write(f"\n--- mail to {message.to}: {message.subject}\n{message.text}\n--- kept in {file}\n\n")
