"""A filled deployment of one engine as one small file, and back."""

import json
import sqlite3
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from urllib.parse import quote

import psycopg
from tests.frozen.making import fill
from tools.postgres_server import PostgresServer

from strongroom.runtime.settings import Settings

DATA = Path(__file__).parent / "data"
ENGINES = ("sqlite", "postgresql")
VALUES, SCRIPT = "values.json", "postgresql.sql"
AREAS = tuple(field.name.removesuffix("_database") for field in fields(Settings) if field.name.endswith("_database"))
# Commands of psql, and a setting that servers before 17 do not know.
_NOT_SQL = ("\\restrict", "\\unrestrict", "SET transaction_timeout")


@dataclass(frozen=True)
class Deployment:
    """A data folder with databases in it, or in a server that runs as long as this is used."""

    folder: Path
    server: PostgresServer | None

    @property
    def settings(self) -> dict[str, str]:
        found = {"data": str(self.folder)}
        if self.server is not None:
            for area in AREAS:
                options = quote(f"-csearch_path={area}", safe="")
                found[f"{area}_database"] = f"{self.server.url()}&options={options}"
        return found

    def counts(self) -> dict[str, int]:
        """The rows of each table on SQLite, by `<area>.<table>`."""
        found = {}
        for file in self.folder.glob("*.sqlite"):
            with closing(sqlite3.connect(file)) as connection:
                tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
                for (table,) in tables:
                    [(rows,)] = connection.execute(f"SELECT count(*) FROM {table}").fetchall()
                    found[f"{file.stem}.{table}"] = rows
        return found


@contextmanager
def deployed(engine: str, folder: Path) -> Iterator[Deployment]:
    if engine == "sqlite":
        yield Deployment(folder, None)
    else:
        with PostgresServer() as server:
            yield Deployment(folder, server)


async def freeze(engine: str, target: Path) -> Path:
    """`<engine>.tar.gz` in `target`: the databases, the server secret, and what the user sealed."""
    with tempfile.TemporaryDirectory() as temporary, deployed(engine, Path(temporary)) as made:
        (made.folder / VALUES).write_text(json.dumps(await fill(made.settings), indent=1))
        if made.server is not None:
            (made.folder / SCRIPT).write_text(_script(made.server), "utf-8")
        file = target / f"{engine}.tar.gz"
        with tarfile.open(file, "x:gz") as archive:
            for name in ("secret", VALUES, SCRIPT, *(f"{area}.sqlite" for area in AREAS)):
                if (made.folder / name).exists():
                    archive.add(made.folder / name, name)
    return file


@contextmanager
def thawed(file: Path, folder: Path) -> Iterator[tuple[Deployment, dict[str, str]]]:
    """A deployment that holds what was frozen, and what the user sealed."""
    with tarfile.open(file) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python before 3.11.4 knows none
        archive.extractall(folder)
    with deployed(file.name.partition(".")[0], folder) as made:
        if made.server is not None:
            with psycopg.connect(made.server.url(), autocommit=True) as connection:
                connection.execute((folder / SCRIPT).read_bytes())
        yield made, json.loads((folder / VALUES).read_text())


def _script(server: PostgresServer) -> str:
    dumped = server.run("pg_dump", "--dbname", server.url(), "--inserts", "--no-owner", "--no-privileges")
    return "".join(line for line in dumped.splitlines(keepends=True) if not line.startswith(_NOT_SQL))
