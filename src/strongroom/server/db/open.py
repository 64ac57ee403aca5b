"""From a database setting to the engine that serves it."""

from importlib.resources.abc import Traversable
from pathlib import Path

from strongroom.server.db import Store
from strongroom.server.db.sqlite import SqliteStore
from strongroom.server.settings import SettingsError


def open_store(database: str | None, default: Path, migrations: Traversable, *, guest: bool = False) -> Store:
    """`sqlite:<path>` or nothing for the default file. A guest, such as the command line, never checkpoints."""
    if database is None:
        return SqliteStore(default, migrations, guest=guest)
    scheme, _, path = database.partition(":")
    if scheme != "sqlite" or not path:
        raise SettingsError("a database is given as sqlite:<path>")
    return SqliteStore(Path(path), migrations, guest=guest)
