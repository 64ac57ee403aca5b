"""The schema of an area on PostgreSQL: made and brought up to date by whichever process comes first."""

import asyncio
import time

from strongroom.storage import migrate
from strongroom.storage.postgres.connection import PostgresConnection, lock_key, without_hurry

_HAS_SCHEMA = "SELECT 1 FROM pg_namespace WHERE nspname = :schema"
_HAS_HISTORY = "SELECT 1 FROM pg_tables WHERE schemaname = :schema AND tablename = 'schema_migrations'"
_TAKE_LOCK = "SELECT pg_advisory_xact_lock(:key)"
_TRY_SESSION_LOCK = "SELECT pg_try_advisory_lock(:key)"
_LOOKS, _PAUSE_SECONDS = 10, 0.1


async def bring_up_to_date(connection: PostgresConnection, schema: str, known: list[migrate.Migration]) -> None:
    """Run what is pending, each migration in a transaction of its own: after a crash the rest follows.

    Several processes may start at once: one works, the others wait for it. psycopg's errors, `migrate.SchemaError`.
    """
    while migrate.pending(known, await applied(connection, schema)):
        async with connection.transaction():
            await connection.execute("SET TRANSACTION READ WRITE")
            await without_hurry(connection)
            await take_lock(connection, schema)
            if await connection.one(_HAS_SCHEMA, schema=schema) is None:
                # The name is ours or was checked to be plain when the URL was read.
                await connection.execute(f'CREATE SCHEMA "{schema}"')
            await connection.execute(migrate.HISTORY)
            # Again under the lock: another process may have done it in the meantime.
            for migration in migrate.pending(known, await applied(connection, schema))[:1]:
                for statement in migration.statements:
                    await connection.execute(statement, prepare=False)
                await connection.run(migrate.RECORD, **migration.record(time.time_ns() // 1_000_000))


async def take_lock(connection: PostgresConnection, schema: str) -> None:
    """Until the transaction ends no other process makes or changes this schema."""
    await connection.one(_TAKE_LOCK, key=lock_key("migrations", schema))


async def try_session_lock(connection: PostgresConnection, schema: str) -> bool:
    """Whether no other restore into this schema is going on; none can begin until the connection is closed."""
    return await connection.one(_TRY_SESSION_LOCK, key=lock_key("restore", schema)) == (True,)


async def shut_out(connection: PostgresConnection, schema: str) -> bool:
    """Whether this schema is not in use; no process can begin to use it until the connection is closed.

    Looked at again and again for a while, because a server takes a moment to notice that a process has ended. Waiting
    for the lock would keep a service that goes on from opening connections meanwhile.
    """
    for _ in range(_LOOKS):
        if await connection.one(_TRY_SESSION_LOCK, key=lock_key("work", schema)) == (True,):
            return True
        await asyncio.sleep(_PAUSE_SECONDS)
    return False


async def applied(connection: PostgresConnection, schema: str) -> dict[int, str]:
    """The migrations this schema has seen: number and checksum."""
    if await connection.one(_HAS_HISTORY, schema=schema) is None:
        return {}
    cursor = await connection.execute(migrate.APPLIED, binary=True)
    return dict(await cursor.fetchall())
