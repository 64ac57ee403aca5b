"""`python -m bench.loader PLAN`: a small HTTP load generator for machines without wrk."""

import asyncio
import json
import sys
import time
from itertools import count, cycle
from pathlib import Path
from typing import Any

import uvloop


class Connection(asyncio.Protocol):
    """One request after the other, as fast as they are answered."""

    def __init__(self, load: "Load") -> None:
        self._load = load
        self._received = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end or len(body) < _content_length(head):
            return
        self._received = b""
        self._load.note(int(head[9:12]), time.perf_counter() - self._sent)
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        self._load.lost()

    def _send(self) -> None:
        if self._load.over:
            self._transport.close()
            return
        self._sent = time.perf_counter()
        self._transport.write(self._load.next_request())


class Load:
    def __init__(self, parts: list[list[str]], status: int, run: str) -> None:
        self._parts = cycle([(before.encode(), after.encode()) for before, after in parts])
        self._numbers = count(1)
        self._status = status
        self._run = run.encode()
        self.latencies: list[float] = []
        self.errors = 0
        self.over = False

    def next_request(self) -> bytes:
        before, after = next(self._parts)
        return before + (self._run + b"%08d" % next(self._numbers) + after if after else b"")

    def note(self, status: int, seconds: float) -> None:
        self.errors += status != self._status
        if not self.over:
            self.latencies.append(seconds)

    def lost(self) -> None:
        self.errors += not self.over


def _content_length(head: bytes) -> int:
    _, found, rest = head.lower().partition(b"content-length:")
    return int(rest.partition(b"\r\n")[0]) if found else 0


async def _run(
    parts: list[list[str]], status: int, connections: int, port: int, seconds: float, run: str
) -> dict[str, float]:
    load = Load(parts, status, run)
    loop = asyncio.get_running_loop()
    started = time.perf_counter()
    for _ in range(connections):
        await loop.create_connection(lambda: Connection(load), "127.0.0.1", port)
    await asyncio.sleep(seconds - (time.perf_counter() - started))
    load.over = True
    taken = time.perf_counter() - started
    in_order = sorted(load.latencies) or [0.0]
    return {
        "requests": len(load.latencies),
        "seconds": taken,
        "errors": load.errors,
        "p50_ms": in_order[len(in_order) // 2] * 1000,
        "p99_ms": in_order[len(in_order) * 99 // 100] * 1000,
    }


if __name__ == "__main__":
    plan = json.loads(Path(sys.argv[1]).read_text())
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(_run(*plan))))
