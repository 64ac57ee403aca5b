"""`serve --workers` for real: two processes on one port and one PostgreSQL server."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tools.postgres_server import PostgresServer

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

COUNT = 2
# All tests here share a database, and with it the sandbox that one secret made.
SECRET = "5e" * 32


class Service:
    """A parent with its workers; every call takes a connection of its own, so that any of them may answer."""

    def __init__(self, folder: Path, database: str) -> None:
        self.log = folder / "log"
        databases = [f"--{area}-database={database}" for area in ("access", "keystore", "vault")]
        options = ["--sandbox", "--json", "--port=0", "--areas=keystore,vault", f"--data={folder / 'data'}"]
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "strongroom.cli", "serve", f"--workers={COUNT}", *options, *databases],
                stdout=subprocess.PIPE,
                stderr=log,
                env=os.environ | {"STRONGROOM_SECRET": SECRET},
            )
        assert self.process.stdout is not None
        self.greeting = self.process.stdout.readline()
        self.keys: dict[str, str] = json.loads(self.greeting)
        limits = httpx.Limits(max_keepalive_connections=0)
        self._client = httpx.Client(base_url=self.keys["base_url"], limits=limits, timeout=20, verify=False)

    def call(self, method: str, path: str, body: Any = None, auth: str | None = None) -> httpx.Response:
        headers = {"Service-Subscription-Key": self.keys["subscription_key"]}
        if auth is not None:
            headers["Authorization"] = auth
        return self._client.request(method, path, json=body, headers=headers)

    def token(self) -> str:
        answer = self.call("POST", "/keystore/admission_tokens", auth=self.keys["provider_api_key"])
        return str(answer.json()["admission_token"]["token_value"])

    def workers(self) -> set[int]:
        pid = self.process.pid
        return {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self._client.close()
        self.process.send_signal(number)
        return self.process.wait(30)


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with PostgresServer() as server:
        yield server.url()


@pytest.fixture
def service(tmp_path: Path, database: str) -> Iterator[Service]:
    started = Service(tmp_path, database)
    yield started
    if started.process.poll() is None:
        started.stop()
    assert started.process.stdout is not None
    started.process.stdout.close()


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def eventually(condition: "Callable[[], bool]", seconds: float = 15.0) -> bool:
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def test_workers_share_sessions_tokens_and_logouts(service: Service, login_secret: "Callable[..., str]") -> None:
    token, passphrase = service.token(), login_secret()
    people = [
        {"admission_token": token, "username": f"user{number}{os.getpid()}", "passphrase": passphrase}
        for number in range(8)
    ]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda person: service.call("POST", "/keystore/users", person), people))
        assert sorted(answer.status_code for answer in answers) == [201] + [409] * 7
        winner = next(answer.json()["user"]["username"] for answer in answers if answer.status_code == 201)
        session = service.call("POST", "/keystore/session", {"username": winner, "passphrase": passphrase}).json()
        auth = session["session"]["session_authentication_string"]
        path = "/keystore/data_encryption_keys"
        assert {a.status_code for a in pool.map(lambda _: service.call("GET", path, auth=auth), range(16))} == {200}
        assert service.call("DELETE", "/keystore/session", auth=auth).status_code == 204
        assert {a.status_code for a in pool.map(lambda _: service.call("GET", path, auth=auth), range(16))} == {401}


def test_a_worker_that_dies_is_replaced_while_the_other_serves(service: Service) -> None:
    before = service.workers()
    assert len(before) == COUNT
    killed = min(before)
    os.kill(killed, signal.SIGKILL)
    for _ in range(10):
        assert service.call("GET", "/healthz").status_code == 200
    assert eventually(lambda: len(service.workers() - {killed}) == COUNT)
    assert service.call("GET", "/readyz").status_code == 200
    assert service.stop() == 0
    assert "signal 9" in service.log.read_text()


def test_an_interrupt_ends_all_of_them(service: Service) -> None:
    workers = service.workers()
    assert service.stop(signal.SIGINT) == 0
    assert all(gone(pid) for pid in workers)
    assert "Traceback" not in service.log.read_text()
    assert service.greeting.count(b"\n") == 1
    assert service.process.stdout is not None
    assert service.process.stdout.read() == b""


def test_workers_do_not_outlive_their_parent(service: Service) -> None:
    workers = service.workers()
    service.process.kill()
    service.process.wait()
    assert eventually(lambda: all(gone(pid) for pid in workers))
