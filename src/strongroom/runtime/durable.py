"""What survives a crash of the machine."""

import os
from pathlib import Path


def sync(path: Path) -> None:
    """Return when a file, or the names in a folder, are on disk. `OSError`."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
