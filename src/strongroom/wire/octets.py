"""Bodies that are octets rather than a record: an endpoint names `Octets` where another one names a record."""

from collections.abc import AsyncIterator


class Octets:
    """A body that arrives in pieces and is never complete in memory. It can be read once."""

    def __init__(self, pieces: AsyncIterator[bytes], length: int | None = None) -> None:
        """`length` is the announced length in bytes; None where it is not known in advance."""
        self.length = length
        self._pieces = pieces

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces in order."""
        return self._pieces
