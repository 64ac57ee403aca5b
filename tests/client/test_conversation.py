"""Conversations: one generator, three ways to hold it."""

from collections.abc import Callable
from typing import Any

import pytest

from strongroom.client.conversation import Awaiting, Blocking, Conversation, Plain, Request, Work, exposed


class Methods:
    @exposed
    def double(self, number: int, *, times: int = 2) -> Conversation[int]:
        """Multiply."""
        result: int = yield Work(lambda: number * times)
        return result


def run(conversation: Conversation[Any]) -> Any:
    try:
        command = next(conversation)
        while isinstance(command, Work):
            command = conversation.send(command.function())
    except StopIteration as stop:
        return stop.value
    raise AssertionError


class Holder:
    def hold(self, conversation: Conversation[Any]) -> Any:
        return run(conversation)


class AsyncHolder:
    async def hold(self, conversation: Conversation[Any]) -> Any:
        return run(conversation)


class Sync(Methods, Blocking):
    def __init__(self) -> None:
        self._driver = Holder()


class Async(Methods, Awaiting):
    def __init__(self) -> None:
        self._driver = AsyncHolder()


class Raw(Methods, Plain):
    pass


@pytest.mark.anyio
async def test_one_method_blocking_awaited_or_spoken() -> None:
    assert Sync().double(4) == 8
    assert await Async().double(4, times=3) == 12
    assert run(Raw().double(4)) == 8


def test_the_method_keeps_its_name_and_words() -> None:
    method: Callable[..., object] = Sync().double
    assert method.__name__ == "double"
    assert method.__doc__ == Methods.double.__doc__ == "Multiply."


def test_a_request_shows_no_secret() -> None:
    request = Request("POST", "http://localhost/x", {"Authorization": "secret"}, b"secret")
    assert "secret" not in repr(request)
