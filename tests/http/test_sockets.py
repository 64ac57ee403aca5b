"""The service on a real port, judged from outside: heads, framing, deadlines, caps, and how it ends.

No test names anything of the server: whatever is started has to pass.
"""

import contextlib
import json
import resource
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.http.raw_sockets import (
    HEALTH,
    LAST_HEALTH,
    Server,
    ask,
    close_all,
    code,
    connect,
    received,
    service,
    statuses,
    until,
)

MOST_HEAD_BYTES = 16 * 1024
MOST_HEADERS = 100
MOST_PIPELINED = 32
REFUSED = b"POST /keystore/session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
OFFER = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAA\r\n"


def descriptors(server: Server) -> int:
    return len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with service(tmp_path_factory.mktemp("service"), header_timeout=1, body_timeout=1) as started:
        yield started


def test_a_plain_request_is_answered(server: Server) -> None:
    answer = ask(server, LAST_HEALTH)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.endswith(b'{"status":"ok"}')
    assert b"server:" not in answer.lower()
    assert b"\r\ndate: " in answer.lower()


@pytest.mark.parametrize(
    "sent",
    [
        b"NONSENSE\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length : 1\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: a\x00b\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHo st: x\r\n\r\n",
        b"GET http://x HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /healthz\r\nHost: x\r\n\r\n",
        b"GET /healthz HTTP/0.9\r\nHost: x\r\n\r\n",
        b"GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /healthz#/../x HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: a\rb\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\nX: a\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n\n",
        b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551616\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1_0\r\n\r\n",
    ],
)
def test_what_is_no_http_is_answered_400_and_closed(server: Server, sent: bytes) -> None:
    answer = ask(server, sent)
    assert statuses(answer) == [400]
    assert code(answer) == "malformed_request"


@pytest.mark.parametrize(
    "encoding",
    [
        b"chunked, identity",
        b"gzip",
        b"chunked, gzip",
        b"xchunked",
        b"identity",
        b"gzip, chunked",
        b"chunked, chunked",
        b",chunked",
        b"chunked;a=b",
        b"identity\r\nTransfer-Encoding: chunked",
        b"chunked\r\nTransfer-Encoding: identity",
        b"chunked\r\nTransfer-Encoding: chunked",
    ],
)
def test_a_transfer_encoding_other_than_chunked_alone_is_never_read_as_a_body(server: Server, encoding: bytes) -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: " + encoding
    answer = ask(server, head + b"\r\n\r\n0\r\n\r\n" + HEALTH)
    assert statuses(answer)[:1] in ([400], [501])
    assert b'"status":"ok"' not in answer


def test_no_body_is_changed_however_its_head_was_cut(server: Server) -> None:
    """What looks like a header in a body is none: in it an offer of another protocol is not looked for."""
    told = b"\r\nUpgrade: 0123456789"
    head = REFUSED + b"Content-Length: %d\r\n\r\n" % len(told)
    for cut in range(1, 5):
        answers = ask(server, head[:-cut], head[-cut:] + told + LAST_HEALTH)
        assert statuses(answers) == [401, 200]


@pytest.mark.parametrize("chunk", [b"nonsense\r\n", b"-1\r\n", b"0x1\r\na\r\n", b"1 \n", b"1\r\nab\r\n", b"F" * 17])
def test_a_broken_chunk_is_never_read_as_the_next_request(server: Server, chunk: bytes) -> None:
    answer = ask(server, REFUSED + b"Transfer-Encoding: chunked\r\n\r\n" + chunk + HEALTH)
    assert statuses(answer)[:1] in ([400], [401])
    assert b'"status":"ok"' not in answer


@pytest.mark.parametrize(
    "hosts", [b"", b"Host: x\r\nHost: y\r\n", b"Host: x\r\nhost: x\r\n", b"Host: x\r\nX: 1\r\nHOST: \r\n"]
)
def test_a_request_names_its_host_once(server: Server, hosts: bytes) -> None:
    """RFC 9112 section 3.2: two readers of the same request must not take it to be for different services."""
    answer = ask(server, b"GET /healthz HTTP/1.1\r\n" + hosts + b"\r\n")
    assert statuses(answer) == [400]
    assert code(answer) == "malformed_request"


def test_http_1_0_need_not_name_it(server: Server) -> None:
    assert statuses(ask(server, b"GET /healthz HTTP/1.0\r\n\r\n")) == [200]
    assert statuses(ask(server, b"GET /healthz HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n")) == [400]


@pytest.mark.parametrize("value", [b" 2", b"2 ", b"\t2\t", b"  2 \t "])
def test_white_space_around_a_length_is_no_part_of_it(server: Server, value: bytes) -> None:
    body = b"Content-Length:" + value + b"\r\n\r\n{}"
    answer = ask(server, REFUSED + b"Service-Subscription-Key: x\r\n" + body + LAST_HEALTH)
    assert statuses(answer) == [401, 200]
    # An endpoint that looks at the length itself, for it has no key to ask for before.
    assert statuses(ask(server, LAST_HEALTH.replace(b"\r\n\r\n", b"\r\n" + body))) == [200]


def test_an_endless_header_is_answered_431(server: Server) -> None:
    many = b"".join(b"X-%d: y\r\n" % number for number in range(4000))
    assert code(ask(server, b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + many)) == "headers_too_large"
    one = b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"y" * MOST_HEAD_BYTES
    assert code(ask(server, one + b"\r\n\r\n")) == "headers_too_large"
    assert code(ask(server, one * 64)) == "headers_too_large"
    assert code(ask(server, b"GET /" + b"y" * 2 * MOST_HEAD_BYTES + b" HTTP/1.1\r\n\r\n")) == "headers_too_large"


def test_many_headers_are_answered_431(server: Server) -> None:
    head = LAST_HEALTH[:-2] + b"a:\r\n" * (MOST_HEADERS - 2)
    assert statuses(ask(server, head + b"\r\n")) == [200]
    assert code(ask(server, head + b"a:\r\n\r\n")) == "headers_too_large"


def test_many_headers_are_not_kept_until_the_rest_of_their_head_arrives(server: Server) -> None:
    head = b"GET /healthz HTTP/1.1\r\n" + b"a:\r\n" * (MOST_HEADERS + 2)
    assert code(ask(server, head)) == "headers_too_large"
    assert statuses(ask(server, HEALTH + head)) == [200, 431]
    # What the parser refused is answered once.
    assert code(ask(server, head + b"no header\r\n")) == "malformed_request"


def test_a_head_in_pieces_may_be_as_large_as_one_that_comes_whole(server: Server) -> None:
    third = b"".join(b"X-%d: %b\r\n" % (number, b"y" * 490) for number in range(10))
    head = LAST_HEALTH[:-2]
    assert statuses(ask(server, head + third, third, third + b"\r\n")) == [200]
    assert code(ask(server, head + third, third, third, third)) == "headers_too_large"
    # What came before it in the same read is not counted with it.
    answers = ask(server, HEALTH[:-2] + third * 2 + b"\r\n" + head + third, third, third + b"\r\n")
    assert statuses(answers) == [200, 200]


def test_what_cannot_be_read_is_answered_after_what_came_before_it(server: Server) -> None:
    assert statuses(ask(server, HEALTH * 3 + b"NONSENSE\r\n\r\n" + HEALTH)) == [200, 200, 200, 400]


def test_a_broken_body_of_a_request_that_waits_its_turn_ends_with_the_answer_to_it(server: Server) -> None:
    answers = ask(server, HEALTH * 2 + REFUSED + b"Transfer-Encoding: chunked\r\n\r\nnonsense\r\n")
    assert statuses(answers) == [200, 200, 401]


def test_more_requests_at_once_than_are_taken_end_with_503(server: Server) -> None:
    answers = ask(server, HEALTH * (MOST_PIPELINED + 1) + b"GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n")
    assert statuses(answers) == [200] * (MOST_PIPELINED + 1) + [503]


def test_a_header_that_trickles_is_answered_408(server: Server) -> None:
    assert code(ask(server, b"GET /healthz HTTP/1.1\r\nHost:")) == "request_timeout"
    began = time.monotonic()
    answer = ask(server, *(bytes((letter,)) for letter in HEALTH[:25]), pause=0.1)
    assert code(answer) == "request_timeout"
    assert time.monotonic() - began < 4


def test_an_idle_connection_is_closed_without_a_word(server: Server) -> None:
    assert ask(server, b"") == b""


def test_a_connection_is_kept_for_the_next_request_for_a_few_seconds(server: Server) -> None:
    with connect(server) as caller:
        for pause in (0, 1.5):
            time.sleep(pause)
            caller.sendall(HEALTH)
            assert until(caller, b'{"status":"ok"}')
        began = time.monotonic()
        assert b"".join(received(caller)) == b""
        assert 3 < time.monotonic() - began < 8


@pytest.mark.parametrize(
    ("request_", "later"),
    [
        (HEALTH, b"\r\n"),
        (REFUSED + b"Content-Length: 5000\r\n\r\n{", b"x"),
        (REFUSED + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", b"1\r\nx\r\n"),
        (REFUSED + b"Content-Length: 2\r\n\r\n{", b"}"),
    ],
)
def test_a_connection_that_was_answered_cannot_be_held_with_a_byte(
    server: Server, request_: bytes, later: bytes
) -> None:
    with connect(server) as caller:
        caller.sendall(request_)
        assert statuses(until(caller, b"\r\n\r\n")) in ([200], [401])
        caller.sendall(later)
        assert b"HTTP/1.1" not in b"".join(received(caller))


def test_the_rest_of_a_refused_body_leaves_the_connection_usable(server: Server) -> None:
    with connect(server) as caller:
        caller.sendall(REFUSED + b"Content-Length: 1000000\r\n\r\n{")
        until(caller, b"}]}")
        caller.sendall(b" " * 999_999 + LAST_HEALTH)
        assert b"".join(received(caller)).endswith(b'{"status":"ok"}')


def test_an_offer_of_another_protocol_is_passed_over(server: Server) -> None:
    """Some clients make one with their first request, whatever that is."""
    with connect(server) as caller:
        caller.sendall(REFUSED + OFFER + b"Content-Length: 2\r\n\r\n{}")
        assert code(until(caller, b"}]}")) == "subscription_key_missing"
        caller.sendall(HEALTH.replace(b"\r\n\r\n", b"\r\n" + OFFER + b"\r\n") + LAST_HEALTH)
        assert statuses(b"".join(received(caller))) == [200, 200]


@pytest.mark.parametrize("framing", [b"Content-Length: 35\r\n", b"Transfer-Encoding: chunked\r\n"])
def test_the_body_of_a_request_that_offers_another_protocol_is_no_request(server: Server, framing: bytes) -> None:
    """Also where the offer came in two pieces."""
    with connect(server) as caller:
        caller.sendall(REFUSED + b"Connection: Upgrade\r\nUpgr")
        time.sleep(0.1)
        caller.sendall(b"ade: h2c\r\n" + framing + b"\r\n")
        assert code(until(caller, b"}]}")) in ("malformed_request", "subscription_key_missing")
        with contextlib.suppress(ConnectionError):
            caller.sendall(HEALTH)
        assert b'"status":"ok"' not in b"".join(received(caller))


def test_a_trailer_is_no_header(server: Server) -> None:
    body = b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\n"
    answer = ask(server, REFUSED + body + b"Service-Subscription-Key: x\r\nX-Request-Id: trailer\r\n\r\n")
    assert code(answer) == "subscription_key_missing"
    assert b"trailer" not in answer


# Caps: 20 connections in all, 8 from one network; 127.0.0.9 is a proxy.


@pytest.fixture
def capped(tmp_path: Path) -> Iterator[Server]:
    caps = {"connections": 20, "connections_per_network": 8, "trusted_proxies": "127.0.0.9/32"}
    with service(tmp_path, header_timeout=3, **caps) as started:
        yield started


def test_no_network_takes_all_connections_before_a_head_arrives(capped: Server) -> None:
    held = [connect(capped) for _ in range(8)]
    try:
        time.sleep(0.2)
        refused = ask(capped, LAST_HEALTH)
        assert (statuses(refused), code(refused)) == ([503], "unavailable")
        assert ask(capped, b"", wait=2).startswith(b"HTTP/1.1 503 ")  # at once, not when a head is due
        assert statuses(ask(capped, LAST_HEALTH, source="127.0.0.2")) == [200]
        held.pop().close()
        time.sleep(0.2)
        assert statuses(ask(capped, LAST_HEALTH)) == [200]
    finally:
        close_all(held)


def test_a_trusted_proxy_brings_more_and_no_more_than_there_are_in_all(capped: Server) -> None:
    held = [connect(capped, "127.0.0.9") for _ in range(12)]
    try:
        time.sleep(0.2)
        assert statuses(ask(capped, LAST_HEALTH, source="127.0.0.9")) == [200]
        assert statuses(ask(capped, LAST_HEALTH, source="127.0.0.2")) == [200]
        held += [connect(capped, "127.0.0.9") for _ in range(8)]
        time.sleep(0.2)
        for source in ("127.0.0.9", "127.0.0.2"):
            assert code(ask(capped, LAST_HEALTH, source=source)) == "unavailable"
    finally:
        close_all(held)


def test_requests_in_progress_are_answered_when_it_stops(capped: Server) -> None:
    with connect(capped) as caller, connect(capped) as idle:
        caller.sendall(REFUSED.replace(b"/session", b"/nothing") + b"Content-Length: 4\r\n\r\n{")
        until(caller, b"}")  # refused; the connection stays
        caller.sendall(b"  }" + HEALTH)
        until(caller, b'{"status":"ok"}')
        capped.process.send_signal(signal.SIGTERM)
        assert b"".join(received(idle)) == b""
        assert b"".join(received(caller)) == b""
        assert capped.process.wait(5) == 0
    with pytest.raises(ConnectionError):
        connect(capped)


@pytest.mark.skipif(not hasattr(socket, "TCP_NODELAY"), reason="no such option")
def test_answers_do_not_wait_for_each_other_to_be_acknowledged(server: Server) -> None:
    """Without TCP_NODELAY the second of two small answers waits for an acknowledgement, 40 ms and more."""
    with connect(server) as caller:
        began = time.monotonic()
        for _ in range(20):
            caller.sendall(HEALTH)
            until(caller, b'{"status":"ok"}')
        assert time.monotonic() - began < 0.5


def test_a_burst_of_connections_is_answered(server: Server) -> None:
    callers = [connect(server) for _ in range(100)]
    try:
        for caller in callers:
            caller.sendall(LAST_HEALTH)
        assert [statuses(b"".join(received(caller))) for caller in callers] == [[200]] * 100
    finally:
        close_all(callers)


def test_what_hangs_up_in_the_middle_leaves_nothing_behind(server: Server) -> None:
    """Descriptors are looked at, for they run out first."""
    time.sleep(0.5)
    before = descriptors(server)
    for piece in (b"", HEALTH[:20], HEALTH, REFUSED + b"Content-Length: 100\r\n\r\n{"):
        for _ in range(20):
            with connect(server) as caller:
                caller.sendall(piece)
    time.sleep(1)
    assert descriptors(server) <= before + 2


def test_connections_whose_caller_has_gone_take_few_file_descriptors_again(capped: Server) -> None:
    """Without descriptors the others wait; when some are free again, they do not all go to callers who have gone."""
    few = descriptors(capped) + 10
    resource.prlimit(capped.process.pid, resource.RLIMIT_NOFILE, (few, few))
    capped.process.send_signal(signal.SIGSTOP)
    for number in range(50):
        connect(capped, f"127.0.1.{number}").close()
    capped.process.send_signal(signal.SIGCONT)
    assert statuses(ask(capped, LAST_HEALTH)) == [200]
    said = [json.loads(text) for text in capped.log.read_text().splitlines() if "no more connections" in text]
    assert [(line["level"], line["cause"]) for line in said] == [("error", "EMFILE")]
