"""The mail queue: a message is queued in the transaction of the act that causes it, sent afterwards, and retried."""

import asyncio
import logging
from typing import Protocol

import msgspec

from strongroom.portal.limits import TooMany
from strongroom.portal.sealing import Unreadable, seal, unseal
from strongroom.runtime.clock import MINUTE, Clock
from strongroom.runtime.ids import new_row_id
from strongroom.runtime.logging import LOGGER
from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Store, Transaction, Unavailable, Work

INSERT = """
INSERT INTO mails (id, sealed_message, created_at, tries, next_try_at) VALUES (:id, :sealed_message, :now, 0, :now)
"""
DUE = """
SELECT id, sealed_message, tries, next_try_at FROM mails WHERE next_try_at <= :now ORDER BY next_try_at, id LIMIT 20
"""
# The process that moves the time of the next try owns the message: two never send the same one at the same time.
CLAIM = """
UPDATE mails SET tries = tries + 1, next_try_at = :later WHERE id = :id AND next_try_at = :next_try_at
"""
REMOVE = "DELETE FROM mails WHERE id = :id"

MAX_TRIES = 8
IDLE_SECONDS = 15.0

_logger = logging.getLogger(LOGGER)


class Message(msgspec.Struct, frozen=True):
    """One message, as text and as HTML, to one address."""

    to: str
    subject: str
    text: str
    html: str

    def __repr__(self) -> str:
        return "Message(***)"  # its links are good for a sign-in


class NotSent(Exception):
    """The mail server cannot be reached or refused the message; `__cause__` says why."""


class Mailer(Protocol):
    async def send(self, message: Message) -> None:
        """Send the message; `NotSent`."""
        ...


class MailQueue:
    """The mail queue of one portal and, where mail is configured, its sender."""

    def __init__(self, store: Store, clock: Clock, secret: ServerSecret, mailer: Mailer | None) -> None:
        self._store = store
        self._clock = clock
        self._secret = secret
        self._mailer = mailer
        self._woken = asyncio.Event()

    @property
    def is_set_up(self) -> bool:
        return self._mailer is not None

    async def enqueue(self, tx: Transaction, message: Message, now: int) -> None:
        """Queue a message in the caller's transaction. It is sealed, because a link in clear would open an account."""
        row = new_row_id(now)
        sealed = seal(self._secret, "mail", row, msgspec.json.encode(message))
        await tx.execute(INSERT, id=row, sealed_message=sealed, now=now)

    async def write_unless_flooded(self, work: Work[None]) -> bool:
        """Run work that queues a message; false where a limit refuses it, and then nothing of it is stored.

        The caller's answer is the same in both cases: only the owner of an address may learn how much mail it got.
        """
        try:
            await self._store.write(work)
        except TooMany:
            return False
        self.wake()
        return True

    def wake(self) -> None:
        """Send soon. Called once the transaction has been committed."""
        self._woken.set()

    async def run(self) -> None:
        """Send what is due, for as long as the process lives."""
        while True:
            self._woken.clear()
            try:
                await self.send_due()
            except Unavailable as error:
                _logger.warning("mail postponed", extra={"cause": type(error.__cause__).__name__})
            except Exception:
                # An unexpected error must not stop the queue for as long as this process runs.
                _logger.exception("mail failed")
            try:
                async with asyncio.timeout(IDLE_SECONDS):
                    await self._woken.wait()
            except TimeoutError:
                continue

    async def send_due(self) -> int:
        """Send every message that is due; how many were sent, without those that were dropped."""
        if self._mailer is None:
            return 0
        sent = 0
        while True:
            now = self._clock.now()
            due = await self._store.read(lambda tx, now=now: tx.all(DUE, now=now))  # type: ignore[misc]  # bound early
            if not due:
                return sent
            for row, sealed, tries, next_try_at in due:
                sent += await self._send(self._mailer, row, sealed, tries, next_try_at)

    async def _send(self, mailer: Mailer, row: bytes, sealed: bytes, tries: int, next_try_at: int) -> int:
        # 1, 2, 4 ... minutes: eight tries last two hours, as long as the links in the messages.
        later = self._clock.now() + MINUTE * 2**tries
        claimed = await self._store.write(lambda tx: tx.run(CLAIM, id=row, next_try_at=next_try_at, later=later))
        if not claimed:
            return 0
        sent = 0
        try:
            message = msgspec.json.decode(unseal(self._secret, "mail", row, sealed), type=Message)
            await mailer.send(message)
            sent = 1
        except NotSent as error:
            _logger.warning("mail not sent", extra={"cause": type(error.__cause__).__name__, "tries": tries + 1})
            if tries + 1 < MAX_TRIES:
                return 0
        except Unreadable:
            _logger.warning("mail not sent: sealed under a server secret that is no longer configured")
        except Exception:
            # One message that a library cannot handle must not keep all others from being sent.
            _logger.exception("mail not sent", extra={"tries": tries + 1})
            if tries + 1 < MAX_TRIES:
                return 0
        await self._store.write(lambda tx: tx.run(REMOVE, id=row))
        if not sent:
            _logger.warning("mail dropped", extra={"tries": tries + 1})
        return sent
