"""(e) The client's cryptography against the bare library call that does the same work."""

import os
import time
from collections.abc import Callable
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC

from strongroom.crypto.derivation import DerivationArtefacts, derive
from strongroom.crypto.keys import DataEncryptionKey, KeyEncryptionKey
from strongroom.crypto.rsa4096 import PrivateKey

ITERATIONS = 600_000
ACCOUNT = "A" * 22
SIZES = {"1 KiB": 1024, "1 MiB": 1024**2, "64 MiB": 64 * 1024**2}


def run(*, full: bool = False) -> list[dict[str, Any]]:
    rows = [_derive(), _generate(15 if full else 1), *_wrap()]
    return rows + [row for name, size in SIZES.items() for row in _seal(name, size)]


def _derive() -> dict[str, Any]:
    artefacts = DerivationArtefacts.generate(ITERATIONS)

    def bare() -> None:
        PBKDF2HMAC(hashes.SHA256(), 32, bytes(32), ITERATIONS).derive(b"correct horse")

    return _row(f"derive, {ITERATIONS:,} iterations", lambda: derive(b"correct horse", artefacts), bare, 1)


def _generate(times: int) -> dict[str, Any]:
    # How long the search for primes takes is chance: the two say little about each other, and both are shown.
    return _row("generate RSA 4096", PrivateKey.generate, lambda: rsa.generate_private_key(65537, 4096), times, 1)


def _wrap() -> list[dict[str, Any]]:
    kek, dek, key, nonce = KeyEncryptionKey.generate(), DataEncryptionKey.generate("notes"), os.urandom(32), bytes(12)
    wrapped = kek.wrap_data_encryption_key(dek, ACCOUNT)
    sealed = AESGCM(key).encrypt(nonce, bytes(32), b"")
    return [
        _row("wrap a key", lambda: kek.wrap_data_encryption_key(dek, ACCOUNT), lambda: _encrypt(key, bytes(32)), 2_000),
        _row(
            "unwrap a key",
            lambda: kek.unwrap_data_encryption_key(wrapped, ACCOUNT),
            lambda: AESGCM(key).decrypt(nonce, sealed, b""),
            2_000,
        ),
    ]


def _seal(name: str, size: int) -> list[dict[str, Any]]:
    dek, key, data = DataEncryptionKey.generate("notes"), os.urandom(32), os.urandom(size)
    limit = 2 * size + 64 * 1024
    sealed = dek.seal(data, ACCOUNT, "bench")
    bare = AESGCM(key).encrypt(bytes(12), data, b"")
    times = max(2, min(2_000, 64 * 1024**2 // size))
    return [
        _row(f"encrypt {name}", lambda: dek.seal(data, ACCOUNT, "bench"), lambda: _encrypt(key, data), times),
        _row(
            f"decrypt {name}",
            lambda: dek.open(sealed, ACCOUNT, "bench", limit=limit),
            lambda: AESGCM(key).decrypt(bytes(12), bare, b""),
            times,
        ),
    ]


def _encrypt(key: bytes, data: bytes) -> bytes:
    return AESGCM(key).encrypt(os.urandom(12), data, b"")


def _row(
    name: str, ours: Callable[[], object], bare: Callable[[], object], times: int, rounds: int = 3
) -> dict[str, Any]:
    taken: dict[str, list[float]] = {"ours": [], "bare": []}
    for _ in range(rounds):
        for which, work in (("ours", ours), ("bare", bare)):
            started = time.perf_counter()
            for _ in range(times):
                work()
            taken[which].append((time.perf_counter() - started) / times * 1e6)
    best = {which: min(values) for which, values in taken.items()}
    return {
        "question": "client",
        "plan": name,
        "cpu_ratio": round(best["bare"] / best["ours"], 3),
        "first": {"us": round(best["ours"], 1)},
        "second": {"us": round(best["bare"], 1)},
    }
