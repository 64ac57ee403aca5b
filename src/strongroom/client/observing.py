"""Watching what goes over the wire: the record an observer receives, and masking for showing it to people."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

_SECRET_FIELDS: Final = frozenset(
    {"passphrase", "admission_token", "token_value", "session_authentication_string", "vault_api_admission_token"}
)
_SHOWN: Final = 48
_STARS: Final = "********"
# Tokens and secrets of the protocol carry such a prefix wherever they stand.
_TOKEN: Final = re.compile(r"\bsr[a-z]{1,3}\d?_[A-Za-z0-9_.-]{4,}")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its answer, unmasked: bodies hold secrets, so the repr leaves them out.

    Bodies that are streamed, such as pictures, are empty here.
    """

    method: str
    path: str
    credential: str | None
    """What stood in `Authorization`, in words."""
    request_body: bytes = field(repr=False)
    status: int
    response_body: bytes = field(repr=False)
    seconds: float


Observer: TypeAlias = Callable[[Exchange], None]


def mask(body: bytes) -> str:
    """A JSON body as one line for people: secret fields as stars, long values cut. Anything else as its size."""
    if not body:
        return ""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return f"({len(body)} bytes)"
    return json.dumps(_masked(value), ensure_ascii=False)


def _masked(value: Any, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _masked(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_masked(item, name) for item in value]
    if not isinstance(value, str):
        return value
    if name in _SECRET_FIELDS:
        return _STARS
    text = _TOKEN.sub(_STARS, value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(value)} characters)"
