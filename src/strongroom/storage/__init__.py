"""The storage seam: resource modules speak SQL to a `Transaction` and never see a driver.

One text serves every engine: SQL uses `:name` parameters and what SQLite 3.38 and PostgreSQL 14 share. A unit of work
is a coroutine that awaits nothing but its transaction, so that an engine may run many of them in one commit, and that
may be run again from its start, so that an engine may answer a deadlock or a lost connection by trying again.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeAlias, TypeVar

T = TypeVar("T")
Value: TypeAlias = str | int | bytes | None
Row: TypeAlias = tuple[Any, ...]


class Transaction(Protocol):
    """What a unit of work may ask. Values are text, integers of 64 bits, bytes or NULL.

    Statements of one transaction see each other. Between statements others may commit, so what must not change in
    the meantime is decided by one statement, by a constraint, or by `lock_or_raise`. A statement that fails ends the
    unit.
    """

    def one(self, sql: str, **values: Value) -> Coroutine[Any, Any, Row | None]:
        """The first row, or None."""
        ...

    def all(self, sql: str, **values: Value) -> Coroutine[Any, Any, list[Row]]:
        """Every row."""
        ...

    def run(self, sql: str, **values: Value) -> Coroutine[Any, Any, int]:
        """Execute a statement; how many rows it changed."""
        ...

    def execute(self, sql: str, **values: Value) -> Coroutine[Any, Any, None]:
        """Execute a statement whose count is not needed: an engine need not wait for it before the next one."""
        ...

    def lock_or_raise(self, otherwise: Exception, sql: str, **values: Value) -> Coroutine[Any, Any, None]:
        """Raise unless the query finds a row; no other transaction changes what it found until this one ends.

        For writes. An engine may send the next statements before it knows: if the row is missing they are undone, and
        `otherwise` is raised by the next call that waits for an answer, at the latest before the commit.
        """
        ...


Work: TypeAlias = Callable[[Transaction], Coroutine[Any, Any, T]]


class Store(Protocol):
    """One area's database."""

    async def open(self) -> None:
        """Connect and bring the schema up to date, once; every other call does this first where it was not done.

        `migrate.SchemaError` where database and software do not belong together, `Unavailable`.
        """
        ...

    async def read(self, work: Work[T]) -> T:
        """Run reads; nothing can be changed.

        Each statement sees at least what was committed before the turn of the event loop that it runs in, and every
        write whose `write` has returned here.
        """
        ...

    async def read_many(self, work: Work[T]) -> T:
        """The same for reads that may touch many rows: they run where they do not hold up other requests."""
        ...

    async def write(self, work: Work[T]) -> T:
        """Run one unit of work in one transaction; the result is on disk when this returns.

        An exception of the work undoes all of it and nothing else; `ConstraintViolated` likewise. `Unavailable` says
        that nothing was stored, or that it is not known whether it was; repeating is safe because every unit of work
        is guarded by constraints.
        """
        ...

    async def check(self) -> None:
        """Raise `Unavailable` unless the database answers and takes writes."""
        ...

    async def close(self) -> None:
        """Finish what was accepted, refuse what comes after."""
        ...


class Unavailable(Exception):
    """The database cannot answer now. Never says why to a caller; `__cause__` goes to the log."""


class ConstraintViolated(Exception):
    """A statement went against a constraint that it does not provide for: a programming error. Holds no values."""
