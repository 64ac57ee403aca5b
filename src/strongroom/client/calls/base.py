"""What all single calls share."""

from typing import TypeAlias

from strongroom.client.connection import Connection, presentable
from strongroom.crypto.secret import Secret

SessionString: TypeAlias = str | Secret[str]


def secret(session: SessionString) -> Secret[str]:
    """A session string the caller hands in; `ConfigurationRefused` unless it is fit for a header."""
    return presentable(session if isinstance(session, str) else session.reveal())


class CallsBase:
    """Calls over one connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connection!r})"
