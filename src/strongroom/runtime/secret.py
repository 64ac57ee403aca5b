"""The server secret: 32 bytes per deployment, never in a database, from which every server-side key is derived."""

import contextlib
import hashlib
import hmac
import os
import secrets
import shlex
import stat
from pathlib import Path

from strongroom.runtime.durable import sync

SIZE = 32


class Exposed(Exception):
    """Other users can read the file of the server secret. The message names it and says what to do."""


class ServerSecret:
    """One or two secrets: the first makes new values, both check old ones (so that it can be rotated).

    Uses are kept apart by label, so that no value made for one purpose is good for another.
    """

    __slots__ = ("_by_id", "_keys", "current_id")

    def __init__(self, current: bytes, previous: bytes | None = None) -> None:
        self._by_id: dict[int, bytes] = {}
        self._keys: dict[tuple[str, int], bytes] = {}
        """By label and key id, kept: every request needs one."""
        for value in (current, previous):
            if value is None:
                continue
            if len(value) != SIZE:
                raise ValueError("a server secret is 32 bytes")
            if self._by_id.setdefault(_key_id(value), value) != value:
                # One in 256 pairs: values of one secret could not be distinguished from values of the other.
                raise ValueError("the two server secrets have the same key id: make another one")
        self.current_id = _key_id(current)

    def __repr__(self) -> str:
        return "ServerSecret(***)"

    def __reduce__(self) -> str:
        raise TypeError("a server secret is not serialized")

    def key(self, label: str, key_id: int | None = None) -> bytes | None:
        """The 32-byte key for a use (HKDF-Expand with SHA-256, RFC 5869), or None for an unknown key id."""
        wanted = label, self.current_id if key_id is None else key_id
        key = self._keys.get(wanted)
        if key is None and (value := self._by_id.get(wanted[1])) is not None:
            key = self._keys[wanted] = hmac.digest(value, f"strongroom/1/server/{label}".encode() + b"\x01", "sha256")
        return key

    def current_key(self, label: str) -> bytes:
        key = self.key(label)
        assert key is not None
        return key

    def mac(self, label: str, message: bytes) -> bytes:
        """HMAC-SHA256 under the current key of this use."""
        return hmac.digest(self.current_key(label), message, "sha256")

    def keys(self, label: str) -> list[bytes]:
        """The keys of this use under every active secret, the current one first."""
        return [self.current_key(label), *(self._key_of(i, label) for i in self._by_id if i != self.current_id)]

    def _key_of(self, key_id: int, label: str) -> bytes:
        key = self.key(label, key_id)
        assert key is not None
        return key


def _key_id(value: bytes) -> int:
    # One byte of a hash tells which of two secrets made a value and gives nothing of the secret away.
    return hashlib.sha256(b"strongroom/1/server/key-id\x00" + value).digest()[0]


def load_or_create(path: Path) -> bytes:
    """Read the secret from `path`; at first start make it, readable by its owner only.

    Processes that start together agree on one: the file appears whole or not at all. `Exposed`, `ValueError`.
    """
    with contextlib.suppress(FileNotFoundError):
        return read(path)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(SIZE) + "\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(draft)  # fails where another process was first: then its secret is used
    finally:
        draft.unlink()
    # Without this a crash right after the first start could keep data that the lost secret was needed for.
    sync(path.parent)
    return read(path)


def read(path: Path) -> bytes:
    """The secret that is there: `Exposed`, `ValueError`, `FileNotFoundError`.

    A file of our own that others can reach is refused, as ssh refuses a private key. A file of another owner was put
    there for us, such as a secret mounted into a container: its mode is chosen by the operator who mounted it.
    """
    with path.open(encoding="ascii") as file:
        about = os.fstat(file.fileno())
        if about.st_uid == os.geteuid() and stat.S_IMODE(about.st_mode) & 0o077:
            raise Exposed(f"others can reach the server secret: chmod 600 {shlex.quote(str(path))}")
        return parse(file.read())


def parse(text: str) -> bytes:
    """64 hexadecimal digits; anything else is a `ValueError` that does not repeat the text."""
    try:
        value = bytes.fromhex(text.strip())
    except ValueError:
        value = b""
    if len(value) != SIZE:
        raise ValueError("a server secret is written as 64 hexadecimal digits")
    return value
