"""One range of bytes, as RFC 9110 section 14 has it."""

import re
from typing import Final

from strongroom.wire.refusal import Refusal, Refused

_ONE: Final = re.compile(rb"bytes=[ \t]*(?:([0-9]{1,18})-([0-9]{1,18})?|-([0-9]{1,18}))[ \t]*\Z", re.IGNORECASE)


class OutsideRange(Refused):
    """`range_not_satisfiable`, with the length that there is."""

    def __init__(self, length: int) -> None:
        super().__init__(Refusal.range_not_satisfiable)
        self.length = length


def requested(header: bytes | None, if_range: bytes | None, length: int, etag: str | None) -> tuple[int, int] | None:
    """First byte and the one behind the last; None where the whole is the answer.

    A range that cannot be read, or one of several, may be passed over (section 14.2), and so is one whose `If-Range`
    is not exactly the entity tag. `OutsideRange` where nothing of the range exists.
    """
    if header is None or (match := _ONE.match(header)) is None:
        return None
    if if_range is not None and (etag is None or if_range != etag.encode()):
        return None
    first, last, suffix = match.groups()
    if suffix is not None:
        start, stop = max(length - int(suffix), 0), length
    else:
        start, stop = int(first), length if last is None else min(int(last) + 1, length)
        if last is not None and int(last) < start:
            return None
    if start >= stop:
        raise OutsideRange(length)
    return start, stop
