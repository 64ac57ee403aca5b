"""One lock for each area that is served from the data folder: SQLite has one writer."""

import fcntl
import os
import shlex
from pathlib import Path

from strongroom.runtime.secret import Exposed


class InUse(Exception):
    """Another process serves this data folder: SQLite has one writer."""


class DataLocks:
    """Held from its making until `release`, or the end of the process; makes the folder.

    `InUse` where one is taken; `Exposed` where other users of the machine can enter a folder that holds databases.
    """

    def __init__(self, folder: Path, areas: list[str]) -> None:
        self._descriptors: list[int] = []
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if areas and folder.stat().st_mode & 0o077:
            raise Exposed(f"others can enter the data folder: chmod 700 {shlex.quote(str(folder))}")
        try:
            for area in areas:
                self._descriptors.append(_lock(folder / f"{area}.lock"))
        except BaseException:
            self.release()  # another attempt in this process may go better
            raise

    def release(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()


def _lock(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise InUse(
            "another process serves this data folder: SQLite has one writer, so one process serves an area"
        ) from None
    return descriptor
