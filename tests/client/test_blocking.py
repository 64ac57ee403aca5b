"""The blocking face: ordinary methods, and good manners with threads, signals, forks, running loops and exits."""

import asyncio
import contextvars
import gc
import inspect
import logging
import pydoc
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, assert_type

import httpx
import pytest
from tests.client.sockets import HEAD, OK, Serve, read_request, whole

from strongroom import (
    Account,
    AsyncStrongroom,
    Exchange,
    Progress,
    ServiceUnavailable,
    Strongroom,
    UnlockRefused,
)
from strongroom.client.account import AsyncAccount
from strongroom.client.blocking.background import Background
from strongroom.client.blocking.calls import Calls
from strongroom.client.calls import AsyncCalls
from strongroom.client.running import CALLER
from tools import blocking_face

if TYPE_CHECKING:
    from tests.client.conftest import Peer

PASSPHRASE = "correct horse battery staple"
THREAD = "strongroom-client"
Connect = Callable[..., Strongroom]


@pytest.mark.parametrize("name", sorted(blocking_face.FACES))
def test_the_module_is_fresh(name: str) -> None:
    # Compared as a flag: a diff of two long texts would hide the sentence that says what to do.
    fresh = (blocking_face.CLIENT / "blocking" / name).read_text("utf-8") == blocking_face.render(name)
    assert fresh, "the blocking face is stale: run `make docs`"


@pytest.mark.parametrize(
    ("blocking", "core"), [(Strongroom, AsyncStrongroom), (Account, AsyncAccount), (Calls, AsyncCalls)]
)
def test_the_blocking_face_has_the_signatures_and_words_of_the_core(blocking: type, core: type) -> None:
    names = {name for name in dir(core) if not name.startswith("_")}
    assert names == {name for name in dir(blocking) if not name.startswith("_")}
    for name in names:
        mine, theirs = getattr(blocking, name), getattr(core, name)
        assert inspect.getdoc(mine) == inspect.getdoc(theirs)
        if not isinstance(mine, property):
            assert inspect.isfunction(mine)
            assert not inspect.iscoroutinefunction(mine)
            ours = str(inspect.signature(mine)).replace("blocking.account.Account", "account.AsyncAccount")
            assert ours == str(inspect.signature(theirs))


def test_help_shows_ordinary_methods(settled: "Peer", connect: Connect) -> None:
    shown = pydoc.plain(pydoc.render_doc(Strongroom))
    assert "unlock(self, username: str, passphrase: str, *" in shown
    assert "Open the account on any device" in shown
    with connect(settled) as service:
        account = service.unlock("Ada", PASSPHRASE)
        shown += pydoc.plain(pydoc.render_doc(account.seal))
        # What type-checkers see is what is there: mypy reads these lines.
        assert_type(account, Account)
        assert_type(account.seal(b"x"), str)
        assert_type(service.issue_admission_token(), str)
    assert "seal(data: bytes, *, key: str = 'data', context: str = 'data') -> str method" in shown
    for word in ("Conversation", "exposed", "Coroutine", "Generator", "functools", "<locals>"):
        assert word not in shown


def test_a_traceback_is_short_and_of_our_own_code(settled: "Peer", connect: Connect) -> None:
    with connect(settled) as service, pytest.raises(UnlockRefused) as caught:
        service.unlock("Ada", "another")
    frames = [frame.name for frame in traceback.extract_tb(caught.tb)[1:]]
    assert frames == ["unlock", "run", "result", "unlock", "unlock"]


def test_callbacks_are_called_in_the_callers_thread_and_context(settled: "Peer", connect: Connect) -> None:
    marks: contextvars.ContextVar[str] = contextvars.ContextVar("mark", default="")
    seen: list[tuple[int, str]] = []

    def note(event: Progress | Exchange) -> None:
        seen.append((threading.get_ident(), marks.get()))

    marks.set("mine")
    with connect(settled, progress=note, observer=note) as service:
        service.unlock("Ada", PASSPHRASE)
    assert len(seen) > 12
    assert set(seen) == {(threading.get_ident(), "mine")}


def test_a_transport_is_used_in_the_callers_thread(connect: Connect) -> None:
    threads: list[int] = []

    class Pieces(httpx.SyncByteStream):
        def __iter__(self) -> Any:
            threads.append(threading.get_ident())
            yield OK[:4]
            yield OK[4:]

        def close(self) -> None:
            threads.append(threading.get_ident())

    class Transport(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            threads.append(threading.get_ident())
            return httpx.Response(200, headers={"Content-Type": "application/json"}, stream=Pieces())

        def close(self) -> None:
            threads.append(threading.get_ident())

    with Strongroom("http://localhost", transport=Transport()) as service:
        assert service.calls.healthz().status == "ok"
    assert threads == [threading.get_ident()] * 4


def test_a_callback_may_call_the_same_client(settled: "Peer", connect: Connect) -> None:
    answers: list[str] = []

    def ask(event: Progress) -> None:
        answers.append(service.calls.healthz().status)

    with connect(settled) as service:
        service.unlock("Ada", PASSPHRASE, progress=ask)
    assert len(answers) > 8
    assert set(answers) == {"ok"}


@pytest.mark.parametrize("error", [LookupError, StopIteration, StopAsyncIteration, KeyboardInterrupt, SystemExit])
def test_whatever_a_callback_raises_ends_the_call_and_nothing_else(
    settled: "Peer", connect: Connect, error: type[BaseException]
) -> None:
    def fail(event: Progress) -> None:
        raise error

    with connect(settled) as service:
        with pytest.raises((error, RuntimeError)):
            service.unlock("Ada", PASSPHRASE, progress=fail)
        service.unlock("Ada", PASSPHRASE)


def test_one_client_in_many_threads(peer: "Peer", connect: Connect) -> None:
    threads: dict[str, set[int]] = {}

    def work(number: int) -> None:
        name, heard = f"user-{number}", set[int]()
        account = service.register(
            name, PASSPHRASE, iterations=600_000, progress=lambda _: heard.add(threading.get_ident())
        )
        sealed = account.seal(name.encode())
        for _ in range(5):
            assert service.unlock(name, PASSPHRASE).open(sealed) == name.encode()
        assert heard == {threading.get_ident()}
        threads[name] = heard

    # No two vault accounts have the same key, and there are three fixed ones.
    with connect(peer) as service, ThreadPoolExecutor(3) as pool:
        list(pool.map(work, range(3)))
    assert len(threads) == 3


def test_inside_a_running_event_loop(serve: Serve) -> None:
    url = serve(whole(OK))

    async def notebook() -> str:
        with Strongroom(url) as service:
            return service.calls.healthz().status

    assert asyncio.run(notebook()) == "ok"


def test_a_closed_client_calls_nothing_and_its_accounts_still_open(settled: "Peer", connect: Connect) -> None:
    with connect(settled) as service:
        account = service.unlock("Ada", PASSPHRASE)
    assert account.open(account.seal(b"x" * 100_000)) == b"x" * 100_000
    for call in (account.classification_nodes, service.calls.healthz):
        with pytest.raises(RuntimeError, match="closed"):
            call()
    service.close()


def test_closing_ends_the_calls_of_other_threads(serve: Serve) -> None:
    asked = threading.Event()

    def silent(connection: Any) -> None:
        read_request(connection)
        asked.set()
        connection.recv(1)

    service = Strongroom(serve(silent))
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(service.calls.healthz)
        asked.wait(10)
        service.close()
        with pytest.raises(ServiceUnavailable):
            call.result(10)


def test_any_number_of_threads_may_close(serve: Serve) -> None:
    url = serve(whole(OK))
    with ThreadPoolExecutor(8) as pool:
        for _ in range(10):
            service = Strongroom(url)
            service.calls.healthz()
            together = threading.Barrier(8)

            def close(service: Strongroom = service, together: threading.Barrier = together) -> None:
                together.wait(10)
                service.close()

            assert [closing.result(10) for closing in [pool.submit(close) for _ in range(8)]] == [None] * 8


def test_a_transport_that_closes_its_client_when_it_is_closed() -> None:
    class Closing(httpx.MockTransport):
        def close(self) -> None:
            service.close()

    service = Strongroom(
        "https://service.example", transport=Closing(lambda _: httpx.Response(200, json={"status": "ok"}))
    )
    assert service.calls.healthz().status == "ok"
    service.close()


def test_an_interrupt_on_the_way_to_the_loop_is_not_waited_for_for_ever() -> None:
    """Ctrl-C may come between any two steps; here it comes before the loop hears of the call."""

    async def nothing() -> None:
        return None

    background = Background(nothing)
    background.run(nothing())
    thread = background._loop
    assert thread is not None
    real = thread.loop.call_soon_threadsafe

    def interrupted(*_: Any, **__: Any) -> Any:
        thread.loop.call_soon_threadsafe = real  # type: ignore[method-assign]
        raise KeyboardInterrupt

    thread.loop.call_soon_threadsafe = interrupted  # type: ignore[method-assign, assignment]
    with pytest.raises(KeyboardInterrupt):
        background.run(nothing())
    background.run(nothing())
    background.close()


def test_clients_that_are_never_closed_end_with_their_last_user(settled: "Peer", connect: Connect) -> None:
    gc.collect()
    before = sum(thread.name == THREAD for thread in threading.enumerate())
    account = connect(settled).unlock("Ada", PASSPHRASE)
    gc.collect()
    assert account.classification_nodes()
    assert sum(thread.name == THREAD for thread in threading.enumerate()) == before + 1
    del account
    gc.collect()
    patience = time.monotonic() + 10
    while sum(thread.name == THREAD for thread in threading.enumerate()) > before and time.monotonic() < patience:
        time.sleep(0.01)
    assert sum(thread.name == THREAD for thread in threading.enumerate()) <= before


def test_a_loop_that_ends_in_the_middle_of_another_call_is_not_part_of_it(
    settled: "Peer", connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    """As when the garbage collector finds the one client while a coroutine of the other one runs."""
    service = connect(settled)
    service.calls.healthz()
    loop = service._background._loop
    assert loop is not None

    class Other:
        async def call(self, function: Callable[[], Any]) -> Any:
            raise AssertionError("asked to close what is not its own")

    context = contextvars.copy_context()
    context.run(CALLER.set, Other())
    context.run(loop.end)
    loop.thread.join(10)
    assert loop.loop.is_closed()
    gc.collect()
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def started(program: str, url: str) -> subprocess.Popen[str]:
    """A program that meets the real thing: signals, forks and the end of the interpreter. A warning is an error."""
    head = "import gc, os, signal, sys, threading, time\nfrom strongroom import *\nurl = sys.argv[1]\n"
    # Where tests run in the background, it may be ignored, and children inherit that.
    head += "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", head + program, url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def outcome(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=30)
    finally:
        process.kill()
    return process.returncode, out, err


NEVER_CLOSED = """
clients = [Strongroom(url) for _ in range(10)]
print(*{client.calls.healthz().status for client in clients})
"""
NEVER_CLOSED_IN_A_CALL = """
client = Strongroom(url)
def ask():
    try:
        client.calls.healthz()
    except ServiceUnavailable:
        pass
threading.Thread(target=ask, daemon=True).start()
sys.stdin.readline()
print("ok")
"""


@pytest.mark.parametrize("program", [NEVER_CLOSED, NEVER_CLOSED_IN_A_CALL], ids=["idle", "in a call"])
def test_the_interpreter_ends_in_silence_with_clients_that_were_never_closed(serve: Serve, program: str) -> None:
    answer, asked = whole(OK), threading.Event()

    def treat(connection: Any) -> None:
        asked.set()
        if program is NEVER_CLOSED:
            answer(connection)
        read_request(connection)
        connection.recv(1)

    process = started(program, serve(treat))
    assert asked.wait(20)
    begun = time.monotonic()
    assert outcome(process) == (0, "ok\n", "")
    assert time.monotonic() - begun < 15


INTERRUPTED = """
client = Strongroom(url)
print("asking", flush=True)
try:
    client.calls.version()
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(client.calls.healthz().status, client.calls.healthz().status)
print([thread.name for thread in threading.enumerate()])
client.close()
"""


def test_an_interrupt_cancels_what_runs_and_leaves_the_client_usable(serve: Serve) -> None:
    asked, dropped = threading.Event(), threading.Event()

    def treat(connection: Any) -> None:
        while request := read_request(connection):
            if b"/version" in request:
                asked.set()
                assert connection.recv(1) == b""
                dropped.set()
                return
            connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(OK) + OK)

    process = started(INTERRUPTED, serve(treat))
    assert asked.wait(20)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert dropped.wait(10), "the connection of the cancelled request was not closed"
    assert time.monotonic() - begun < 5
    assert outcome(process) == (0, f"asking\ninterrupted\nok ok\n['MainThread', '{THREAD}']\n", "")


LONG_WORK = """
from strongroom.crypto import login_secret
login_secret.pbkdf2 = lambda *_: print("deriving", flush=True) or time.sleep(1.5) or b"x" * 32
client = Strongroom(url, subscription_key="srk_x", progress=(lambda _: None) if "PROGRESS" else None)
try:
    client.unlock("Ada", "correct horse battery staple")
except KeyboardInterrupt:
    print("interrupted", flush=True)
print(client.calls.healthz().status)
client.close()
"""


@pytest.mark.parametrize("progress", ["", "PROGRESS"])
def test_an_interrupt_does_not_wait_for_key_derivation(serve: Serve, progress: str) -> None:
    process = started(LONG_WORK.replace("PROGRESS", progress), serve(whole(OK)))
    assert process.stdout is not None
    assert process.stdout.readline() == "deriving\n"
    process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    assert process.stdout.readline() == "interrupted\n"
    assert time.monotonic() - begun < 1.2
    assert outcome(process) == (0, "ok\n", "")


FORKED = """
client = Strongroom(url)
print(client.calls.healthz().status, flush=True)
sys.stdout.flush()
child = os.fork()
statuses = {client.calls.healthz().status for _ in range(20)}
if child == 0:
    client.close()
    gc.collect()
    sys.exit(0 if statuses == {"ok"} else 1)
_, status = os.waitpid(child, 0)
print(statuses, os.waitstatus_to_exitcode(status), client.calls.healthz().status)
client.close()
"""


def test_after_a_fork_parent_and_child_go_on(serve: Serve) -> None:
    """On connections of their own: the service sees whole requests only."""
    connections: list[list[bytes]] = []

    def treat(connection: Any) -> None:
        requests: list[bytes] = []
        connections.append(requests)
        while request := read_request(connection):
            requests.append(request)
            connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(OK) + OK)

    assert outcome(started(FORKED, serve(treat))) == (0, "ok\n{'ok'} 0 ok\n", "")
    assert sorted(len(requests) for requests in connections) == [20, 22]
    assert all(request.count(b"GET /healthz") == 1 for requests in connections for request in requests)


FORKS_IN_A_CALLBACK = """
import os, signal, sys
from strongroom import Strongroom

def fork(exchange):
    global child
    child = os.fork()
    if not child:
        signal.alarm(10)

client = Strongroom(sys.argv[1], observer=fork)
try:
    status = client.calls.healthz().status
except RuntimeError:
    os._exit(0 if child == 0 else 1)
_, ended = os.waitpid(child, 0)
print(status, os.waitstatus_to_exitcode(ended))
client.close()
"""


def test_the_child_of_a_callback_that_forks_does_not_wait_for_its_parents_call(serve: Serve) -> None:
    assert outcome(started(FORKS_IN_A_CALLBACK, serve(whole(OK)))) == (0, "ok 0\n", "")
