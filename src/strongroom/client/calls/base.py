"""What all single calls share."""

from typing import TypeAlias

from strongroom.client.connection import ServiceConnection
from strongroom.crypto.secret import Secret

SessionString: TypeAlias = str | Secret[str]


class CallsBase:
    """Calls over one connection."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection!r})"
