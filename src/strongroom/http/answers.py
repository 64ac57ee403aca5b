"""What a handler gives back where the record alone does not say it all."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

import msgspec

Body = TypeVar("Body", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Answer(Generic[Body]):
    """A record with a status of its own, such as 200 where identical bytes were posted again."""

    body: Body
    status: int


@dataclass(frozen=True, slots=True)
class Versioned(Generic[Body]):
    """A record that need not be made for a caller who holds this version of it already."""

    etag: str
    """Quoted, as in the header; another one whenever the record may be another."""
    make: Callable[[], Awaitable[Body]]


@dataclass(frozen=True, slots=True)
class Content:
    """Bytes that are not one of our records: a page, a document."""

    data: bytes
    media_type: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stream:
    """Octets that are sent piece by piece as the caller takes them.

    The door answers `If-None-Match`, `Range` and `If-Range` where the endpoint declares them; a range needs `length`.
    """

    read: Callable[[int, int | None], AsyncGenerator[bytes, None]]
    """The octets from one offset to another, that one excluded; to the end where it is None."""
    media_type: str
    length: int | None = None
    """Bytes in all; None where only the end tells."""
    etag: str | None = None
    """Strong and quoted; another one whenever the octets are others."""
    headers: Mapping[str, str] = field(default_factory=dict)


Given: TypeAlias = msgspec.Struct | Answer[msgspec.Struct] | Versioned[msgspec.Struct] | Content | Stream | None
"""What a handler may give back."""


def stream_of(data: bytes, media_type: str, etag: str, headers: Mapping[str, str]) -> Stream:
    """A stream of bytes that are in memory already."""

    async def read(start: int, stop: int | None) -> AsyncGenerator[bytes, None]:
        yield data[start:stop]

    return Stream(read, media_type, len(data), etag, headers)
