"""Several processes on one socket: start them, start anew what dies, pass the end on and wait for it.

The socket is bound before the first one starts and shared by all, so that connections that wait for a worker that has
died are taken by another.
"""

import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import FrameType
from typing import NoReturn, TypeAlias

import click

from strongroom.cli.output import ExitCode, Failed, note

Keys: TypeAlias = dict[str, str]
Ready: TypeAlias = Callable[[Keys], None]
"""A worker calls it when it takes requests."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SHORT_LIFE_SECONDS = 5.0
_PAUSE_SECONDS = 1.0


class Supervisor:
    """The parent process: it serves nothing, opens no database and has no thread."""

    def __init__(self, count: int, serve: Callable[[Ready], None]) -> None:
        self._count = count
        self._serve = serve
        self._started: dict[int, float] = {}
        self._stopping = False
        # Nothing is written to it: it closes when this process ends, even if it is killed.
        self._life = os.pipe()

    def run(self, when_ready: Ready) -> None:
        """Return when every worker has ended after SIGINT or SIGTERM. `Failed` where they cannot start."""
        for number in _SIGNALS:
            signal.signal(number, self._stop)
        try:
            # One first: it brings the databases up to date and makes what has to be made once.
            keys = self._start_and_wait()
            for _ in range(self._count - 1):
                self._start_and_wait()
            if not self._stopping:
                when_ready(keys)
            self._watch()
        finally:
            self._end_workers()

    def _watch(self) -> None:
        while self._started:
            pid, status = os.waitpid(-1, 0)
            lived = time.monotonic() - self._started.pop(pid)
            if self._stopping:
                continue
            note(f"a worker ended ({_reason(status)}): another one is started")
            if lived < _SHORT_LIFE_SECONDS:
                time.sleep(_PAUSE_SECONDS)  # not as fast as it can die
            if not self._stopping:
                self._start(None)

    def _start_and_wait(self) -> Keys:
        receiving, sending = os.pipe()
        pid = self._start(sending)
        os.close(sending)
        with os.fdopen(receiving) as from_worker:
            line = from_worker.readline()
        if line or self._stopping:
            keys: Keys = json.loads(line or "{}")
            return keys
        _, status = os.waitpid(pid, 0)
        del self._started[pid]
        code = os.waitstatus_to_exitcode(status)
        if code > 0:
            sys.exit(code)  # the worker has printed why
        raise Failed(f"a worker did not start ({_reason(status)})")

    def _start(self, sending: int | None) -> int:
        # A signal between the fork and the change of handlers would make the child act as the parent.
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        pid = os.fork()
        if pid == 0:
            self._work(sending)
        self._started[pid] = time.monotonic()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
        return pid

    def _work(self, sending: int | None) -> NoReturn:
        """What a worker does, from its start to its end."""
        code: int = ExitCode.failed
        try:
            os.setpgid(0, 0)  # Ctrl-C is for the parent, which passes it on: twice would cut requests off
            for number in _SIGNALS:
                signal.signal(number, end_now)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
            os.close(self._life[1])
            threading.Thread(target=_end_with_parent, args=(self._life[0],), daemon=True).start()
            self._serve(lambda keys: _send_keys(sending, keys))
            code = ExitCode.done
        except click.ClickException as error:
            error.show()
            code = error.exit_code
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else ExitCode.done
        except Exception as error:  # noqa: BLE001  # the process ends here, so it has to be printed here
            code = _print_failure(error)
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _stop(self, *signal_and_frame: object) -> None:
        self._stopping = True
        for pid in self._started:
            _send(pid, signal.SIGTERM)

    def _end_workers(self) -> None:
        self._stop()
        for pid in list(self._started):
            os.waitpid(pid, 0)
        self._started.clear()
        for end in self._life:
            os.close(end)


def _print_failure(error: Exception) -> int:
    """Print what ended a worker, as the command line does for its own process; the exit code."""
    from strongroom.cli.failures import as_failed

    failed = as_failed(error)
    if failed is None:
        traceback.print_exc()
        return ExitCode.failed
    failed.show()
    return failed.exit_code


def _send(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return  # it has ended already


def _send_keys(sending: int | None, keys: Keys) -> None:
    if sending is not None:  # no one waits for a worker that replaces another
        with os.fdopen(sending, "w") as pipe:
            pipe.write(json.dumps(keys) + "\n")


def _end_with_parent(life: int) -> None:
    os.read(life, 1)
    os.kill(os.getpid(), signal.SIGTERM)


def end_now(number: int, frame: FrameType | None) -> None:
    """Before the server takes signals over there is nothing to finish."""
    sys.exit(ExitCode.done)


def _reason(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"exit code {code}" if code >= 0 else f"signal {-code}"
