"""`python -m bench.streams_server --NAME=VALUE ...`: the service, and beside it an application that streams.

`GET /bench/<size>` gives so many bytes, `POST /bench/` takes what comes. One line on standard output says that it
listens.
"""

import asyncio
import os
import sys
from typing import Any

from strongroom.app import Application
from strongroom.http.limits import Limits
from strongroom.http.server import BACKLOG, Server, bind, fast_loop, stop_on_signals
from strongroom.runtime.settings import Settings, load

PREFIX = "/bench/"
PIECE = bytes(64 * 1024)


class WithStreams(Application):
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"].startswith(PREFIX):
            if scope["method"] == "GET":
                await _give(int(scope["path"].removeprefix(PREFIX)), send)
            else:
                await _take(receive, send)
        else:
            await super().__call__(scope, receive, send)


async def _give(size: int, send: Any) -> None:
    headers = [(b"content-length", b"%d" % size)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for start in range(0, size, len(PIECE)):
        await send({"type": "http.response.body", "body": PIECE[: size - start], "more_body": True})
    await send({"type": "http.response.body"})


async def _take(receive: Any, send: Any) -> None:
    more = True
    while more:
        more = (await receive()).get("more_body", False)
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


async def _serve(settings: Settings) -> None:
    application = WithStreams(settings)
    try:
        await application.start()
        server = Server(application, Limits())
        stop_on_signals(server)
        with bind(settings.host, settings.port) as listener:
            listener.listen(BACKLOG)
            await server.serve(listener, lambda: print("listening", flush=True))
    finally:
        await application.close()


def main() -> None:
    options = (option.removeprefix("--").partition("=") for option in sys.argv[1:])
    given = {name.replace("-", "_"): value for name, _, value in options}
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        runner.run(_serve(load(os.environ, given)))


if __name__ == "__main__":
    main()
