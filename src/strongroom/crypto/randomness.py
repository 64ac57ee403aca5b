"""The one place where random bytes enter, so that nonces and keys have one source to review."""

import os


def random_bytes(count: int) -> bytes:
    """`count` bytes from the operating system's generator, which stays distinct after a fork."""
    return os.urandom(count)
