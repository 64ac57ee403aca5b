"""Does a secret occur anywhere it must not? Searches bytes for a text in the forms it could hide in."""

import base64
import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote


def forms(secret: str) -> dict[str, bytes]:
    """The text itself and encoded; Base64 in its three alignments, so that it is found inside a longer value too."""
    raw = secret.encode()
    found = {
        "UTF-8": raw,
        "UTF-16, little endian": secret.encode("utf-16-le"),
        "UTF-16, big endian": secret.encode("utf-16-be"),
        "hexadecimal": raw.hex().encode(),
        "percent": quote(secret, safe="").encode(),
        "JSON": json.dumps(secret)[1:-1].encode(),
        "reversed": raw[::-1],
    }
    for shift in range(3):
        # The first and the last characters also depend on the neighbours: only what lies between is certain.
        encoded = base64.b64encode(b"\0" * shift + raw)[(0, 2, 3)[shift] :]
        inner = encoded.rstrip(b"=")[:-1]
        found[f"Base64, shifted by {shift}"] = inner
        found[f"URL-safe Base64, shifted by {shift}"] = inner.translate(bytes.maketrans(b"+/", b"-_"))
    return found


def occurs(secret: str, texts: Iterable[bytes]) -> str | None:
    """The form in which the secret occurs, or None."""
    wanted = forms(secret)
    for text in texts:
        lower = text.lower()
        for form, needle in wanted.items():
            if needle in text or (form == "hexadecimal" and needle in lower):
                return form
    return None


def files(folder: Path) -> list[Path]:
    """Everything the service keeps there: databases, their journals, the server secret."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


@dataclass(frozen=True, slots=True)
class StoredRow:
    table: str
    rows: int
    columns: list[tuple[str, str]]
    """The texts of the newest row: column and value, shortened."""


# What belongs to a user; the rest is look-ups, providers and classification data.
_TABLES = {
    "keystore": (
        "users",
        "passphrase_derivation_artefacts",
        "key_encryption_keys",
        "data_encryption_keys",
        "keypairs",
    ),
    "vault": ("users",),
}
_SHOWN = 40


def stored(folder: Path) -> Iterator[StoredRow]:
    """The newest row of every table that holds something of a user."""
    for area, tables in _TABLES.items():
        with closing(sqlite3.connect(f"file:{folder / f'{area}.sqlite'}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            present = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            for table in tables:
                if table in present:
                    yield _newest(connection, area, table)


def _newest(connection: sqlite3.Connection, area: str, table: str) -> StoredRow:
    rows = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608  # a name from the list above
    row = connection.execute(f"SELECT * FROM {table} ORDER BY rowid DESC LIMIT 1").fetchone()  # noqa: S608
    texts = [] if row is None else [name for name in row.keys() if isinstance(row[name], str)]  # noqa: SIM118  # no mapping
    columns = [(name, _short(row[name])) for name in texts]
    return StoredRow(f"{area}.{table}", rows, columns)


def _short(text: str) -> str:
    text = text.replace("\n", " ")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"
