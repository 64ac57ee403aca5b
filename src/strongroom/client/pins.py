"""Pins: what this machine has seen of an account, so that a service that goes back in time is noticed.

Without pins the first unlock on a machine cannot notice a rollback.
"""

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from strongroom.client.errors import RollbackDetected, StateFileUnreadable
from strongroom.crypto.names import canonical_username

_FORMAT: Final = 1
_SIZE_LIMIT: Final = 1024 * 1024

Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


def digest(text: str) -> str:
    """SHA-256 of a stored text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Pins(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One state of an account. None of it is secret, and none of it opens anything."""

    generation: Annotated[int, Meta(ge=0)]
    derivation_artefacts: Digest
    iterations: Annotated[int, Meta(ge=0)]
    key_encryption_key: Digest
    vault_keypair: str | None
    data_encryption_keys: tuple[str, ...]
    bound: bool
    """Whether the account's values are bound to their place, as everything this client writes is."""
    format: Annotated[int, Meta(ge=_FORMAT, le=_FORMAT)] = _FORMAT

    def check(self, seen: "Pins") -> None:
        """Raise `RollbackDetected` where `seen` cannot have followed from this state."""
        if self.bound and not seen.bound:
            raise RollbackDetected("its keys are no longer bound to it")
        if seen.generation < self.generation:
            raise RollbackDetected("an older generation")
        if seen.iterations < self.iterations:
            raise RollbackDetected("fewer iterations")
        if seen.generation == self.generation:
            if seen.derivation_artefacts != self.derivation_artefacts:
                raise RollbackDetected("other derivation artefacts")
            if seen.key_encryption_key != self.key_encryption_key:
                raise RollbackDetected("another key encryption key")
        if self.vault_keypair is not None and seen.vault_keypair != self.vault_keypair:
            raise RollbackDetected("another vault keypair")
        # Nothing in the protocol takes a data encryption key away.
        if not set(self.data_encryption_keys) <= set(seen.data_encryption_keys):
            raise RollbackDetected("a data encryption key is missing")


class PinStore:
    """The state file of one account (realm, username) in `directory`; without a directory nothing is kept."""

    def __init__(self, directory: Path | None, realm: str, username: str) -> None:
        name = hashlib.sha256(f"{realm}\0{canonical_username(username)}".encode()).hexdigest()[:40]
        self._path = None if directory is None else directory / f"{name}.json"

    def load(self) -> Pins | None:
        """The pins, or None where this machine has never seen the account. A torn file is an error, not a new start."""
        if self._path is None:
            return None
        try:
            with self._path.open("rb") as file:
                content = file.read(_SIZE_LIMIT + 1)
        except FileNotFoundError:
            return None
        except OSError:
            raise StateFileUnreadable("cannot be read") from None
        try:
            if len(content) > _SIZE_LIMIT:
                raise StateFileUnreadable("is damaged: remove it only if you know why")
            return msgspec.json.decode(content, type=Pins)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            raise StateFileUnreadable("is damaged: remove it only if you know why") from None

    def advance(self, seen: Pins) -> None:
        """Remember `seen`, which was checked already: mode 0600, the old or the new state after a crash."""
        if self._path is None:
            return
        known = self.load()
        if known is not None:
            # Another process of this machine may have seen more meanwhile; nothing it remembers is given up.
            if known.generation > seen.generation:
                return
            keys = {*known.data_encryption_keys, *seen.data_encryption_keys}
            seen = msgspec.structs.replace(seen, data_encryption_keys=tuple(sorted(keys)))
        if known == seen:
            return
        directory = self._path.parent
        try:
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(prefix=".pins-", dir=directory)  # mkstemp makes it 0600
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(msgspec.json.encode(seen))
                    file.flush()
                    os.fsync(file.fileno())
                Path(temporary).replace(self._path)
            except BaseException:
                Path(temporary).unlink(missing_ok=True)
                raise
            _sync_directory(directory)
        except OSError:
            raise StateFileUnreadable("cannot be written") from None


def _sync_directory(directory: Path) -> None:
    if os.name != "posix":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
