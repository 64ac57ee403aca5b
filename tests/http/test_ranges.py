"""One range of bytes: what is asked for, what is passed over, what does not exist."""

import pytest

from strongroom.http.ranges import OutsideRange, requested
from strongroom.wire.refusal import Refusal

TAG = '"abc"'


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (b"bytes=0-0", (0, 1)),
        (b"bytes=0-9", (0, 10)),
        (b"bytes=2-4", (2, 5)),
        (b"bytes=9-9", (9, 10)),
        (b"bytes=5-", (5, 10)),
        (b"bytes=5-500", (5, 10)),
        (b"bytes=-3", (7, 10)),
        (b"bytes=-500", (0, 10)),
        (b"BYTES= 1-2", (1, 3)),
    ],
)
def test_a_range_is_taken(header: bytes, expected: tuple[int, int]) -> None:
    assert requested(header, None, 10, TAG) == expected


@pytest.mark.parametrize(
    "header",
    [
        None,
        b"",
        b"bytes=",
        b"bytes=-",
        b"bytes=a-b",
        b"bytes=4-2",
        b"bytes=0-1,3-4",
        b"items=0-1",
        b"bytes=0-1x",
        b"0-1",
    ],
)
def test_what_cannot_be_read_or_is_several_is_passed_over(header: bytes | None) -> None:
    assert requested(header, None, 10, TAG) is None


@pytest.mark.parametrize(
    ("header", "length"),
    [(b"bytes=10-", 10), (b"bytes=10-12", 10), (b"bytes=-0", 10), (b"bytes=0-", 0)],
)
def test_what_does_not_exist_is_refused_with_the_length(header: bytes, length: int) -> None:
    with pytest.raises(OutsideRange) as caught:
        requested(header, None, length, TAG)
    assert caught.value.refusal is Refusal.range_not_satisfiable
    assert caught.value.length == length


@pytest.mark.parametrize("held", [b'"other"', b'W/"abc"', b"abc", b"Sun, 22 Nov 2026 00:00:00 GMT"])
def test_another_version_gets_the_whole(held: bytes) -> None:
    assert requested(b"bytes=0-1", held, 10, TAG) is None


def test_the_same_version_gets_its_range() -> None:
    assert requested(b"bytes=0-1", TAG.encode(), 10, TAG) == (0, 2)
    assert requested(b"bytes=0-1", TAG.encode(), 10, None) is None
