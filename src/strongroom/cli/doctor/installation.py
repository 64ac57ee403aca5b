"""Can this installation do its work: versions, randomness, key derivation, encryption, clock."""

import platform
import secrets
import sqlite3
import sys
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.util import find_spec

from strongroom.cli.doctor.finding import Finding, Verdict, attempt, judge
from strongroom.version import __version__

_PYTHON = (3, 11)
_SQLITE = (3, 38)
_OPENSSL = 3
# A clock before the year this was written is one that was never set.
_EARLIEST_YEAR = 2025
_LATEST_YEAR = 2100
_SERVER_MODULES = ("argon2", "httptools", "PIL")


def findings() -> Iterable[Finding]:
    yield Finding("strongroom", Verdict.ok, __version__)
    yield judge("python", sys.version_info >= _PYTHON, platform.python_version(), "3.11 or newer is needed")
    yield judge("sqlite", sqlite3.sqlite_version_info >= _SQLITE, sqlite3.sqlite_version, "3.38 or newer is needed")
    yield _openssl()
    yield attempt("key derivation", _derive)
    yield attempt("encryption", _encrypt)
    yield _clock()
    missing = [name for name in _SERVER_MODULES if find_spec(name) is None]
    yield judge(
        "server extra",
        not missing,
        f"{', '.join(missing)} not installed" if missing else "installed",
        "the service needs pip install 'strongroom[server]'; the client does not",
        otherwise=Verdict.skipped,
    )


def _openssl() -> Finding:
    from cryptography.hazmat.backends.openssl import backend

    number = backend.openssl_version_number() >> 28
    return judge("openssl", number >= _OPENSSL, backend.openssl_version_text(), "3.0 or newer is needed")


def _derive() -> str:
    from strongroom.crypto.derivation import DerivationArtefacts, derive
    from strongroom.crypto.key_stretching import MIN_ITERATIONS

    started = time.perf_counter()
    derive(secrets.token_bytes(16), DerivationArtefacts.generate(MIN_ITERATIONS))
    return f"{MIN_ITERATIONS} iterations in {(time.perf_counter() - started) * 1000:.0f} ms"


def _encrypt() -> str:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    key, nonce, data = AESGCM.generate_key(256), secrets.token_bytes(12), secrets.token_bytes(64)
    cipher = AESGCM(key)
    if cipher.decrypt(nonce, cipher.encrypt(nonce, data, b"none"), b"none") != data:
        raise ValueError("what was decrypted is not what was encrypted")
    return "AES-256-GCM encrypts and decrypts"


def _clock() -> Finding:
    now = datetime.now(UTC)
    sane = _EARLIEST_YEAR <= now.year <= _LATEST_YEAR
    return judge("clock", sane, now.isoformat(timespec="seconds"), "set the clock: sessions and tokens depend on it")
