"""What a handler gives back where the record alone does not say it all."""

from collections.abc import Mapping
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
