"""`python -m bench.streams_load PORT SECONDS CONNECTIONS`: bodies of 64 MiB up and down, as fast as they go.

Half of the connections begin with each way. The last line says how many bytes went each way in that time.
"""

import json
import socket
import sys
import threading
import time

SIZE = 64 * 1024 * 1024
_PIECE = bytes(256 * 1024)


class Stream(threading.Thread):
    """One connection: a body up, a body down, until the time is over."""

    def __init__(self, port: int, until: float, begins_up: bool) -> None:
        super().__init__()
        self._caller = socket.create_connection(("127.0.0.1", port), 30)
        self._until = until
        self._begins_up = begins_up
        self.up = self.down = 0

    def run(self) -> None:
        ways = (self._send, self._take) if self._begins_up else (self._take, self._send)
        with self._caller:
            while True:
                for way in ways:
                    if not way():
                        return

    def _send(self) -> bool:
        self._caller.sendall(b"POST /bench/ HTTP/1.1\r\nHost: bench\r\nContent-Length: %d\r\n\r\n" % SIZE)
        for _ in range(SIZE // len(_PIECE)):
            if time.monotonic() > self._until:
                return False
            self._caller.sendall(_PIECE)
            self.up += len(_PIECE)
        return self._head().startswith(b"HTTP/1.1 204 ")

    def _take(self) -> bool:
        self._caller.sendall(b"GET /bench/%d HTTP/1.1\r\nHost: bench\r\n\r\n" % SIZE)
        head, _, start = self._head().partition(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200 "):
            return False
        left, buffer = SIZE - len(start), bytearray(len(_PIECE))
        while left:
            if time.monotonic() > self._until:
                return False
            size = self._caller.recv_into(buffer, min(left, len(buffer)))
            if not size:
                return False
            left -= size
            self.down += size
        return True

    def _head(self) -> bytes:
        found = b""
        while b"\r\n\r\n" not in found:
            received = self._caller.recv(4096)
            if not received:
                return b""
            found += received
        return found


def main(port: str, seconds: str, connections: str) -> None:
    until = time.monotonic() + float(seconds)
    streams = [Stream(int(port), until, bool(number % 2)) for number in range(int(connections))]
    for stream in streams:
        stream.start()
    for stream in streams:
        stream.join()
    print(json.dumps({"up": sum(stream.up for stream in streams), "down": sum(stream.down for stream in streams)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
