"""Conversations: generators that yield requests and work and receive the outcome, so that no line is written twice.

The drivers in `sync` and `aio` hold them; nothing here knows an HTTP library or an event loop.
"""

from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass, field
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeAlias, TypeVar, overload

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request, complete. Headers carry credentials and the body may carry secrets: the repr shows neither."""

    method: str
    url: str
    headers: dict[str, str] = field(repr=False)
    body: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Reply:
    """One HTTP answer: status, the headers that matter and the body as it was sent (identity encoding)."""

    status: int
    content_type: str = ""
    retry_after: str = ""
    body: bytes = field(default=b"", repr=False)
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Work:
    """Something slow to compute. `tick` hears the seconds so far, in the caller's thread, while it runs."""

    function: Callable[[], Any]
    tick: Callable[[float], None] | None = None


Conversation: TypeAlias = Generator[Request | Work, Any, T]


class BlockingDriver(Protocol):
    """Holds a conversation and returns its result."""

    def hold(self, conversation: Conversation[T]) -> T: ...


class AwaitingDriver(Protocol):
    """Holds a conversation and leaves the event loop free meanwhile."""

    async def hold(self, conversation: Conversation[T]) -> T: ...


class Plain:
    """Its exposed methods return the conversation itself, to be used with `yield from`."""


class Blocking:
    """Its exposed methods return the result."""

    _driver: BlockingDriver


class Awaiting:
    """Its exposed methods are awaited."""

    _driver: AwaitingDriver


class exposed(Generic[S, P, T]):  # noqa: N801 - a decorator reads like the function it is used as
    """A conversation as a method: a generator, a blocking call or a coroutine, by the class that inherits it."""

    def __init__(self, function: Callable[Concatenate[S, P], Conversation[T]]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> "exposed[S, P, T]": ...
    @overload
    def __get__(self, instance: Blocking, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, instance: Awaiting, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, instance: Plain, owner: type) -> Callable[P, Conversation[T]]: ...

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        function = self._function

        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            conversation = function(instance, *args, **kwargs)
            return conversation if isinstance(instance, Plain) else instance._driver.hold(conversation)  # noqa: SLF001 - the mixins above promise it

        return update_wrapper(method, function)
