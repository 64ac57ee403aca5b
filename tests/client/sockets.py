"""Servers of a few lines on loopback sockets, which do what no real one would."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

OK = b'{"status": "ok"}'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
Treat = Callable[[socket.socket], None]
Serve = Callable[[Treat], str]


def read_request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return data
        data += piece
    return data


@contextlib.contextmanager
def servers() -> Iterator[Serve]:
    """Listen on loopback and treat each connection as told; each call returns a base URL."""
    with contextlib.ExitStack() as stack:

        def start(treat: Treat) -> str:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))

            def accept() -> None:
                while True:
                    try:
                        connection, _ = listener.accept()
                    except OSError:
                        return
                    threading.Thread(target=run, args=(connection,), daemon=True).start()

            def run(connection: socket.socket) -> None:
                with connection, contextlib.suppress(OSError):
                    treat(connection)

            threading.Thread(target=accept, daemon=True).start()
            stack.callback(listener.shutdown, socket.SHUT_RDWR)
            return f"http://127.0.0.1:{listener.getsockname()[1]}"

        yield start


def whole(body: bytes, head: bytes = HEAD) -> Treat:
    def treat(connection: socket.socket) -> None:
        while read_request(connection):
            connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    return treat


def trickle(start: bytes, piece: bytes) -> Treat:
    def treat(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(start)
        while True:
            connection.sendall(piece)
            time.sleep(0.05)

    return treat
