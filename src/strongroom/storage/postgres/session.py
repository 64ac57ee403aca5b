"""A PostgreSQL session for the statements of requests: prepared once, sent together, answers read as they come.

It stays in libpq's pipeline mode, and the event loop watches its socket, for as long as it lives. The driver's cursors
do the same with a dozen objects, a timer and two changes to the loop's poll for every statement.
"""

import asyncio
import contextlib
import struct
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import psycopg
from psycopg import adapt
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGresult

from strongroom.storage import Row, Value
from strongroom.storage.postgres.connection import PostgresConnection, Target
from strongroom.storage.postgres.statements import numbered

PREPARED_STATEMENTS = 1_000
CANCEL_SECONDS = 2.0

COMMAND_OK, TUPLES_OK = ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK
FATAL_ERROR, PIPELINE_SYNC = ExecStatus.FATAL_ERROR, ExecStatus.PIPELINE_SYNC
IDLE, BINARY = TransactionStatus.IDLE, Format.BINARY

# One type for each kind of value whatever its size, so that a statement is prepared once; 0 lets the server choose.
_KINDS: dict[type, tuple[int, Callable[[Any], bytes | None]]] = {
    str: (25, str.encode),
    int: (20, struct.Struct(">q").pack),
    bool: (20, struct.Struct(">q").pack),
    bytes: (17, bytes),
    type(None): (0, lambda value: value),
}


class StatementResult:
    """What the server said to one statement; there once an `answered` that came after it has returned."""

    __slots__ = ("result",)

    def __init__(self) -> None:
        self.result: PGresult | None = None

    @property
    def count(self) -> int:
        """How many rows were found or changed."""
        return (self.result and self.result.command_tuples) or 0

    @property
    def found_nothing(self) -> bool:
        """It came through, and there was no such row."""
        return self.result is not None and self.result.status == TUPLES_OK and self.result.ntuples == 0

    @property
    def command(self) -> bytes | None:
        """What the server did, such as `COMMIT`."""
        return None if self.result is None else self.result.command_status


class PostgresSession:
    """One connection for one request at a time. Errors are psycopg's."""

    def __init__(self, connection: PostgresConnection) -> None:
        self.born, self.generation = 0.0, 0
        self.committing = False
        self._connection = connection
        self._libpq = connection.pgconn
        self._loader = adapt.Transformer(connection)
        self._names: dict[tuple[str, tuple[int, ...]], bytes] = {}
        self._prepared = 0
        self._preparing: list[tuple[tuple[str, tuple[int, ...]], StatementResult]] = []
        self._statements: deque[StatementResult] = deque()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._error: psycopg.Error | None = None
        self._watched = True
        self._libpq.enter_pipeline_mode()
        self._loop = asyncio.get_running_loop()
        self._socket = self._libpq.socket
        self._loop.add_reader(self._socket, self._receive)

    @classmethod
    async def open(cls, target: Target) -> "PostgresSession":
        """As `Target.connect` for working."""
        return cls(await target.connect(working=True))

    @property
    def closed(self) -> bool:
        """Ended by either side, or lost."""
        return not self._watched or self._connection.closed

    @property
    def idle(self) -> bool:
        """Nothing is under way and no transaction is open."""
        return not self._statements and self._libpq.transaction_status == IDLE

    @property
    def warned(self) -> bool:
        """Whether the server has warned of something since this was last made false."""
        return self._connection.warned

    @warned.setter
    def warned(self, value: bool) -> None:
        self._connection.warned = value

    def look(self) -> None:
        """Raise if the server has ended the session while it was idle."""
        try:
            self._libpq.consume_input()
            self._libpq.consume_input()  # the first may have read a farewell, and only this one the end
        except psycopg.Error as error:
            self._lose(error)
            raise

    def send(self, sql: str, values: Mapping[str, Value]) -> StatementResult:
        """Queue a statement; it leaves, with all others, at the next call of `answered`."""
        text, names = numbered(sql)
        types, parameters = [], []
        for name in names:
            value = values[name]
            kind, encode = _KINDS[type(value)]
            types.append(kind)
            parameters.append(encode(value))
        answer = StatementResult()
        key = (text, tuple(types))
        try:
            statement = self._names.get(key) or self._prepare(key)
            self._libpq.send_query_prepared(statement, parameters, [BINARY] * len(types), BINARY)
        except psycopg.Error as error:
            self._lose(error)
            raise
        self._statements.append(answer)
        return answer

    async def answered(self) -> None:
        """Send what was queued and wait for all of it; the first error among the answers."""
        done: asyncio.Future[None] = self._loop.create_future()
        try:
            self._libpq.pipeline_sync()
            if self._libpq.flush():
                self._loop.add_writer(self._socket, self._send_the_rest)
        except psycopg.Error as error:
            self._lose(error)
            raise
        self._waiting.append(done)
        await done

    def rows(self, answer: StatementResult) -> list[Row]:
        """What a statement found, with the values that SQLite gives."""
        self._loader.set_pgresult(answer.result)
        rows = self._loader.load_rows(0, answer.result.ntuples if answer.result else 0, tuple)
        self._loader.set_pgresult(None)  # it would keep the rows until the next ones come
        return rows

    def abort(self) -> None:
        """Cut the connection: a request that waits for an answer learns at once that none will come."""
        self._connection.abort()

    async def close(self) -> None:
        busy = self._statements and not self.closed
        self._stop_watching()
        try:
            if busy:
                # Or the server goes on working in vain, and keeps its locks meanwhile.
                # The driver's own timeout has no effect with a libpq older than 17.
                with contextlib.suppress(psycopg.Error, TimeoutError):
                    async with asyncio.timeout(CANCEL_SECONDS):
                        await self._connection.cancel_safe(timeout=CANCEL_SECONDS)
        finally:
            await self._connection.close()

    def _prepare(self, key: tuple[str, tuple[int, ...]]) -> bytes:
        text, types = key
        name = b""  # of these the server keeps the last one only
        if len(self._names) < PREPARED_STATEMENTS:
            self._prepared += 1
            name = self._names[key] = b"s%d" % self._prepared
        self._libpq.send_prepare(name, text.encode(), types)
        answer = StatementResult()
        self._statements.append(answer)
        if name:
            self._preparing.append((key, answer))
        return name

    def _receive(self) -> None:
        """The socket has something to read."""
        libpq = self._libpq
        try:
            libpq.consume_input()
            while self._waiting and not libpq.is_busy():
                result = libpq.get_result()
                if result is None:  # stands between the answers to two statements
                    if self.closed:
                        raise psycopg.OperationalError("connection lost")
                elif result.status == PIPELINE_SYNC:
                    self._end_of_answers()
                else:
                    # None is left where the session or the transaction ended after the last answer.
                    if self._statements:
                        self._statements.popleft().result = result
                    if result.status == FATAL_ERROR and self._error is None:
                        self._error = error_from_result(result)
        except psycopg.Error as error:
            self._lose(error)

    def _end_of_answers(self) -> None:
        for key, answer in self._preparing:
            if answer.result is None or answer.result.status != COMMAND_OK:
                del self._names[key]
        self._preparing.clear()
        error, self._error = self._error, None
        _tell(self._waiting.popleft(), error)

    def _send_the_rest(self) -> None:
        """The socket takes more."""
        try:
            if not self._libpq.flush():
                self._loop.remove_writer(self._socket)
        except psycopg.Error as error:
            self._lose(error)

    def _lose(self, error: psycopg.Error) -> None:
        """Nothing more will come. What the server said last, if it said something, tells more than the silence."""
        self._stop_watching()
        while self._waiting:
            _tell(self._waiting.popleft(), self._error or error)

    def _stop_watching(self) -> None:
        # Before the socket is closed: its number may be another connection's a moment later.
        if self._watched:
            self._watched = False
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)


def _tell(waiting: asyncio.Future[None], error: psycopg.Error | None) -> None:
    if waiting.done():
        return  # the request has gone
    if error is None:
        waiting.set_result(None)
    else:
        waiting.set_exception(error)
