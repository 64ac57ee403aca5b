"""One process of a race: holds requests back by their last byte, says `ready`, and sends it on a signal."""

import base64
import json
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def hold(address: tuple[str, int], request: bytes) -> socket.socket:
    connection = socket.create_connection(address, timeout=30)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(request[:-1])
    return connection


def answer(connection: socket.socket) -> tuple[int, Any]:
    received = b""
    while chunk := connection.recv(65536):
        received += chunk
    connection.close()
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body) if body else None


def main() -> None:
    task = json.loads(sys.stdin.readline())
    requests = [base64.b64decode(request) for request in task["requests"]]
    held = [hold((task["host"], task["port"]), request) for request in requests]
    print("ready", flush=True)
    sys.stdin.readline()
    for connection, request in zip(held, requests, strict=True):
        connection.sendall(request[-1:])
    with ThreadPoolExecutor(len(held)) as pool:
        print(json.dumps(list(pool.map(answer, held))), flush=True)


if __name__ == "__main__":
    main()
