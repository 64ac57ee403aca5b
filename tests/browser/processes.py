"""The service as a process, as a browser reaches it."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 30.0


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def serving(folder: Path, **settings: str) -> Iterator[dict[str, str]]:
    """`strongroom serve --sandbox` as a process with these settings; gives what it announces."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("STRONGROOM_")}
    given = {f"STRONGROOM_{name.upper()}": value for name, value in settings.items()}
    program = Path(__file__).with_name("served.py")
    command = [sys.executable, str(program), "serve", "--sandbox", "--json", "--data", str(folder / "data")]
    log = folder / f"{settings['port']}.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, env=clean | given)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line, log.read_text()
        yield json.loads(line)
    finally:
        process.terminate()
        process.wait(PATIENCE)
        process.stdout.close()
