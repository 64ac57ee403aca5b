"""PBKDF2 and HKDF-Expand, both with HMAC-SHA256: how one secret becomes another."""

import hashlib
import hmac
from typing import Final

MIN_ITERATIONS: Final = 600_000
MAX_ITERATIONS: Final = 10_000_000
"""Parameters come from another party, so the work they ask for has an upper limit."""
DEFAULT_ITERATIONS: Final = 1_000_000


def pbkdf2(passphrase: bytes, salt: bytes, iterations: int) -> bytes:
    """PBKDF2-HMAC-SHA256 with 32 bytes of output (RFC 8018 5.2); 0.4 s for 600,000 iterations, the GIL released."""
    # Imported here so that reading parameters needs no OpenSSL binding; faster than hashlib by two thirds.
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC

    return PBKDF2HMAC(algorithm=SHA256(), length=32, salt=salt, iterations=iterations).derive(passphrase)


def expand(secret: bytes, label: bytes) -> bytes:
    """HKDF-Expand-SHA256(secret, label, 32) (RFC 5869 2.3): a single block is all that 32 bytes need."""
    return hmac.digest(secret, label + b"\x01", hashlib.sha256)
