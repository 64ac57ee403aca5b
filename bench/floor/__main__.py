"""`python -m bench.floor PORT FOLDER PUBLIC_URL sqlite|unshared|postgresql [DATABASE]`: serve the floor.

One line on standard output says that it listens.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

import uvicorn
import uvloop

from bench.floor.databases import Database, Postgres, Sqlite
from bench.floor.endpoints import Endpoints, Handler, Refused
from strongroom.http.acceptor import AT_ONCE, Acceptor
from strongroom.http.limits import Limits
from strongroom.http.server import BACKLOG, bind
from strongroom.runtime.secret import ServerSecret, load_or_create


class Application:
    def __init__(self, handlers: dict[tuple[str, str], Handler]) -> None:
        self._handlers = handlers

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        chunks, more = [], scope["method"] == "POST"
        while more:
            message = await receive()
            chunks.append(message.get("body", b""))
            more = message.get("more_body", False)
        handler = self._handlers[scope["method"], scope["path"]]
        try:
            status, body = await handler(dict(scope["headers"]), scope["query_string"], b"".join(chunks))
        except Refused:
            status, body = 401, b"{}"
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class Server(uvicorn.Server):
    async def startup(self, sockets: Any = None) -> None:
        await super().startup([])
        listener = bind("127.0.0.1", self.config.port)
        listener.listen(BACKLOG)
        listener.setblocking(False)
        # As the service does it, or the first requests of a round would wait for each other here alone.
        self._acceptor = Acceptor(asyncio.get_running_loop(), listener, self._connection, AT_ONCE)
        print("listening", flush=True)

    def _connection(self) -> Any:
        protocol: Any = self.config.http_protocol_class
        return protocol(self.config, self.server_state, self.lifespan.state)


async def _serve(port: int, database: Database, secret: ServerSecret, public_url: str) -> None:
    await database.open()
    config = uvicorn.Config(
        Application(Endpoints(database, secret, public_url).handlers),
        port=port,
        http="httptools",
        loop="none",
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(Limits().keep_alive_seconds),
    )
    await Server(config).serve()


def main(port: str, folder: str, public_url: str, mode: str, url: str = "") -> None:
    secret = ServerSecret(load_or_create(Path(folder) / "secret"))
    if mode == "postgresql":
        database: Database = Postgres(url)
    else:
        database = Sqlite(Path(folder), shared_commits=mode == "sqlite")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(int(port), database, secret, public_url))


if __name__ == "__main__":
    main(*sys.argv[1:])
