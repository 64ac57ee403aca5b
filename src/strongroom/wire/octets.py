"""Bodies that are octets rather than a record: an endpoint names `Octets` where another one names a record."""

from collections.abc import AsyncIterator


class Octets:
    """A body that comes piece by piece and is never whole in memory. It can be read once."""

    def __init__(self, pieces: AsyncIterator[bytes], length: int | None = None) -> None:
        """`length` is what was announced, in bytes; None where only the end tells."""
        self.length = length
        self._pieces = pieces

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces in order."""
        return self._pieces
