"""Passwords of developers: rules for length and against common passwords."""

from itertools import pairwise

from strongroom.portal.lengths import MIN_PASSWORD

MAX_BYTES = 1024

# Long enough for the rule, but common; compared without digits and signs.
_COMMON = frozenset(
    ("password", "passwordpassword", "strongroom", "strongroompassword", "qwertyuiop", "qwertyuiopasdf",
     "correcthorsebatterystaple", "letmein", "letmeinletmein", "iloveyou", "administrator", "changeme",
     "changemechangeme", "welcome", "abcdefghijkl", "asdfghjkl", "zxcvbnm")
)  # fmt: skip


def fault(password: str, email: str) -> str | None:
    """What is wrong with a new password, in a sentence for its owner; None where nothing is."""
    if len(password) < MIN_PASSWORD:
        return f"Use at least {MIN_PASSWORD} characters. A few words in a row are easy to remember."
    if len(password.encode()) > MAX_BYTES:
        return f"Use at most {MAX_BYTES} bytes."
    lowered = password.lower()
    letters = "".join(character for character in lowered if character.isalpha())
    if letters in _COMMON or len(set(lowered)) < 5 or lowered == email.lower() or _is_run(lowered):
        return "This password is too common. Use another one."
    return None


def _is_run(text: str) -> bool:
    """`123456789012`, `abcdefghijkl`: every character next to the one before it."""
    steps = {ord(after) - ord(before) for before, after in pairwise(text)}
    return steps <= {1, -9} or steps <= {-1, 9}
