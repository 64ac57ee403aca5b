"""The storage seam: resource modules speak SQL to a `Transaction` and never see a driver.

One text serves every engine: SQL uses `:name` parameters and what SQLite 3.38 and PostgreSQL 14 share. A unit of work
is a coroutine that awaits nothing but its transaction, so that an engine may run many of them in one commit.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeAlias, TypeVar

T = TypeVar("T")
Value: TypeAlias = str | int | bytes | None
Row: TypeAlias = tuple[Any, ...]


class Transaction(Protocol):
    """What a unit of work may ask. Values are text, integers, bytes or NULL."""

    def one(self, sql: str, **values: Value) -> Coroutine[Any, Any, Row | None]:
        """The first row, or None."""
        ...

    def all(self, sql: str, **values: Value) -> Coroutine[Any, Any, list[Row]]:
        """Every row."""
        ...

    def run(self, sql: str, **values: Value) -> Coroutine[Any, Any, int]:
        """Execute a statement; how many rows it changed."""
        ...


Work: TypeAlias = Callable[[Transaction], Coroutine[Any, Any, T]]


class Store(Protocol):
    """One area's database."""

    async def read(self, work: Work[T]) -> T:
        """Run reads. Each statement sees what was committed before it started; nothing can be changed."""
        ...

    async def read_many(self, work: Work[T]) -> T:
        """The same for reads that may touch many rows: they run where they do not hold up other requests."""
        ...

    async def write(self, work: Work[T]) -> T:
        """Run one unit of work in one transaction; the result is on disk when this returns.

        An exception of the work undoes all of it and nothing else. `Unavailable` says that nothing was stored, or
        that it is not known whether it was; repeating is safe because every unit of work is guarded by constraints.
        """
        ...

    async def check(self) -> None:
        """Raise `Unavailable` unless the database answers and takes writes."""
        ...

    async def close(self) -> None: ...


class Unavailable(Exception):
    """The database cannot answer now. Never says why to a caller; `__cause__` goes to the log."""
