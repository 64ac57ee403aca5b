"""Is a data folder whole and private: modes, server secret, databases with the schema of this version, free space."""

import asyncio
import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Iterable
from contextlib import closing
from importlib.resources import files
from pathlib import Path

from strongroom.cli.doctor.finding import Finding, Verdict, judge
from strongroom.runtime.settings import DATABASES, SettingsError, environment_name

_MIGRATES = "the next start brings the schema up to date"
_ENOUGH_BYTES = 256 * 1024 * 1024
_CLOCK_TOLERANCE_SECONDS = 120


def findings(folder: Path) -> Iterable[Finding]:
    if not folder.is_dir():
        yield Finding("data folder", Verdict.failed, "it does not exist: the first start of the service makes it")
        return
    yield _private("data folder", folder, 0o700)
    yield from _secret(folder / "secret")
    for name in DATABASES:
        setting = os.environ.get(environment_name(f"{name}_database"))
        yield _elsewhere(name, setting) if setting else _database(name, folder / f"{name}.sqlite")
    if (folder / "portal.sqlite").exists():
        says = "portal.sqlite is from before the first release, and this version refuses the folder that holds it"
        yield Finding("portal database", Verdict.failed, says)
    free = shutil.disk_usage(folder).free
    yield judge("free space", free >= _ENOUGH_BYTES, f"{free // (1024 * 1024)} MiB", "make room before writes fail")
    yield _times(folder)


def _private(check: str, path: Path, wanted: int) -> Finding:
    mode = stat.S_IMODE(path.stat().st_mode)
    # On a folder or file that others can read, they may hold the passphrase hashes and the secret already.
    return judge(check, not mode & 0o077, f"mode {mode:04o}", f"others can reach it: chmod {wanted:04o}")


def _secret(path: Path) -> Iterable[Finding]:
    if not path.is_file():
        yield Finding("server secret", Verdict.warning, "no file `secret`: it has to be in STRONGROOM_SECRET")
        return
    yield _private("server secret", path, 0o600)
    from strongroom.runtime.secret import parse

    try:
        parse(path.read_text("ascii"))
    except (OSError, ValueError):
        yield Finding("server secret", Verdict.failed, "it cannot be read as 64 hexadecimal digits")


def _database(name: str, path: Path) -> Finding:
    from strongroom.storage import migrate

    check = f"{name} database"
    if not path.is_file():
        return Finding(check, Verdict.skipped, "not here")
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            sound = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            applied = dict(connection.execute(migrate.APPLIED).fetchall())
        if sound != "ok":
            return Finding(check, Verdict.failed, "the file is damaged: restore a backup")
        waiting = migrate.pending(migrate.load(files(f"strongroom.{name}") / "migrations"), applied)
    except sqlite3.Error as error:
        return Finding(check, Verdict.failed, f"it cannot be read: {error}")
    except migrate.SchemaError as error:
        return Finding(check, Verdict.failed, str(error))
    says = f"sound, schema {max(applied, default=0)}"
    return judge(check, not waiting, says, _MIGRATES, otherwise=Verdict.warning)


def _elsewhere(name: str, setting: str) -> Finding:
    """A database that is not the default file, such as one of PostgreSQL; its address may hold a password."""
    from strongroom.storage import Unavailable
    from strongroom.storage.migrate import SchemaError
    from strongroom.storage.open import read_status

    check = f"{name} database"
    try:
        status = asyncio.run(read_status(setting, name, files(f"strongroom.{name}") / "migrations"))
    except (SettingsError, SchemaError) as error:
        return Finding(check, Verdict.failed, str(error))
    except Unavailable:
        return Finding(check, Verdict.failed, "it does not answer")
    says = f"{status.engine}, schema {max(status.applied, default=0)}"
    return judge(check, not status.pending, says, _MIGRATES, otherwise=Verdict.warning)


def _times(folder: Path) -> Finding:
    newest = max((path.stat().st_mtime for path in folder.iterdir()), default=0.0)
    sane = newest <= time.time() + _CLOCK_TOLERANCE_SECONDS
    says = "no file is from the future" if sane else "files are from the future"
    return judge("file times", sane, says, "the clock of this machine was set back")
