"""Slow hashing of the `passphrase` field, in a bounded pool off the event loop."""

import asyncio
import hashlib
import hmac
import os
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from functools import partial
from typing import TypeVar

from strongroom.crypto.grammar import login_secret_class
from strongroom.runtime.secret import ServerSecret
from strongroom.wire.refusal import Refusal, Refused

T = TypeVar("T")

QUEUE_LIMIT = 64
_LABEL = "passphrase-pepper"


class CostClass(Enum):
    """The class of the field decides the cost, for known and unknown users alike: memory in KiB, passes, lanes."""

    raw = (64 * 1024, 3, 4)
    """A passphrase: worth guessing, so it costs what RFC 9106 recommends for constrained memory."""
    derived = (19 * 1024, 2, 1)
    """A login secret: 256 bits cannot be guessed, and a higher cost would only help to exhaust the server."""


def cost_class(field: str) -> CostClass:
    return CostClass.raw if login_secret_class(field) is None else CostClass.derived


class PassphraseHasher:
    """Argon2id over an HMAC of the field under a pepper that no database holds.

    Beyond the queue the answer is `unavailable`: memory stays bounded under any load.
    """

    def __init__(self, secret: ServerSecret, workers: int = 0, queue: int = QUEUE_LIMIT) -> None:
        """`workers` hash at the same time (0: one for each core), `queue` more requests may wait."""
        self._secret = secret
        self._workers = workers or os.cpu_count() or 1
        self._queue = queue
        self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="argon2")
        self._pending = 0
        self._dummies: dict[CostClass, str] = {}

    async def hash(self, field: str) -> str:
        """A PHC string with the pepper's key id in front: `<id>$argon2id$...`."""
        return await self._slowly(partial(self._hash, field))

    async def verify(self, field: str, stored: str | None) -> bool:
        """Whether `field` is what was hashed. None, or a hash of the other class, costs the same and is false."""
        return await self._slowly(partial(self._verify, field, stored))

    def is_stale(self, stored: str) -> bool:
        """Whether a hash was made under an earlier pepper or cost and should be made again at this login."""
        key_id, _, _ = stored.partition("$")
        return int(key_id) != self._secret.current_id or _class_of(stored) is None

    async def warm(self) -> None:
        """Make the hashes that unknown names are checked against, before the first login needs them."""
        for kind in CostClass:
            await self._slowly(partial(self._dummy, kind))

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)

    async def _slowly(self, work: Callable[[], T]) -> T:
        if self._pending >= self._queue + self._workers:
            raise Refused(Refusal.unavailable, retry_after=2)
        self._pending += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        finally:
            self._pending -= 1

    def _hash(self, field: str) -> str:
        return self._hash_as(cost_class(field), self._peppered(field, self._secret.current_id))

    def _hash_as(self, kind: CostClass, peppered: bytes) -> str:
        from argon2.low_level import Type, hash_secret

        memory, passes, lanes = kind.value
        phc = hash_secret(peppered, secrets.token_bytes(16), passes, memory, lanes, 32, Type.ID)
        return f"{self._secret.current_id}{phc.decode()}"

    def _verify(self, field: str, stored: str | None) -> bool:
        from argon2.exceptions import VerifyMismatchError
        from argon2.low_level import Type, verify_secret

        kind = cost_class(field)
        # Hash even when there is nothing to compare with: the response time must not show who has an account.
        usable = stored is not None and _class_of(stored) is kind
        known = stored if stored is not None and usable else self._dummy(kind)
        key_id, _, phc = known.partition("$")
        try:
            verify_secret(f"${phc}".encode(), self._peppered(field, int(key_id)), Type.ID)
        except VerifyMismatchError:
            return False
        return usable

    def _dummy(self, kind: CostClass) -> str:
        if kind not in self._dummies:
            self._dummies[kind] = self._hash_as(kind, secrets.token_bytes(32))
        return self._dummies[kind]

    def _peppered(self, field: str, key_id: int) -> bytes:
        pepper = self._secret.key(_LABEL, key_id)
        if pepper is None:
            # The secret that made this hash is no longer configured: nothing can match, at the same cost.
            pepper = secrets.token_bytes(32)
        return hmac.digest(pepper, field.encode(), hashlib.sha256)


def _class_of(stored: str) -> CostClass | None:
    for kind in CostClass:
        memory, passes, lanes = kind.value
        if f"$m={memory},t={passes},p={lanes}$" in stored:
            return kind
    return None
