"""Octets both ways through the door: limits, digests, deadlines, ranges, and memory that does not grow."""

import asyncio
import base64
import hashlib
import os
import resource
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from pathlib import Path
from typing import Annotated, Any

import httpx
import msgspec
import pytest
from msgspec import Meta

from strongroom.http import octets
from strongroom.http.answers import Stream, stream_of
from strongroom.http.call import Call, WithBody, WithPath
from strongroom.http.door import Door, _send
from strongroom.http.octets import spooled
from strongroom.http.responses import Piece
from strongroom.http.routing import routes
from strongroom.runtime.principals import Subscription
from strongroom.wire.endpoint import Condition, Endpoint, NoQuery, Open, named
from strongroom.wire.octets import Octets
from strongroom.wire.refusal import Refusal, Refused

pytestmark = pytest.mark.anyio
MIB = 1024 * 1024
GIB = 1024 * MIB
SMALL = bytes(range(256)) * 4
TAG = '"' + hashlib.sha256(SMALL).hexdigest() + '"'
_OPEN = Open(because="this is a test of streams")


class Seen(msgspec.Struct, frozen=True):
    size: int
    sha256: str
    announced: int | None
    if_match: str | None = None


class PartPath(msgspec.Struct, frozen=True):
    name: str
    index: Annotated[int, Meta(ge=0)]


class NamePath(msgspec.Struct, frozen=True):
    name: str


PUT_PART = Endpoint(
    method="PUT",
    path="/parts/{name}/{index}",
    summary="",
    credential=_OPEN,
    subscription_key=False,
    parameters=PartPath,
    body=Octets,
    body_limit=2 * GIB,
    answer=Seen,
    conditions=(Condition.if_match, Condition.content_digest),
    needed=(Condition.if_match,),
)
SPOOL = Endpoint(
    method="POST",
    path="/spool",
    summary="",
    credential=_OPEN,
    subscription_key=False,
    body=Octets,
    answer=Seen,
    body_limit=4 * MIB,
)
READ_SMALL = Endpoint(
    method="GET",
    path="/small/{name}",
    summary="",
    credential=_OPEN,
    subscription_key=False,
    parameters=NamePath,
    answer=Octets,
    media_types=("application/octet-stream",),
    status=200,
    conditions=(Condition.if_none_match, Condition.range),
    cacheable=True,
)
READ_LARGE = Endpoint(
    method="GET",
    path="/large",
    summary="",
    credential=_OPEN,
    subscription_key=False,
    answer=Octets,
    status=200,
    media_types=("application/octet-stream",),
    conditions=(Condition.range,),
)
READ_BROKEN = Endpoint(
    method="GET",
    path="/broken",
    summary="",
    credential=_OPEN,
    subscription_key=False,
    answer=Octets,
    status=200,
    media_types=("application/octet-stream",),
)
ENDPOINTS = named(globals())


async def seen(body: Octets, if_match: str | None = None) -> Seen:
    digest, size = hashlib.sha256(), 0
    async for piece in body:
        digest.update(piece)
        size += len(piece)
    return Seen(size, digest.hexdigest(), body.length, if_match)


class Api:
    """Takes and gives octets; what it is given stays nowhere."""

    def __init__(self) -> None:
        self.closed = 0

    async def put_part(self, call: Call[None, PartPath, NoQuery, Octets]) -> Seen:
        return await seen(call.body, call.if_match)

    async def spool(self, call: WithBody[None, Octets]) -> Seen:
        async with spooled(call.body) as file:
            data = await asyncio.to_thread(file.read)
        return Seen(len(data), hashlib.sha256(data).hexdigest(), call.body.length)

    async def read_small(self, call: WithPath[None, NamePath]) -> Stream:
        return stream_of(SMALL, "application/octet-stream", TAG, {"X-Name": call.path.name})

    async def read_large(self, call: Call[None]) -> Stream:
        async def read(start: int, stop: int | None) -> AsyncGenerator[bytes, None]:
            try:
                piece = bytes(256 * 1024)
                for at in range(start, stop or GIB, len(piece)):
                    yield piece[: (stop or GIB) - at]
            finally:
                self.closed += 1

        return Stream(read, "application/octet-stream", GIB)

    async def read_broken(self, call: Call[None]) -> Stream:
        async def read(start: int, stop: int | None) -> AsyncGenerator[bytes, None]:
            yield b"half"
            raise OSError("the disk is gone")

        return Stream(read, "application/octet-stream", 8)


@pytest.fixture
def door() -> Door:
    async def nobody(key: str) -> Subscription:
        raise AssertionError

    return Door(
        routes(ENDPOINTS, Api()),
        authenticate_subscription=nobody,
        authenticate={},
        public_url="http://h",
        body_timeout=0.2,
    )


@pytest.fixture
async def http(door: Door) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(door), base_url="http://h") as client:
        yield client


def headers(**more: str) -> dict[str, str]:
    found = {"Content-Type": "application/octet-stream", "If-Match": '"3"'}
    return found | {name.replace("_", "-"): value for name, value in more.items()}


def digest_of(data: bytes) -> str:
    return f"sha-256=:{base64.b64encode(hashlib.sha256(data).digest()).decode()}:"


async def test_two_path_parameters_a_precondition_and_a_stream_arrive_typed(http: httpx.AsyncClient) -> None:
    answer = await http.put("/parts/a%2Fb/7", content=SMALL, headers=headers(Content_Digest=digest_of(SMALL)))
    assert answer.status_code == 201
    assert answer.json() == {
        "size": len(SMALL),
        "sha256": hashlib.sha256(SMALL).hexdigest(),
        "announced": len(SMALL),
        "if_match": "3",
    }


@pytest.mark.parametrize(
    ("sent", "refusal"),
    [
        ({"If_Match": ""}, Refusal.malformed_request),
        ({"If_Match": "3"}, Refusal.malformed_request),
        ({"If_Match": '"3", "4"'}, Refusal.malformed_request),
        ({"If_Match": 'W/"3"'}, Refusal.malformed_request),
        ({"If_Match": "*"}, Refusal.malformed_request),
        ({"Content_Digest": "md5=:AAAA:"}, Refusal.malformed_request),
        ({"Content_Digest": digest_of(b"something else")}, Refusal.digest_mismatch),
        ({"Content_Digest": f"{digest_of(SMALL)}, {digest_of(b'other')}"}, Refusal.malformed_request),
        ({"Content_Digest": f"{digest_of(SMALL)},{digest_of(SMALL)}"}, Refusal.malformed_request),
        ({"Content_Type": "application/json"}, Refusal.unsupported_media_type),
        ({"Content_Encoding": "gzip"}, Refusal.unsupported_media_type),
    ],
)
async def test_headers_that_say_something_else_are_refused(
    http: httpx.AsyncClient, sent: dict[str, str], refusal: Refusal
) -> None:
    answer = await http.put("/parts/a/1", content=SMALL, headers=headers(**sent))
    assert (answer.status_code, answer.json()["code"]) == (refusal.status, refusal.code)


async def test_a_condition_that_is_needed_is_asked_for(http: httpx.AsyncClient) -> None:
    answer = await http.put("/parts/a/1", content=SMALL, headers={"Content-Type": "application/octet-stream"})
    assert (answer.status_code, answer.json()["code"]) == (428, "precondition_required")
    assert answer.json()["detail"] == "Send If-Match."


async def test_a_parameter_of_another_type_is_not_found(http: httpx.AsyncClient) -> None:
    assert (await http.put("/parts/a/x", content=SMALL, headers=headers())).status_code == 404
    assert (await http.put("/parts/a/-1", content=SMALL, headers=headers())).status_code == 404


async def test_a_body_over_the_limit_is_refused_announced_or_not(http: httpx.AsyncClient) -> None:
    sent = {"Content-Type": "application/octet-stream"}
    assert (await http.post("/spool", content=bytes(4 * MIB + 1), headers=sent)).status_code == 413

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(5):
            yield bytes(MIB)

    assert (await http.post("/spool", content=pieces(), headers=sent)).status_code == 413


@pytest.mark.parametrize("size", [0, 1, octets.MAX_IN_MEMORY, octets.MAX_IN_MEMORY + 1, 3 * MIB])
async def test_a_spooled_body_is_what_was_sent(http: httpx.AsyncClient, size: int) -> None:
    data = os.urandom(size)
    answer = await http.post("/spool", content=data, headers={"Content-Type": "application/octet-stream"})
    assert answer.json()["sha256"] == hashlib.sha256(data).hexdigest()


def open_files_below(folder: Path) -> list[Path]:
    return [path for link in Path("/proc/self/fd").iterdir() if (path := link.resolve()).is_relative_to(folder)]


async def test_a_large_spooled_body_has_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    async def pieces() -> AsyncIterator[bytes]:
        yield bytes(MIB)

    async with spooled(Octets(pieces())) as file:
        assert list(tmp_path.iterdir()) == []  # noqa: ASYNC240  # a folder of this test
        assert len(open_files_below(tmp_path)) == 1
        assert len(file.read()) == MIB
    assert open_files_below(tmp_path) == []


async def receive_slowly(pieces: Iterable[tuple[float, bytes]]) -> AsyncIterator[dict[str, Any]]:
    for seconds, piece in pieces:
        await asyncio.sleep(seconds)
        yield {"type": "http.request", "body": piece, "more_body": True}
    yield {"type": "http.request", "body": b"", "more_body": False}


async def took(pieces: Iterable[tuple[float, bytes]], seconds: float = 0.2) -> int:
    messages = receive_slowly(pieces)
    body = octets.received(messages.__anext__, GIB, seconds, None)
    return sum([len(piece) async for piece in body])


async def test_a_slow_body_that_keeps_its_rate_is_taken_longer_than_the_deadline() -> None:
    least = int(0.2 * octets.LEAST_BYTES_PER_SECOND) + 1
    assert await took([(0.1, bytes(least))] * 4) == 4 * least


async def test_a_body_below_the_least_rate_is_refused() -> None:
    with pytest.raises(Refused) as caught:
        await took([(0.06, b"x")] * 8)
    assert caught.value.refusal is Refusal.request_timeout


async def test_time_in_which_nobody_asks_does_not_count() -> None:
    messages, size = receive_slowly([(0.0, b"x")] * 4), 0
    async for piece in octets.received(messages.__anext__, GIB, 0.2, None):
        size += len(piece)
        await asyncio.sleep(0.1)  # a disk that is slower than the network
    assert size == 4


async def test_a_caller_who_hangs_up_ends_the_body() -> None:
    async def gone() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    with pytest.raises(octets.ClientGone):
        await anext(octets.received(gone, GIB, 1.0, None))


async def test_the_whole_a_range_and_what_is_held(http: httpx.AsyncClient) -> None:
    whole = await http.get("/small/x")
    assert (whole.status_code, whole.content, whole.headers["etag"]) == (200, SMALL, TAG)
    assert whole.headers["accept-ranges"] == "bytes"
    assert (await http.get("/small/x", headers={"If-None-Match": TAG})).status_code == 304
    part = await http.get("/small/x", headers={"Range": "bytes=10-19"})
    assert (part.status_code, part.content, part.headers["content-length"]) == (206, SMALL[10:20], "10")
    assert part.headers["content-range"] == f"bytes 10-19/{len(SMALL)}"
    same = await http.get("/small/x", headers={"Range": "bytes=-4", "If-Range": TAG})
    assert (same.status_code, same.content) == (206, SMALL[-4:])
    other = await http.get("/small/x", headers={"Range": "bytes=-4", "If-Range": '"other"'})
    assert (other.status_code, other.content) == (200, SMALL)
    outside = await http.get("/small/x", headers={"Range": f"bytes={len(SMALL)}-"})
    assert (outside.status_code, outside.json()["code"]) == (416, "range_not_satisfiable")
    assert outside.headers["content-range"] == f"bytes */{len(SMALL)}"


async def test_head_says_what_get_would_and_sends_nothing(http: httpx.AsyncClient) -> None:
    for path in ("/small/x", "/large"):
        answer = await http.head(path, headers={"Range": "bytes=0-1"})
        assert (answer.status_code, answer.content) == (200, b"")
        assert answer.headers["content-length"] == str(len(SMALL) if path == "/small/x" else GIB)


async def test_a_stream_that_breaks_off_does_not_pass_for_the_whole(door: Door) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError

    scope = {"type": "http", "method": "GET", "raw_path": b"/broken", "query_string": b"", "headers": []}
    with pytest.raises(OSError, match="disk"):
        await door(scope, receive, send)
    assert [m.get("more_body") for m in sent if m["type"] == "http.response.body"] == [True]


async def test_a_source_that_is_reset_is_no_caller_who_hangs_up() -> None:
    async def broken(start: int, stop: int | None) -> AsyncGenerator[bytes, None]:
        yield b"x"
        raise ConnectionResetError

    async def taken(message: Any) -> None: ...

    async def hung_up(message: Any) -> None:
        if message.get("more_body"):
            raise ConnectionResetError

    piece = Piece(Stream(broken, "application/octet-stream"), 0, None)
    with pytest.raises(ConnectionResetError):
        await _send(taken, 200, [], piece, is_head=False)
    with pytest.raises(octets.ClientGone):
        await _send(hung_up, 200, [], piece, is_head=False)


async def test_a_gibibyte_each_way_takes_no_memory(door: Door) -> None:
    piece = os.urandom(256 * 1024)
    left = GIB // len(piece)

    async def receive() -> Any:
        nonlocal left
        left -= 1
        return {"type": "http.request", "body": piece, "more_body": left > 0}

    answered: list[Any] = []
    size = 0

    async def send(message: Any) -> None:
        nonlocal size
        if message["type"] == "http.response.body":
            size += len(message["body"])
        if len(answered) < 3:
            answered.append(message)

    def scope(method: str, path: bytes) -> dict[str, Any]:
        sent = [(b"content-type", b"application/octet-stream"), (b"if-match", b'"1"')]
        return {"type": "http", "method": method, "raw_path": path, "query_string": b"", "headers": sent}

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    await door(scope("PUT", b"/parts/a/1"), receive, send)
    assert msgspec.json.decode(answered[1]["body"])["size"] == GIB
    answered.clear()
    size = 0
    await door(scope("GET", b"/large"), receive, send)
    assert (answered[0]["status"], size) == (200, GIB)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 32 * 1024  # KiB
