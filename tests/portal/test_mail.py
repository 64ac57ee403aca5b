"""Mail: over real SMTP, sealed while it waits, tried again, and sent once by however many processes."""

import asyncio
import logging
import smtplib
import socket
from collections.abc import AsyncIterator, Iterator
from email import message_from_bytes, policy
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from strongroom.portal.limits import TooMany
from strongroom.portal.messaging import mail, messages
from strongroom.portal.messaging.mail import MAX_TRIES, MailQueue, Message, NotSent
from strongroom.portal.messaging.mailers import OutboxMailer, SmtpMailer, compose, make
from strongroom.runtime.clock import MovableClock
from strongroom.runtime.secret import ServerSecret
from strongroom.runtime.settings import load
from strongroom.storage import Store, Transaction
from strongroom.storage.open import open_store

pytestmark = pytest.mark.anyio

MESSAGE = messages.confirm("ada@example.com", "http://localhost:8000/portal/confirm/x")
SECRET = ServerSecret(b"s" * 32)


class Inbox:
    """Accepts every message, or answers with the given code."""

    def __init__(self) -> None:
        self.answer = "250 OK"
        self.taken: list[tuple[list[str], bytes]] = []

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:  # noqa: N802  # aiosmtpd's name
        if self.answer.startswith("250"):
            self.taken.append((envelope.rcpt_tos, envelope.content))
        return self.answer


class Recorder:
    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.fails = False

    async def send(self, message: Message) -> None:
        await asyncio.sleep(0)
        if self.fails:
            raise NotSent
        self.sent.append(message)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    made = open_store(f"sqlite:{tmp_path / 'access.sqlite'}", "access", files("strongroom.access") / "migrations")
    yield made
    await made.close()


@pytest.fixture
def inbox() -> Inbox:
    return Inbox()


@pytest.fixture
def server(inbox: Inbox) -> Iterator[int]:
    def check(server: Any, session: Any, envelope: Any, mechanism: str, data: Any) -> AuthResult:
        return AuthResult(success=(data.login, data.password) == (b"portal", b"p/w"), handled=False)

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    controller = Controller(inbox, hostname="127.0.0.1", port=port, authenticator=check, auth_require_tls=False)
    controller.start()
    yield port
    controller.stop()


def on_disk(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.glob("access.sqlite*"))


async def put(queue: MailQueue, store: Store, clock: MovableClock) -> None:
    await store.write(lambda tx: queue.enqueue(tx, MESSAGE, clock.now()))


async def test_a_message_goes_out_over_smtp_in_both_forms(server: int, inbox: Inbox) -> None:
    mailer = SmtpMailer(f"smtp://portal:p%2Fw@127.0.0.1:{server}", "portal@vault.example")
    await mailer.send(MESSAGE)
    ((to, content),) = inbox.taken
    mail = message_from_bytes(content, policy=policy.default)
    assert to == ["ada@example.com"]
    assert mail["From"] == "Strongroom <portal@vault.example>"
    assert mail["Subject"] == MESSAGE.subject
    assert mail["Message-ID"].endswith("@vault.example>")
    forms = {part.get_content_type(): part.get_content() for part in mail.iter_parts()}
    assert forms.keys() == {"text/plain", "text/html"}
    assert all("http://localhost:8000/portal/confirm/x" in form for form in forms.values())


@pytest.mark.parametrize("credentials", ["portal:wrong", "nobody:p%2Fw"])
async def test_a_refused_login_is_reported_without_the_password(server: int, inbox: Inbox, credentials: str) -> None:
    mailer = SmtpMailer(f"smtp://{credentials}@127.0.0.1:{server}", "portal@vault.example")
    with pytest.raises(NotSent) as caught:
        await mailer.send(MESSAGE)
    assert isinstance(caught.value.__cause__, smtplib.SMTPAuthenticationError)
    assert "p/w" not in repr(mailer)
    assert inbox.taken == []


async def test_a_refused_message_is_not_sent(server: int, inbox: Inbox) -> None:
    inbox.answer = "451 later"
    with pytest.raises(NotSent):
        await SmtpMailer(f"smtp://127.0.0.1:{server}", "portal@vault.example").send(MESSAGE)


async def test_without_a_listening_server_the_message_is_not_sent() -> None:
    with pytest.raises(NotSent):
        await SmtpMailer("smtp://127.0.0.1:1", "portal@vault.example").send(MESSAGE)


def test_the_settings_select_the_mailer(tmp_path: Path) -> None:
    clock = MovableClock()
    data = {"data": str(tmp_path)}
    assert isinstance(make(load({}, data), clock), OutboxMailer)
    assert isinstance(make(load({"STRONGROOM_SMTP_URL": "smtps://mail.example"}, data), clock), SmtpMailer)
    assert make(load({}, {**data, "public_url": "https://vault.example"}), clock) is None


def test_headers_take_no_line_of_their_own() -> None:
    with pytest.raises(ValueError, match="linefeed"):
        compose(Message("ada@example.com", "a\nBcc: eve@example.com", "", ""), "portal@vault.example")


@pytest.mark.parametrize(
    "name",
    [
        "=?utf-8?q?=0D=0ABcc:_eve@example.com?=",
        "=?utf-8?q?=0D=0A=0D=0AYour_account_is_closed?=",
        "=?utf-8?q?=0A?==?utf-8?b?DQpYOiB5?=",
        "==?=?utf-8?q?=0A?=",
        "=?utf-8?b?4oCucGxlaA==?=",
    ],
)
def test_a_name_that_is_an_encoded_word_begins_no_line_and_says_nothing_else(name: str) -> None:
    message = messages.invitation("bob@example.com", name, "Ada", "http://localhost:8000/portal/invitations/x")
    written = compose(message, "strongroom@example.com").as_bytes()
    mail = message_from_bytes(written, policy=policy.default)
    assert mail.keys() == compose(MESSAGE, "strongroom@example.com").keys()
    assert mail["Subject"] == f"Join {name.replace('=?', '= ?')} at Strongroom"
    assert not mail.defects


def test_text_of_others_is_escaped_in_html() -> None:
    message = messages.security_notice("ada@example.com", "<b>bold</b>", "http://localhost:8000/portal/")
    assert "<b>" in message.text
    assert "<b>" not in message.html


async def test_the_queue_sends_once_and_forgets(store: Store) -> None:
    clock, recorder = MovableClock(), Recorder()
    queues = [MailQueue(store, clock, SECRET, recorder) for _ in range(4)]
    for _ in range(3):
        await put(queues[0], store, clock)
    await asyncio.gather(*(queue.send_due() for queue in queues))
    assert recorder.sent == [MESSAGE] * 3
    assert await store.read(lambda tx: tx.all("SELECT id FROM mails")) == []


async def test_what_failed_is_tried_again_later_and_not_for_ever(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    clock, recorder = MovableClock(), Recorder()
    queue = MailQueue(store, clock, SECRET, recorder)
    recorder.fails = True
    await put(queue, store, clock)
    await queue.send_due()
    recorder.fails = False
    await queue.send_due()
    assert recorder.sent == []
    clock.move(61)
    assert await queue.send_due() == 1
    assert recorder.sent == [MESSAGE]
    recorder.fails = True
    await put(queue, store, clock)
    caplog.clear()
    with caplog.at_level(logging.WARNING, logger="strongroom"):
        for _ in range(MAX_TRIES):
            assert await queue.send_due() == 0
            clock.move(86_400)
    assert await store.read(lambda tx: tx.all("SELECT id FROM mails")) == []
    assert [record.getMessage() for record in caplog.records] == ["mail not sent"] * MAX_TRIES + ["mail dropped"]


async def test_a_message_that_waits_is_sealed(store: Store, tmp_path: Path) -> None:
    clock = MovableClock()
    queue = MailQueue(store, clock, SECRET, None)
    await put(queue, store, clock)
    assert not queue.is_set_up
    held = on_disk(tmp_path)
    assert b"confirm/x" not in held
    assert b"ada@example.com" not in held
    assert "confirm/x" not in repr(MESSAGE)


async def test_a_message_under_a_lost_secret_is_dropped(store: Store) -> None:
    clock, recorder = MovableClock(), Recorder()
    await put(MailQueue(store, clock, ServerSecret(b"o" * 32), None), store, clock)
    assert await MailQueue(store, clock, SECRET, recorder).send_due() == 0
    assert recorder.sent == []
    assert await store.read(lambda tx: tx.all("SELECT id FROM mails")) == []


async def test_a_limit_undoes_the_work_and_says_nothing(store: Store) -> None:
    clock = MovableClock()
    queue = MailQueue(store, clock, SECRET, None)

    async def work(tx: Transaction) -> None:
        await queue.enqueue(tx, MESSAGE, clock.now())
        raise TooMany(5)

    await queue.write_unless_flooded(work)
    assert await store.read(lambda tx: tx.all("SELECT id FROM mails")) == []


async def test_the_queue_wakes(store: Store) -> None:
    clock, recorder = MovableClock(), Recorder()
    queue = MailQueue(store, clock, SECRET, recorder)
    task = asyncio.create_task(queue.run())
    await asyncio.sleep(0.05)
    await put(queue, store, clock)
    queue.wake()
    for _ in range(500):
        await asyncio.sleep(0 if recorder.sent else 0.01)
    task.cancel()
    assert recorder.sent == [MESSAGE]


async def test_the_queue_continues_after_an_unexpected_error(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    queue = MailQueue(store, MovableClock(), SECRET, Recorder())
    calls = 0
    again = asyncio.Event()

    async def broken() -> int:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise ZeroDivisionError
        again.set()
        return 0

    monkeypatch.setattr(mail, "IDLE_SECONDS", 0.01)
    monkeypatch.setattr(queue, "send_due", broken)
    with caplog.at_level(logging.WARNING, logger="strongroom"):
        task = asyncio.create_task(queue.run())
        await asyncio.wait_for(again.wait(), 5)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert [record.getMessage() for record in caplog.records] == ["mail failed"]


async def test_one_message_that_cannot_be_sent_keeps_no_other_back(store: Store) -> None:
    class Choosy(Recorder):
        async def send(self, message: Message) -> None:
            if message.to == "poison@example.com":
                raise LookupError("what a library raises")
            await super().send(message)

    mailer, clock = Choosy(), MovableClock()
    queue = MailQueue(store, clock, SECRET, mailer)
    for to in ("poison@example.com", "ada@example.com"):
        message = messages.confirm(to, "http://localhost:8000/portal/confirm/x")
        await store.write(lambda tx, message=message: queue.enqueue(tx, message, clock.now()))  # type: ignore[misc]  # bound early
    await queue.send_due()
    assert [message.to for message in mailer.sent] == ["ada@example.com"]
    for _ in range(MAX_TRIES):
        clock.move(86_400)
        await queue.send_due()
    assert await store.read(lambda tx: tx.one("SELECT id FROM mails")) is None
