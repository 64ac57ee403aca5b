"""Progress: what a registration or an unlock is doing, reported to a callback at starts, ends and during long work."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from strongroom.client.running import at_caller, in_thread

T = TypeVar("T")

# The registration flow (spec: what the service does, 7).
STEPS = (
    "Obtain a key store admission token",
    "Create the key store user",
    "Create a key store session",
    "Store the derivation artefacts",
    "Store the encrypted key encryption key",
    "Store the encrypted data encryption key",
    "Store the keypair tagged vault",
    "Obtain a vault admission token",
    "Create the vault user",
    "Decrypt the session string",
    "Use the session string for vault calls",
)


@dataclass(frozen=True, slots=True)
class Progress:
    """One event. `fraction` is 0.0 at the start, 1.0 at the end; in between an estimate, or None where none exists."""

    step: int | None
    """1 to 11 during a registration (spec: what the service does, 7); None outside these steps."""
    label: str
    fraction: float | None
    seconds: float | None
    """Since the start; None in the event that marks the start."""
    kind: Literal["step", "work"] = "step"
    """`work` is a slow computation, usually inside a step."""


ProgressCallback: TypeAlias = Callable[[Progress], None]


class Reporter:
    """Calls one callback, in the caller's own thread or on the caller's event loop."""

    def __init__(self, callback: ProgressCallback | None) -> None:
        self._callback = callback
        self._step: int | None = None
        self._rate: float | None = None

    async def _tell(self, progress: Progress) -> None:
        if self._callback is not None:
            await at_caller(self._callback, progress)

    @asynccontextmanager
    async def step(self, number: int | None, label: str) -> AsyncIterator[None]:
        """Mark a step; a step that fails has a start and no end."""
        started = time.perf_counter()
        self._step = number
        await self._tell(Progress(number, label, 0.0, None))
        try:
            yield
        finally:
            self._step = None
        await self._tell(Progress(number, label, 1.0, time.perf_counter() - started))

    async def work(self, function: Callable[[], T], label: str, *, iterations: int | None = None) -> T:
        """Have something slow computed. `iterations` lets the second key derivation be estimated from the first."""
        step = self._step
        expected = iterations / self._rate if iterations and self._rate else None
        started = time.perf_counter()

        async def tick(elapsed: float) -> None:
            fraction = min(elapsed / expected, 0.99) if expected else None
            await self._tell(Progress(step, label, fraction, elapsed, "work"))

        await self._tell(Progress(step, label, 0.0, None, "work"))
        result = await in_thread(function, None if self._callback is None else tick)
        seconds = time.perf_counter() - started
        if iterations and seconds > 0:
            self._rate = iterations / seconds
        await self._tell(Progress(step, label, 1.0, seconds, "work"))
        return result
