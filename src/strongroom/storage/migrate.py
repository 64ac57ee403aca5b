"""Migrations: numbered SQL files per area, one history for every engine, forward only."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources.abc import Traversable

_FILE = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")

HISTORY = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    number BIGINT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    checksum TEXT NOT NULL,
    applied_at BIGINT NOT NULL
)
"""
APPLIED = "SELECT number, checksum FROM schema_migrations ORDER BY number"
RECORD = (
    "INSERT INTO schema_migrations (number, name, checksum, applied_at) VALUES (:number, :name, :checksum, :applied_at)"
)

# No migration has this number: a row with it says that a restore into this database has not come to its end.
RESTORING = 0


class SchemaError(Exception):
    """The database and this version of the software do not belong together. The message says what to do."""


@dataclass(frozen=True, slots=True)
class Migration:
    number: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def record(self, now: int) -> dict[str, str | int]:
        """The values of `RECORD`; `now` in milliseconds since 1970."""
        return {"number": self.number, "name": self.name, "checksum": self.checksum, "applied_at": now}

    @property
    def statements(self) -> list[str]:
        """The statements of the file: a semicolon at the end of a line ends one."""
        return [part for part in (piece.strip() for piece in re.split(r";\s*(?:\n|\Z)", self.text)) if part]


def load(folder: Traversable) -> list[Migration]:
    """Every migration of an area, in order; a gap or a double number is a `SchemaError`."""
    files = ((file, _FILE.fullmatch(file.name)) for file in folder.iterdir())
    found = [Migration(int(match[1]), match[2], file.read_text("utf-8")) for file, match in files if match]
    found.sort(key=lambda migration: migration.number)
    if [migration.number for migration in found] != list(range(1, len(found) + 1)):
        raise SchemaError("the migration files are not numbered 1, 2, 3 ...")
    return found


def pending(known: list[Migration], applied: Mapping[int, str]) -> list[Migration]:
    """What is still to be run. A newer database, an edited history or an unfinished restore is a `SchemaError`."""
    if RESTORING in applied:
        raise SchemaError("a restore into this database did not finish: run `strongroom restore` again")
    by_number = {migration.number: migration for migration in known}
    for number, checksum in applied.items():
        if number not in by_number:
            raise SchemaError("the database was made by a newer version of Strongroom: install that version")
        if by_number[number].checksum != checksum:
            raise SchemaError(
                f"migration {number} is not the one that made this database: a version from before the first release "
                "made it, or one of the two was changed since"
            )
    return [migration for migration in known if migration.number not in applied]
