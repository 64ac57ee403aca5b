"""Connections to PostgreSQL: from a URL to a session that is safe to write through, with the values SQLite gives."""

import asyncio
import hashlib
import logging
import os
import re
import socket
from typing import Any

import psycopg
from psycopg import adapt, conninfo, pq
from psycopg.types.numeric import Int8BinaryDumper, NumericBinaryLoader
from psycopg.types.string import StrBinaryDumper

from strongroom.runtime.settings import SettingsError, is_loopback
from strongroom.storage import Row, Value
from strongroom.storage.migrate import SchemaError
from strongroom.storage.postgres.statements import numbered

OLDEST_VERSION = 140_000
SYSTEM_CERTIFICATES = 160_000
"""The first libpq that finds the system's certificates by itself."""
CONNECT_SECONDS = 3
STATEMENT_MILLISECONDS = 8_000
LOCK_MILLISECONDS = 5_000
PREPARED_STATEMENTS = 1_000
RESTORE_GOES_ON = "a restore into this database is going on: start when it has ended"

# A commit that does not wait for the disk would be acknowledged and could be lost. What waits for more is left alone.
# Reading is the default, so that only a write transaction that says so can change anything. No session is ended because
# it is idle: its locks say that it is at work.
_PREPARE_SESSION = """
SELECT set_config('search_path', $1, false),
       set_config('synchronous_commit',
                  CASE WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write')
                       THEN 'on' ELSE current_setting('synchronous_commit') END, false),
       set_config('default_transaction_read_only', 'on', false),
       set_config('statement_timeout', $2, false),
       set_config('lock_timeout', $3, false),
       set_config('idle_in_transaction_session_timeout', $2, false),
       set_config('idle_session_timeout', '0', false)
"""
# A migration, a backup or a restore may have a large table to go through. Not every server knows all of these.
_WITHOUT_HURRY = """
SELECT set_config(name, '0', true) FROM pg_settings WHERE name IN
('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')
"""
# How a restore knows that the schema is in use. Bound to the session: it goes with the connection, also where a
# process is killed, and other roles are shut out by it though they may not see whose session it is.
_HOLD_OFF_RESTORES = "SELECT pg_try_advisory_lock_shared($1)"
_SEARCH_PATH = re.compile(r"(?:-c\s*|--)search_path=([a-z_][a-z0-9_]{0,62})(?=\s|$)")

# The driver's own warnings repeat what the server said, and the server repeats values.
_driver_logger = logging.getLogger("psycopg")
_driver_logger.addHandler(logging.NullHandler())
_driver_logger.propagate = False


class _Truth(adapt.Loader):
    """Comparisons are 1 and 0, as SQLite has it."""

    format = pq.Format.BINARY

    def load(self, data: Any) -> int:
        return bytes(data)[0]


class _Whole(NumericBinaryLoader):
    """The sum of integers is an integer."""

    def load(self, data: Any) -> int:  # type: ignore[override]  # the seam knows no fractions
        return int(super().load(data))


class _Bytes(adapt.Loader):
    """Bytes, and not a view of them."""

    format = pq.Format.BINARY

    def load(self, data: Any) -> bytes:
        return bytes(data)


def _adapters() -> adapt.AdaptersMap:
    adapters = adapt.AdaptersMap(psycopg.adapters)
    # One type for each kind of value whatever its size, so that a statement is prepared once.
    for kind in (int, bool):
        adapters.register_dumper(kind, Int8BinaryDumper)
    adapters.register_dumper(str, StrBinaryDumper)
    adapters.register_loader("bool", _Truth)
    adapters.register_loader("numeric", _Whole)
    if pq.__impl__ == "python":
        # Without the compiled driver rows of a COPY hold views, which nothing that takes values knows.
        adapters.register_loader("bytea", _Bytes)
    return adapters


ADAPTERS = _adapters()


class PostgresConnection(psycopg.AsyncConnection[Row]):
    """A session that only reads by default, and remembers whether the server warned of something."""

    warned: bool = False

    def notice(self, diagnostic: psycopg.errors.Diagnostic) -> None:
        self.warned = self.warned or diagnostic.severity_nonlocalized == "WARNING"

    async def run(self, sql: str, **values: Value) -> psycopg.AsyncCursor[Row]:
        """A statement with `:name` parameters; psycopg's errors."""
        text, names = numbered(sql)
        return await self.execute(text, [values[name] for name in names], binary=True)

    async def one(self, sql: str, **values: Value) -> Row | None:
        return await (await self.run(sql, **values)).fetchone()

    async def all(self, sql: str, **values: Value) -> list[Row]:
        return await (await self.run(sql, **values)).fetchall()

    def abort(self) -> None:
        """Cut the connection: a request that waits for an answer learns at once that none will come."""
        try:
            with socket.socket(fileno=os.dup(self.pgconn.socket)) as line:
                line.shutdown(socket.SHUT_RDWR)
        except (OSError, psycopg.Error):
            return  # it is cut already


class Target:
    """Where an area's tables are: server, database and schema. Shows nothing of itself, for it may hold a password."""

    def __init__(self, url: str, area: str) -> None:
        """The schema is named after the area unless the URL has a `search_path` among its `options`.

        One that names several hosts is for a primary with standbys: the one that takes writes is used. Over a network
        the server's certificate is verified unless the URL's `sslmode` says otherwise. `SettingsError`.
        """
        try:
            given = conninfo.conninfo_to_dict(url)
        except psycopg.Error:
            raise SettingsError(f"{area}_database is not a URL that PostgreSQL understands") from None
        options = str(given.get("options") or "")
        found = _SEARCH_PATH.search(options)
        if "search_path" in options and found is None:
            raise SettingsError(f"the search_path of {area}_database has to be one schema in lower case")
        self.schema = found[1] if found else area
        self._parameters: dict[str, Any] = {
            "connect_timeout": CONNECT_SECONDS,
            "target_session_attrs": "read-write",
            "application_name": f"strongroom {area}",
            "tcp_user_timeout": STATEMENT_MILLISECONDS,
            "keepalives_idle": 30,
        }
        if not all(_is_local(host) for host in str(given.get("host") or "").split(",")):
            self._parameters.update(sslmode="verify-full", sslrootcert="system")
            if given.get("sslmode") is not None:
                del self._parameters["sslrootcert"]
        self._parameters.update(given, client_encoding="UTF8")  # whatever URL or environment say: we send nothing else
        # To an older one it is the name of a file.
        if self._parameters.get("sslrootcert") == "system" and pq.version() < SYSTEM_CERTIFICATES:
            raise SettingsError(
                f"{area}_database has to name a file of certificates as sslrootcert: "
                "those of the system are known to libpq 16 or newer"
            )

    async def connect(self, *, working: bool = False) -> PostgresConnection:
        """A new session; no restore goes into this schema while one is open that was opened for `working`.

        psycopg's errors; `SchemaError` for a server that is too old or not in UTF-8, and during a restore.
        """
        connection = await PostgresConnection.connect(
            **self._parameters,
            autocommit=True,
            prepare_threshold=0,
            cursor_factory=psycopg.AsyncRawCursor,
            context=ADAPTERS,
        )
        try:
            connection.prepared_max = PREPARED_STATEMENTS
            connection.add_notice_handler(connection.notice)
            if connection.info.server_version < OLDEST_VERSION:
                raise SchemaError("PostgreSQL 14 or newer is needed")
            if connection.info.parameter_status("server_encoding") != "UTF8":
                raise SchemaError("the database has to be in UTF-8: CREATE DATABASE ... ENCODING 'UTF8'")
            # A pooler that has lost its server takes the connection and lets a statement wait for minutes.
            limit = asyncio.get_running_loop().call_later(CONNECT_SECONDS, connection.abort)
            try:
                await self._prepare(connection, working)
            finally:
                limit.cancel()
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _prepare(self, connection: PostgresConnection, working: bool) -> None:
        timeouts = (str(STATEMENT_MILLISECONDS), str(LOCK_MILLISECONDS))
        await connection.execute(_PREPARE_SESSION, (self.schema, *timeouts), prepare=False)
        if working:
            key = lock_key("work", self.schema)
            held = await connection.execute(_HOLD_OFF_RESTORES, (key,), prepare=False, binary=True)
            if await held.fetchone() != (True,):
                raise SchemaError(RESTORE_GOES_ON)

    async def refuse_shared_sessions(self, connection: PostgresConnection) -> None:
        """`SchemaError` where `connection` is one of several that get a session of the server in turn.

        So it is behind a pooler that lends sessions for a transaction: what was set for the session of one area, its
        `search_path` too, would then count for the statements of another. psycopg's errors.
        """
        pid = await _serving(connection)
        if pid == connection.info.backend_pid:
            return  # there is no pooler
        # A pooler hands out the session that was used last, or all of them in a circle.
        again = await _serving(connection)
        async with await self.connect() as other:
            if pid != again or again == await _serving(other):
                raise SchemaError("a pooler of connections has to keep a session for each of them: pool_mode = session")


async def without_hurry(connection: PostgresConnection) -> None:
    """Until the transaction ends nothing in it is given up because it takes long."""
    await connection.execute(_WITHOUT_HURRY)


async def _serving(connection: PostgresConnection) -> int:
    """The process of the server that answers."""
    row = await (await connection.execute("SELECT pg_backend_pid()", prepare=False)).fetchone()
    assert row is not None, "a SELECT without FROM has a row"
    return int(row[0])


def lock_key(purpose: str, schema: str) -> int:
    """The number of an advisory lock: they belong to the whole database, so the schema keeps the areas apart."""
    return int.from_bytes(hashlib.sha256(f"strongroom {purpose} {schema}".encode()).digest()[:8], "big", signed=True)


def _is_local(host: str) -> bool:
    return not host or host.startswith(("/", "@")) or is_loopback(host)
