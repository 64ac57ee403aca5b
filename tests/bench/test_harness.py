"""The benchmark harness: what it refuses to measure, and what it makes of what it measured."""

import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench.compare import Comparison, Side, compare
from bench.engines import copied
from bench.requests import Plan, Request, check, shape
from bench.seed import LOGIN_SECRET, User, deploy

from bench import load, machine, processes, report, slow_flush
from strongroom.crypto.grammar import login_secret_class
from strongroom.runtime.tokens import digest, parse_session


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        status = 500 if self.path == "/broken" else 200
        self.send_response(status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *arguments: object) -> None:
        """Nothing: the tests read what the harness says."""


@pytest.fixture
def port() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def plan(path: str, status: int = 200) -> Plan:
    return Plan("a plan", [Request("GET", path, {})], status, connections=2)


def test_answers_are_checked_before_anything_is_timed(port: int) -> None:
    assert check(plan("/"), port) == {}
    with pytest.raises(RuntimeError, match="was answered 200 instead of 201"):
        check(plan("/", 201), port)


def test_the_loader_counts_what_it_got(port: int) -> None:
    done = load.run(plan("/"), port, 0.3)
    assert done.requests > 0
    assert 0 < done.p50_ms <= done.p99_ms


def test_a_wrong_answer_voids_the_round(port: int) -> None:
    with pytest.raises(load.Void):
        load.run(plan("/broken"), port, 0.3)


def test_ratios_go_by_the_lowest_cpu_and_the_rounds_in_turn() -> None:
    ours = Side(per_second=[80.0, 90.0, 10.0], cpu_us=[20.0, 40.0, 30.0], p50_ms=[1.0] * 3, p99_ms=[3.0, 4.0, 9.0])
    floor = Side(per_second=[100.0, 100.0, 20.0], cpu_us=[10.0, 15.0, 90.0], p50_ms=[1.0] * 3, p99_ms=[2.0] * 3)
    comparison = Comparison("a plan", ours, floor)
    assert (comparison.cpu, comparison.throughput, comparison.spread) == (0.5, 0.8, 4.0)
    row = {"question": "endpoints", **comparison.as_json(), "target": 0.85, "verdict": "missed"}
    headings, line = report.table([row]).splitlines()
    assert headings.split()[:3] == ["question", "engine", "what"]
    assert " ".join(line.split()) == "endpoints a plan 0.80 0.50 4.0 90/s 20 us CPU 100/s 10 us CPU 0.85 missed"


def test_seeded_users_are_users(tmp_path: Path) -> None:
    user = User(3)
    assert parse_session(user.keystore_session()) == (user.id, user.session_id, digest(user.session_secret))
    assert login_secret_class(LOGIN_SECRET) == 1


@pytest.mark.slow
def test_the_floor_answers_what_the_service_answers(tmp_path: Path) -> None:
    seeded = deploy(tmp_path / "data", 80)
    plans = [seeded.read(), seeded.write(), seeded.vault_login(), seeded.nodes(), seeded.keystore_login()]
    floor = processes.floor(copied(seeded))
    with processes.strongroom(seeded.folder) as ours, floor as bare:
        for each in plans:
            assert shape(check(each, ours.port)) == shape(check(each, bare.port))
        assert check(seeded.nodes(), ours.port) == check(seeded.nodes(), bare.port)
        assert check(seeded.read(), ours.port) == check(seeded.read(), bare.port)
        assert ours.cpu_seconds() > 0
        assert max(ours.resident_mebibytes()) > 10
        late = on_taken_port(seeded.folder, ours.port)
        with pytest.raises(RuntimeError, match="did not start"):
            late.wait_until_listening()
        late.stop()
        with pytest.raises(RuntimeError, match="instead of 418"):
            compare(Plan("x", seeded.read().requests, 418), ours, bare, rounds=1)


def on_taken_port(folder: Path, port: int) -> processes.Server:
    command = [sys.executable, "-m", "bench.floor", str(port), str(folder), processes.PUBLIC_URL, "sqlite"]
    process = subprocess.Popen(command, cwd=machine.ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    return processes.Server(process, port, process.stdout)


def test_a_slow_flush_is_slow(tmp_path: Path) -> None:
    slow = slow_flush.environment(tmp_path)
    if slow is None:
        pytest.skip("no C compiler")
    assert slow_flush.flush_milliseconds(tmp_path, slow) >= slow_flush.MILLISECONDS
