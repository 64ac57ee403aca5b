"""The types of ASGI, in which server, door and portal speak to each other."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
Header: TypeAlias = tuple[bytes, bytes]
Headers: TypeAlias = list[Header]


class DirectExchange(ABC):
    """One request and its answer without ASGI messages, as our own server can handle them."""

    @abstractmethod
    def arrived(self) -> bytes | None:
        """The whole body, if nothing is left to wait for; None where it has to be received."""

    @abstractmethod
    def answer(self, status: int, lines: bytes, body: bytes) -> bool:
        """Send a whole answer at once; `lines` are its header lines (`header_lines`) but for those that frame it.

        False, and nothing is sent, where messages are the way.
        """


def direct(way: Receive | Send) -> DirectExchange | None:
    """The exchange whose method `receive` or `send` is; None under another server or behind middleware."""
    belongs_to = getattr(way, "__self__", None)
    return belongs_to if isinstance(belongs_to, DirectExchange) else None
