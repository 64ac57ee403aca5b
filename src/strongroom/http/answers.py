"""What a handler gives back where the record alone does not say it all."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

import msgspec


@dataclass(frozen=True, slots=True)
class Answer:
    """A record with a status of its own, such as 200 where identical bytes were posted again."""

    body: msgspec.Struct
    status: int


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes that are not one of our records: a picture, a document."""

    data: bytes
    media_type: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Versioned:
    """A record that need not be made for a caller who holds this version of it already."""

    etag: str
    """Quoted, as in the header; another one whenever the record may be another."""
    make: Callable[[], Awaitable[msgspec.Struct]]
