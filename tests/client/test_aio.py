"""`AsyncStrongroom`: the same journeys awaited, with an event loop that stays free."""

import asyncio
import hashlib
import threading
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from strongroom import AccountClosed, AsyncAccount, AsyncStrongroom, Progress, UnlockRefused
from strongroom.client import journeys, opening
from strongroom.crypto import derivation, login_secret

if TYPE_CHECKING:
    from tests.client.conftest import Peer

pytestmark = pytest.mark.anyio
PASSPHRASE = "correct horse battery staple"


def connect(peer: "Peer", **given: Any) -> AsyncStrongroom:
    return AsyncStrongroom(
        "http://127.0.0.1:8000",
        subscription_key="srk_subscription",
        provider_api_key="srp_provider",
        transport=httpx.MockTransport(peer.handle),
        **given,
    )


async def test_the_whole_journey(peer: "Peer") -> None:
    async with connect(peer) as service:
        token = await service.issue_admission_token()
        account = await service.register("Ada", PASSPHRASE, admission_token=token, iterations=600_000)
        assert isinstance(account, AsyncAccount)
        await account.create_data_encryption_key("notes")
        sealed = await account.seal(b"x" * 100_000, key="notes")
        async with await service.unlock("Ada", PASSPHRASE) as again:
            assert await again.open(sealed, key="notes") == b"x" * 100_000
            assert [node.name for node in await again.classification_nodes()] == ["pets"]
            made = await again.create_keypair("sharing")
            assert (await account.keypair("sharing")).public_key == made.public_key
        with pytest.raises(AccountClosed):
            await again.seal(b"x")
        await account.log_out()
        with pytest.raises(UnlockRefused):
            await service.unlock("Ada", "another")


async def test_many_at_once_do_not_mix(peer: "Peer") -> None:
    async with connect(peer) as service:
        names = [f"user-{number}" for number in range(6)]
        accounts = await asyncio.gather(
            *(service.register(name, PASSPHRASE, iterations=600_000) for name in names[:5]),
        )
        sealed = [await account.seal(account.username.encode()) for account in accounts]
        for account, text in zip(accounts, sealed, strict=True):
            assert await account.open(text) == account.username.encode()


@pytest.mark.slow
async def test_the_event_loop_stays_free_during_long_work(settled: "Peer", monkeypatch: pytest.MonkeyPatch) -> None:
    """Real key derivation, repeated for as long as a slow machine needs; the loop is never held for long."""

    def slow(passphrase: bytes, salt: bytes, iterations: int) -> bytes:
        started = time.perf_counter()
        while time.perf_counter() - started < 0.5:
            derived = hashlib.pbkdf2_hmac("sha256", passphrase, salt, iterations)
        return derived

    monkeypatch.setattr(login_secret, "pbkdf2", slow)
    events: list[Progress] = []
    gaps: list[float] = []
    running = True

    async def watch() -> None:
        while running:
            started = time.perf_counter()
            await asyncio.sleep(0.005)
            gaps.append(time.perf_counter() - started)

    watcher = asyncio.create_task(watch())
    async with connect(settled, progress=events.append) as service:
        await service.unlock("Ada", PASSPHRASE)
    running = False
    await watcher
    assert len(gaps) > 30
    assert sorted(gaps)[-3] < 0.15
    work = [event for event in events if event.label == "Derive the login secret"]
    assert work[0].fraction == 0.0
    assert work[-1].fraction == 1.0
    assert len(work) > 2


async def test_work_runs_outside_the_event_loops_thread(settled: "Peer", monkeypatch: pytest.MonkeyPatch) -> None:
    threads: dict[str, int] = {}

    def record(name: str, function: Any) -> Any:
        def run(*args: Any) -> Any:
            threads[name] = threading.get_ident()
            return function(*args)

        return run

    monkeypatch.setattr(opening, "derive", record("derive", derivation.derive))
    monkeypatch.setattr(journeys, "derive_login_secret", record("login", login_secret.derive_login_secret))
    async with connect(settled) as service:
        await service.unlock("Ada", PASSPHRASE)
    assert set(threads) == {"derive", "login"}
    assert threading.get_ident() not in threads.values()


@pytest.mark.parametrize("progress", [None, lambda event: None])
async def test_a_cancelled_journey_ends_at_once(
    settled: "Peer", monkeypatch: pytest.MonkeyPatch, progress: Any
) -> None:
    done = threading.Event()

    def slow(*_: object) -> bytes:
        time.sleep(0.5)
        done.set()
        return b"x" * 32

    monkeypatch.setattr(login_secret, "pbkdf2", slow)
    async with connect(settled, progress=progress) as service:
        started = time.perf_counter()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await service.unlock("Ada", PASSPHRASE)
        assert time.perf_counter() - started < 0.4
    assert settled.seen == []
    await asyncio.to_thread(done.wait)
