"""The two ways out for mail: an SMTP server, or in development a folder and the console."""

import asyncio
import smtplib
import ssl
import sys
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate, make_msgid
from pathlib import Path
from urllib.parse import unquote, urlsplit

from strongroom.portal.mail import Mailer, Message, NotSent
from strongroom.server.clock import Clock
from strongroom.server.ids import new_row_id
from strongroom.server.settings import Settings, is_loopback

TIMEOUT = 20.0


def make(settings: Settings, clock: Clock) -> Mailer | None:
    """SMTP where it is set; the outbox where only this machine can look; otherwise none."""
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
    mail["Subject"] = message.subject
    mail["Date"] = formatdate()
    mail["Message-ID"] = make_msgid(domain=sender.rpartition("@")[2])
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(message.text)
    mail.add_alternative(message.html, subtype="html")
    return mail


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

    def _send(self, mail: EmailMessage) -> None:
        context = ssl.create_default_context()
        if self._implicit:
            connection: smtplib.SMTP = smtplib.SMTP_SSL(self._host, self._port, timeout=TIMEOUT, context=context)
        else:
            connection = smtplib.SMTP(self._host, self._port, timeout=TIMEOUT)
        with connection:
            # A server that offers no TLS, or someone between who removed the offer, gets no message.
            if not self._implicit and not is_loopback(self._host):
                connection.starttls(context=context)
            if self._user is not None:
                connection.login(self._user, self._password)
            connection.send_message(mail)


class OutboxMailer:
    """A folder of `.eml` files, and the text on the console. For development: nobody else is told anything."""

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
        part.rename(file)  # whoever watches the folder sees whole messages only
        sys.stderr.write(f"\n--- mail to {message.to}: {message.subject}\n{message.text}\n--- kept in {file}\n\n")
