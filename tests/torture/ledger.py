"""What the service has acknowledged, kept outside its databases, and how each entry is found again in them."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from strongroom.storage.copying import Snapshot

# By kind: the area, and a query that finds a row exactly if the write is there. Values are hexadecimal where bytes are
# meant, under names that end in `id` or `hash`.
KINDS = {
    "token issued": ("keystore", "SELECT 1 FROM admission_tokens WHERE token_hash = :token_hash"),
    "token used": (
        "keystore",
        "SELECT 1 FROM admission_tokens WHERE token_hash = :token_hash AND used_at IS NOT NULL",
    ),
    "user": (
        "keystore",
        (
            "SELECT 1 FROM users u JOIN usernames n ON n.user_id = u.id AND n.provider_id = u.provider_id"
            " WHERE u.id = :user_id AND u.username = :username"
        ),
    ),
    "session": ("keystore", "SELECT 1 FROM sessions WHERE user_id = :user_id AND id = :session_id"),
    "logout": (
        "keystore",
        "SELECT 1 FROM sessions WHERE user_id = :user_id AND id = :session_id AND revoked_at IS NOT NULL",
    ),
    "derivation artefact": (
        "keystore",
        "SELECT 1 FROM passphrase_derivation_artefacts WHERE user_id = :user_id AND derivation_artefacts = :value",
    ),
    "key encryption key": (
        "keystore",
        "SELECT 1 FROM key_encryption_keys WHERE user_id = :user_id AND serialized_key_encryption_key = :value",
    ),
    "data encryption key": (
        "keystore",
        (
            "SELECT 1 FROM data_encryption_keys"
            " WHERE user_id = :user_id AND id = :key_id AND serialized_data_encryption_key = :value"
        ),
    ),
    "keypair": (
        "keystore",
        (
            "SELECT 1 FROM keypairs k JOIN external_identifiers e ON e.user_id = k.user_id AND e.keypair_id = k.id"
            " WHERE k.user_id = :user_id AND k.id = :key_id AND k.encrypted_serialized_key = :value"
        ),
    ),
    "vault token issued": ("vault", "SELECT 1 FROM admission_tokens WHERE token_hash = :token_hash"),
    "vault session": ("vault", "SELECT 1 FROM sessions WHERE user_id = :user_id AND id = :session_id"),
    "vault logout": (
        "vault",
        "SELECT 1 FROM sessions WHERE user_id = :user_id AND id = :session_id AND revoked_at IS NOT NULL",
    ),
}


class Writer:
    """One writer's file: an entry is in it before the next request is sent."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="ascii")

    def acknowledged(self, kind: str, **values: str) -> None:
        self._file.write(json.dumps({"kind": kind} | values) + "\n")
        self._file.flush()


@dataclass
class Reader:
    """The files of all writers, read as they grow."""

    paths: list[Path]
    entries: list[dict[str, str]] = field(default_factory=list)
    _read: dict[Path, int] = field(default_factory=dict)

    def new(self) -> list[dict[str, str]]:
        """What was written since the last time, whole lines only."""
        found = []
        for path in self.paths:
            content = path.read_bytes()[self._read.get(path, 0) :] if path.exists() else b""
            whole = content[: content.rfind(b"\n") + 1]
            self._read[path] = self._read.get(path, 0) + len(whole)
            found += [json.loads(line) for line in whole.splitlines()]
        self.entries += found
        return found


async def missing(opened: dict[str, Snapshot], entries: list[dict[str, str]]) -> list[dict[str, str]]:
    """The acknowledged writes that are not in the databases."""
    lost = []
    for entry in entries:
        area, query = KINDS[entry["kind"]]
        values: dict[str, Any] = {
            name: bytes.fromhex(value.replace("-", "")) if name.endswith(("id", "hash")) else value
            for name, value in entry.items()
            if name != "kind"
        }
        if not await opened[area].all(query, **values):
            lost.append(entry)
    return lost
