"""What happened, step by step: requests with their secrets masked, work on this machine, and times."""

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from strongroom.client.observing import Exchange, mask
from strongroom.client.progress import Progress

Fields: TypeAlias = list[tuple[str, str]]

_STARS = "********"
_PREFIX = re.compile(r"sr[a-z]{1,3}\d?_")


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One request and its answer; nothing in it is secret."""

    method: str
    path: str
    credential: str | None
    status: int
    seconds: float
    sent: Fields
    received: Fields


@dataclass(slots=True)
class Step:
    """One step, numbered where the specification numbers it. `work` is what this machine computed, in seconds."""

    number: int | None
    label: str
    seconds: float = 0.0
    calls: list[RecordedCall] = field(default_factory=list)
    work: list[tuple[str, float]] = field(default_factory=list)
    says: list[str] = field(default_factory=list)


class Recorder:
    """Listens to a client. `on_step` hears of each step once it is over, `on_work` of work in progress."""

    def __init__(self, on_step: Callable[[Step], None], on_work: Callable[[str, float], None]) -> None:
        self.steps: list[Step] = []
        self.raw: list[bytes] = []
        """Every request as it was: path and body, unmasked, to be searched."""
        self._on_step = on_step
        self._on_work = on_work
        self._step: Step | None = None

    def observe(self, exchange: Exchange) -> None:
        self.raw.append(exchange.path.encode() + b"\n" + exchange.request_body)
        call = RecordedCall(
            exchange.method,
            exchange.path,
            exchange.credential,
            exchange.status,
            exchange.seconds,
            fields(exchange.request_body),
            fields(exchange.response_body),
        )
        if self._step is not None:
            self._step.calls.append(call)

    def progress(self, event: Progress) -> None:
        if event.kind == "work":
            self._work(event)
        elif event.seconds is None:
            self._step = Step(event.step, event.label)
        elif self._step is not None:
            self._end(event.seconds)

    @contextmanager
    def step(self, label: str) -> Iterator[Step]:
        """A step of the demo's own, around calls that report none."""
        started = time.perf_counter()
        self._step = step = Step(None, label)
        yield step
        self._end(time.perf_counter() - started)

    def _work(self, event: Progress) -> None:
        if event.fraction != 1.0:
            self._on_work(event.label, event.seconds or 0.0)
        elif self._step is None:
            self._step = Step(None, event.label)
            self._end(event.seconds or 0.0)
        elif event.label != self._step.label:
            self._step.work.append((event.label, event.seconds or 0.0))

    def _end(self, seconds: float) -> None:
        assert self._step is not None
        self._step.seconds = seconds
        self.steps.append(self._step)
        self._on_step(self._step)
        self._step = None


def fields(body: bytes) -> Fields:
    """The leaves of a JSON body with their paths, secrets as stars behind the prefix that tells their kind."""
    if not body:
        return []
    masked = mask(body)
    try:
        return list(_leaves(json.loads(body), json.loads(masked), ""))
    except ValueError:
        return [("", masked)]


def _leaves(value: Any, masked: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(masked, dict) and masked:
        for name, item in masked.items():
            yield from _leaves(value[name], item, f"{path}.{name}" if path else name)
    elif isinstance(masked, list) and masked:
        for number, item in enumerate(masked):
            yield from _leaves(value[number], item, f"{path}[{number}]")
    elif masked == _STARS and (prefix := _PREFIX.match(value)):
        yield path, f"{prefix[0]}{_STARS}"
    else:
        yield path, masked if isinstance(masked, str) else json.dumps(masked)
