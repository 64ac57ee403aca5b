"""A small ASGI application, served by the product's server: what the socket tests ask for, by path.

`python -m tests.http.small_application [NAME=VALUE ...]` prints its port and serves until SIGTERM. The names are
those of the server's limits.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any

Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

PIECE = bytes(range(256)) * 256
MOST = 64 * 1024
_WRONG: dict[str, tuple[list[tuple[bytes, bytes]], bytes]] = {
    "line-end": ([(b"x", b"a\r\nset-cookie: b")], b""),
    "name": ([(b"x y", b"1")], b""),
    "longer": ([(b"content-length", b"2")], b"too long"),
    "shorter": ([(b"content-length", b"9")], b"short"),
}


async def application(scope: Any, receive: Receive, send: Send) -> None:
    name, _, rest = scope["path"][1:].partition("/")
    if (answer := _ANSWERS.get(name)) is not None:
        await answer(rest, send)
    else:
        await _READING[name](rest, receive, send)


async def reply(send: Send, status: int, *bodies: bytes, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    """An answer in as many messages; with its length where it comes in one piece and nothing else is said."""
    if headers is None:
        headers = [(b"content-length", b"%d" % len(bodies[0]))] if len(bodies) == 1 else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    for number, body in enumerate(bodies, 1):
        await send({"type": "http.response.body", "body": body, "more_body": number < len(bodies)})


async def text(rest: str, send: Send) -> None:
    await reply(send, 201, b"{}", headers=[(b"content-length", b"2"), (b"X-Test", b"1")])


async def chunks(rest: str, send: Send) -> None:
    await reply(send, 200, b"one", b"", b"three")


async def long(rest: str, send: Send) -> None:
    body = PIECE * 16
    await reply(send, 200, body[:70_000], body[70_000:], headers=[(b"content-length", b"%d" % len(body))])


async def status(rest: str, send: Send) -> None:
    await reply(send, int(rest), b"", headers=[])


async def close(rest: str, send: Send) -> None:
    await reply(send, 200, b"", headers=[(b"content-length", b"0"), (b"Connection", b"x, Close")])


async def wait(rest: str, send: Send) -> None:
    """The answer is what was said after the milliseconds."""
    milliseconds, _, said = rest.partition("/")
    await asyncio.sleep(int(milliseconds) / 1000)
    await reply(send, 200, said.encode())


async def wrong(rest: str, send: Send) -> None:
    headers, body = _WRONG[rest]
    await reply(send, 200, body, headers=headers)


async def fail(rest: str, send: Send) -> None:
    raise ValueError("correct horse")


async def order(rest: str, send: Send) -> None:
    """Each wrong message has to be refused; the number of those that were is a header of the answer's body."""
    refused = 0

    async def attempt(message: Any) -> None:
        nonlocal refused
        try:
            await send(message)
        except RuntimeError:
            refused += 1

    start = {"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"1")]}
    await attempt({"type": "http.response.body", "body": b""})
    await send(start)
    await attempt(start)
    await send({"type": "http.response.body", "body": b"%d" % refused})


async def stream(rest: str, send: Send) -> None:
    """So many bytes, in pieces of 64 KiB, with their length unless `chunked` is said behind it."""
    size, _, chunked = rest.partition("/")
    left = int(size)
    headers = [] if chunked else [(b"content-length", b"%d" % left)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    while left > 0:
        piece = PIECE if left >= len(PIECE) else PIECE[:left]
        left -= len(piece)
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def refuse(rest: str, send: Send) -> None:
    """With the status, without a look at the body; the connection ends unless `open` is said behind it."""
    number, _, stays = rest.partition("/")
    headers = [(b"content-length", b"2")] + ([] if stays else [(b"connection", b"close")])
    await reply(send, int(number), b"no", headers=headers)


async def count(rest: str, receive: Receive, send: Send) -> None:
    """How long the body is and in how many messages it came; looked at after so many milliseconds."""
    await asyncio.sleep(int(rest or 0) / 1000)
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size += len(message["body"])
        more = message["more_body"]
    await reply(send, 200, b"%d" % size)


async def limit(rest: str, receive: Receive, send: Send) -> None:
    """413 for a body above 64 KiB, with the rest of it unread."""
    size, more = 0, True
    while more and size <= MOST:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size += len(message["body"])
        more = message["more_body"]
    if size > MOST:
        await refuse("413", send)
    else:
        await reply(send, 200, b"%d" % size)


async def echo(rest: str, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    more = True
    while more:
        message = await receive()
        more = message.get("more_body", False)
        await send({"type": "http.response.body", "body": message.get("body", b""), "more_body": more})


_ANSWERS: dict[str, Callable[[str, Send], Awaitable[None]]] = {
    function.__name__: function
    for function in (text, chunks, long, status, close, wait, wrong, fail, order, stream, refuse)
}
_READING: dict[str, Callable[[str, Receive, Send], Awaitable[None]]] = {
    function.__name__: function for function in (count, limit, echo)
}


def main(*options: str) -> None:
    from strongroom.http.limits import Limits
    from strongroom.http.server import BACKLOG, Server, bind, fast_loop, stop_on_signals
    from strongroom.runtime.logging import configure

    values: dict[str, Any] = {name: float(value) for name, _, value in (option.partition("=") for option in options)}

    async def serve() -> None:
        server = Server(application, Limits(**values))
        stop_on_signals(server)
        with bind("127.0.0.1", 0) as listener:
            listener.listen(BACKLOG)
            await server.serve(listener, lambda: print(listener.getsockname()[1], flush=True))

    configure()
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        runner.run(serve())


if __name__ == "__main__":
    main(*sys.argv[1:])
