"""Answers and bodies on a real port, judged from outside: what an application sends and receives, as bytes.

No test names anything of the server: whatever serves the small application has to pass.
"""

import contextlib
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.http.raw_sockets import Server, application, ask, connect, received, statuses, until

MEBIBYTE = 1024 * 1024


def get(path: str, *, method: str = "GET", last: bool = True) -> bytes:
    return f"{method} /{path} HTTP/1.1\r\nHost: x\r\n{'Connection: close' if last else 'X: y'}\r\n\r\n".encode()


def post(path: str, length: int, *also: str) -> bytes:
    lines = [f"POST /{path} HTTP/1.1", "Host: x", f"Content-Length: {length}", *also]
    return "\r\n".join([*lines, "", ""]).encode()


def sent_until(
    error: type[OSError], caller: socket.socket, most: int, *, pieces: int = MEBIBYTE, pause: float = 0
) -> int:
    """How many bytes could be sent before the error came; as many as `most` where it did not."""
    sent = 0
    with contextlib.suppress(error):
        while sent < most:
            sent += caller.send(bytes(pieces))
            time.sleep(pause)
    return sent


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with application(tmp_path_factory.mktemp("application"), header_seconds=1) as started:
        yield started


@pytest.fixture
def strict(tmp_path: Path) -> Iterator[Server]:
    """Who takes nothing for half a second has stalled; of an unread body a second and 4 MiB are taken."""
    limits = {"stall_seconds": 0.5, "discard_seconds": 1, "discard_bytes": 4 * MEBIBYTE, "shutdown_seconds": 3}
    with application(tmp_path, header_seconds=1, **limits) as started:
        yield started


def test_head_and_body_are_as_the_application_said(server: Server) -> None:
    head, _, body = ask(server, get("text")).partition(b"\r\n\r\n")
    status, *lines = head.split(b"\r\n")
    assert status == b"HTTP/1.1 201 Created"
    assert sorted(line.lower().partition(b":")[0] for line in lines) == [
        b"connection", b"content-length", b"date", b"x-test",
    ]  # fmt: skip
    assert body == b"{}"


def test_a_body_without_a_length_goes_in_chunks(server: Server) -> None:
    head, _, body = ask(server, get("chunks")).partition(b"\r\n\r\n")
    assert b"transfer-encoding: chunked" in head
    assert body == b"3\r\none\r\n5\r\nthree\r\n0\r\n\r\n"


def test_no_body_is_changed_however_its_head_was_cut(server: Server) -> None:
    """What looks like a header in a body is none: in it an offer of another protocol is not looked for."""
    body = b"\r\nUpgrade: 0123456789"
    head = post("echo", len(body), "Connection: close")
    for cut in range(1, 5):
        assert body in ask(server, head[:-cut], head[-cut:] + body)


def test_http_1_0_gets_one_answer(server: Server) -> None:
    head = post("count", 2, "Expect: 100-continue").replace(b"HTTP/1.1", b"HTTP/1.0")
    assert statuses(ask(server, head, b"ab")) == [200]


def test_the_answer_to_one_request_does_not_start_the_clock_of_waiting_for_the_next_that_has_begun(
    tmp_path: Path,
) -> None:
    following = post("count", 3, "Connection: close")
    with application(tmp_path, keep_alive_seconds=0.5) as patient, connect(patient) as caller:
        caller.sendall(get("wait/200/first", last=False) + following[:20])
        until(caller, b"first")
        caller.sendall(following[20:])
        time.sleep(1.2)
        caller.sendall(b"abc")
        assert until(caller, b"\r\n\r\n3").startswith(b"HTTP/1.1 200 ")


def test_a_long_body_arrives_whole(server: Server) -> None:
    assert ask(server, get("long")).partition(b"\r\n\r\n")[2] == bytes(range(256)) * 4096


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_without_a_body_has_neither_length_nor_chunks(server: Server, status: int) -> None:
    head, _, body = ask(server, get(f"status/{status}")).partition(b"\r\n\r\n")
    assert body == b""
    assert b"chunked" not in head
    assert b"content-length" not in head


@pytest.mark.parametrize("path", ["text", "stream/100000", "chunks"])
def test_head_is_answered_without_the_body(server: Server, path: str) -> None:
    answer = ask(server, get(path, method="HEAD"))
    assert answer.endswith(b"\r\n\r\n")
    assert answer.count(b"\r\n\r\n") == 1
    if path == "text":
        assert b"content-length: 2\r\n" in answer


def test_the_application_can_end_the_connection(server: Server) -> None:
    answer = ask(server, get("close", last=False) * 2)
    assert statuses(answer) == [200]
    assert answer.count(b"onnection: ") == 1


def test_http_1_0_is_answered_and_closed(server: Server) -> None:
    answer = ask(server, b"GET /wait/0/1 HTTP/1.0\r\n\r\n")
    assert b"connection: close\r\n" in answer
    assert answer.endswith(b"\r\n\r\n1")


def test_http_1_0_knows_no_chunks(server: Server) -> None:
    """RFC 9112 section 6.1: a sender must not use them unless it knows that the request was HTTP/1.1."""
    head, _, body = ask(server, b"GET /chunks HTTP/1.0\r\n\r\n").partition(b"\r\n\r\n")
    assert b"chunked" not in head
    assert body == b"onethree"


def test_requests_that_come_together_are_answered_in_their_order(server: Server) -> None:
    answers = ask(server, get("wait/50/one", last=False) + get("wait/0/two", last=False) + get("wait/0/three"))
    assert [part.rpartition(b"\r\n")[2] for part in answers.split(b"HTTP/1.1 200 OK")[1:]] == [b"one", b"two", b"three"]


def test_a_head_begun_behind_a_request_that_takes_long_is_timed_from_its_answer(server: Server) -> None:
    assert statuses(ask(server, get("wait/1500/", last=False) + b"GET /text HTTP/1.1\r\nHost")) == [200, 408]


@pytest.mark.parametrize("wrong", ["line-end", "name", "longer", "shorter"])
def test_a_wrong_answer_ends_the_connection(server: Server, wrong: str) -> None:
    answer = ask(server, get(f"wrong/{wrong}", last=False))
    assert b"set-cookie" not in answer
    assert b"too long" not in answer
    assert b"x y" not in answer


def test_messages_out_of_order_are_refused(server: Server) -> None:
    assert ask(server, get("order")).endswith(b"\r\n\r\n2")


def test_an_application_that_fails_is_answered_500_without_a_word_of_why(server: Server) -> None:
    answer = ask(server, get("fail", last=False))
    assert statuses(answer) == [500]
    assert b"correct horse" not in answer
    assert "correct horse" not in server.log.read_text()


def test_who_waits_for_a_sign_to_send_gets_it_when_the_body_is_asked_for(server: Server) -> None:
    with connect(server) as caller:
        caller.sendall(post("count", 4, "Expect: 100-continue", "Connection: close"))
        assert until(caller, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        caller.sendall(b"body")
        assert b"".join(received(caller)).endswith(b"\r\n\r\n4")
    # And not where the answer does not depend on it, or where the body is there.
    assert statuses(ask(server, post("refuse/401", 4, "Expect: 100-continue"))) == [401]


def test_a_trailer_may_be_as_long_as_a_head(server: Server) -> None:
    start = (
        b"POST /count HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"2;name=value\r\nab\r\n0\r\n"
    )
    third = b"".join(b"X-%d: %b\r\n" % (number, b"y" * 490) for number in range(10))
    assert ask(server, start, third, third, b"\r\n").endswith(b"\r\n\r\n2")
    assert statuses(ask(server, start, third, third, third, third, b"\r\n")) == [431]


@pytest.mark.parametrize("start", [b"0\r\nX: ", b"1;x="])
def test_what_stands_beside_chunks_has_an_end(server: Server, start: bytes) -> None:
    """What is no body would otherwise be kept by the parser, however long it is."""
    head = b"POST /count HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert statuses(ask(server, head + start + b"y" * MEBIBYTE)) == [431]


def test_a_body_in_chunks_of_one_byte_arrives(server: Server) -> None:
    before = server.memory()
    head = b"POST /count/500 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert ask(server, head + b"1\r\na\r\n" * 500_000 + b"0\r\n\r\n").endswith(b"\r\n\r\n500000")
    assert server.memory() - before < 16 * MEBIBYTE


# What is sent to an endpoint that does not want it.


def test_a_caller_who_sends_everything_first_reads_the_refusal(server: Server) -> None:
    """20 MiB to an endpoint that takes 64 KiB. Closing on unread bytes would reset the connection under the answer."""
    for path in ("limit", "refuse/413"):
        for _ in range(3):
            with connect(server) as caller:
                caller.sendall(post(path, 20 * MEBIBYTE) + bytes(20 * MEBIBYTE))
                answer = b"".join(iter(lambda: caller.recv(65536), b""))  # no error in between
                assert statuses(answer) == [413]
                assert answer.endswith(b"\r\n\r\nno")


def test_who_reads_first_reads_it_at_once(server: Server) -> None:
    with connect(server) as caller:
        caller.sendall(post("refuse/413", MEBIBYTE) + b"x")
        began = time.monotonic()
        assert statuses(b"".join(received(caller))) == [413]
        assert time.monotonic() - began < 1


def test_what_cannot_be_read_is_answered_under_a_caller_who_still_sends(server: Server) -> None:
    with connect(server) as caller:
        caller.sendall(b"NONSENSE\r\n" + bytes(8 * MEBIBYTE))
        assert statuses(b"".join(iter(lambda: caller.recv(65536), b""))) == [400]


@pytest.mark.parametrize("path", ["refuse/413", "refuse/401/open"])
def test_an_endless_sender_is_cut_off_by_bytes(strict: Server, path: str) -> None:
    with connect(strict) as caller:
        caller.sendall(post(path, 10**12))
        sent = sent_until(ConnectionError, caller, 1000 * MEBIBYTE)
    assert sent < 64 * MEBIBYTE  # the bound, and what the system keeps on its way


@pytest.mark.parametrize("path", ["refuse/413", "refuse/401/open"])
def test_a_slow_sender_is_cut_off_by_time(strict: Server, path: str) -> None:
    began = time.monotonic()
    with connect(strict) as caller:
        caller.sendall(post(path, 10**12))
        assert sent_until(ConnectionError, caller, 200, pieces=1, pause=0.05) < 60
    assert 0.9 < time.monotonic() - began < 3


# Streams.


def test_a_body_nobody_asks_for_is_not_taken(server: Server) -> None:
    """Back-pressure: the sender can give no more than the connection keeps on the way."""
    before = server.memory()
    with connect(server) as caller:
        caller.settimeout(0.3)
        caller.sendall(post("count/2000", 256 * MEBIBYTE))
        sent = sent_until(TimeoutError, caller, 256 * MEBIBYTE)
        assert sent < 32 * MEBIBYTE
        assert server.memory() - before < 16 * MEBIBYTE
        caller.settimeout(20)
        while sent < 256 * MEBIBYTE:
            sent += caller.send(bytes(min(MEBIBYTE, 256 * MEBIBYTE - sent)))
        assert until(caller, b"268435456")


def test_an_answer_that_is_not_taken_is_not_made(server: Server) -> None:
    before = server.memory()
    with connect(server) as caller:
        caller.sendall(get("stream/1000000000"))
        time.sleep(1)
        assert server.memory() - before < 16 * MEBIBYTE


def test_an_answer_that_stands_still_ends_the_connection(strict: Server) -> None:
    with socket.socket() as caller:
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        caller.settimeout(10)
        caller.connect(("127.0.0.1", strict.port))
        caller.sendall(get("stream/100000000"))
        time.sleep(2.5)
        assert sum(map(len, received(caller))) < 100_000_000


@pytest.mark.parametrize("behind", [b"", b"GET /text HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_an_answer_whose_caller_has_gone_is_not_made_to_its_end(strict: Server, behind: bytes) -> None:
    with connect(strict) as caller:
        caller.sendall(get("stream/1000000000000000", last=False) + behind)
        caller.recv(65536)
    assert statuses(ask(strict, get("text"))) == [201]
    strict.process.send_signal(signal.SIGTERM)
    assert strict.process.wait(2) == 0
    assert strict.log.read_text() == ""


def test_an_answer_that_is_taken_slowly_arrives(strict: Server) -> None:
    """For several times as long as nothing may be taken."""
    size = 20 * MEBIBYTE
    with connect(strict) as caller:
        caller.sendall(get(f"stream/{size}"))
        taken, began = 0, time.monotonic()
        while data := caller.recv(256 * 1024):
            taken += len(data)
            time.sleep(0.03)
        assert taken > size
        assert time.monotonic() - began > 1.5


def test_pieces_arrive_as_they_are_sent(server: Server) -> None:
    """Both ways at once, and long before the whole body is there."""
    with connect(server) as caller:
        caller.sendall(post("echo", 10, "Connection: close") + b"first")
        assert until(caller, b"5\r\nfirst\r\n")
        caller.sendall(b"other")
        assert b"".join(received(caller)) == b"5\r\nother\r\n0\r\n\r\n"


@pytest.mark.slow
@pytest.mark.parametrize("way", ["up", "up in chunks", "down", "down in chunks"])
def test_a_gibibyte_goes_through_in_constant_memory(server: Server, way: str) -> None:
    size = 1024 * MEBIBYTE
    before, most = server.memory(), 0
    over = threading.Event()

    def watch() -> None:
        nonlocal most
        while not over.wait(0.02):
            most = max(most, server.memory())

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        with connect(server) as caller:
            taken = 0
            match way:
                case "up":
                    caller.sendall(post("count", size, "Connection: close"))
                    for _ in range(1024):
                        caller.sendall(bytes(MEBIBYTE))
                    assert b"".join(received(caller)).endswith(b"\r\n\r\n%d" % size)
                case "up in chunks":
                    head = b"POST /count HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
                    caller.sendall(head)
                    for _ in range(1024):
                        caller.sendall(b"100000\r\n" + bytes(MEBIBYTE) + b"\r\n")
                    caller.sendall(b"0\r\n\r\n")
                    assert b"".join(received(caller)).endswith(b"\r\n\r\n%d" % size)
                case _:
                    caller.sendall(get(f"stream/{size}" + ("/chunked" if "chunks" in way else "")))
                    taken = sum(map(len, received(caller)))
                    assert size < taken < size * 1.01
    finally:
        over.set()
        watching.join()
    assert most - before < 64 * MEBIBYTE


def test_what_is_under_way_is_finished_when_it_stops_and_no_more_is_taken(strict: Server) -> None:
    with connect(strict) as caller, connect(strict) as other:
        caller.sendall(get("wait/1000/done", last=False))
        time.sleep(0.2)
        strict.process.send_signal(signal.SIGTERM)
        answer = b"".join(received(caller))
        assert answer.endswith(b"\r\n\r\ndone")
        assert b"connection: close" in answer
        assert b"".join(received(other)) == b""
    assert strict.process.wait(5) == 0


def test_a_second_signal_ends_the_waiting(strict: Server) -> None:
    with connect(strict) as caller:
        caller.sendall(get("wait/60000/never"))
        time.sleep(0.2)
        for _ in range(2):
            strict.process.send_signal(signal.SIGINT)
            time.sleep(0.2)
        assert strict.process.wait(2) == 0


def test_what_takes_longer_than_there_is_to_stop_is_given_up(strict: Server) -> None:
    with connect(strict) as caller:
        caller.sendall(get("wait/60000/never"))
        time.sleep(0.2)
        began = time.monotonic()
        strict.process.send_signal(signal.SIGTERM)
        assert statuses(b"".join(received(caller))) in ([], [500], [503])
        assert strict.process.wait(5) == 0
        assert 2 < time.monotonic() - began < 5
