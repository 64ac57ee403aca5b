"""The types of ASGI, in which server, door and portal speak to each other."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, Protocol, TypeAlias

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Header: TypeAlias = tuple[bytes, bytes]
Headers: TypeAlias = list[Header]

EXCHANGE: Final = "strongroom.exchange"
"""In the scope of our own server: an `Exchange`, with shorter ways than messages."""


class Exchange(Protocol):
    """One request and its answer."""

    def arrived(self) -> bytes | None:
        """The whole body, if nothing is left to wait for; None where it has to be received."""
        ...

    def answer(self, status: int, lines: bytes, body: bytes) -> bool:
        """Send a whole answer at once; `lines` are its header lines (`header_lines`) but for those that frame it.

        False, and nothing is sent, where messages are the way.
        """
        ...
