"""The demo's service: `strongroom serve` as a process of its own, so that it shares no memory with the client."""

import json
import os
import selectors
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from strongroom.cli.output import Failed

_PATIENCE_SECONDS = 30


class ServiceProcess:
    """A running service with a sandbox provider. `Failed` where it does not start or does not end well."""

    base_url: str
    keys: dict[str, str]
    seconds: float
    """How long the service took to start."""

    def __init__(self, data: Path, log: Path) -> None:
        self.data = data
        self.log = log

    def __enter__(self) -> Self:
        started = time.perf_counter()
        # Settings of a service that runs elsewhere on this machine must not reach this one.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("STRONGROOM_")}
        command = ["serve", "--sandbox", "--json", "--port", "0", "--log-level", "debug", "--data", str(self.data)]
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603  # this very program, with no secret among its arguments
                [sys.executable, "-m", "strongroom.cli", *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment,
            )
        try:
            self.keys = json.loads(self._first_line())
        except BaseException:
            self._kill()
            raise
        self.base_url = self.keys.pop("base_url")
        self.seconds = time.perf_counter() - started
        return self

    def __exit__(self, *error: object) -> None:
        self._kill()

    def stop(self) -> None:
        """End the service as an operator would and wait until its files are whole."""
        self._process.terminate()
        try:
            code = self._process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            raise Failed("the service did not stop on SIGTERM") from None
        if code:
            raise Failed(f"the service ended with exit code {code}")

    def _first_line(self) -> bytes:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            line = self._process.stdout.readline() if selector.select(_PATIENCE_SECONDS) else b""
        if not line:
            said = self.log.read_text("utf-8", "replace").strip().splitlines()
            raise Failed(f"the service did not start: {said[-1] if said else 'it said nothing'}")
        return line

    def _kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
