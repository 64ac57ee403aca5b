"""`Strongroom` for blocking code, and its driver."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, final

import httpx

from strongroom.client.account import Account
from strongroom.client.calls import BlockingCalls
from strongroom.client.connection import Connection
from strongroom.client.conversation import Blocking, Conversation, Reply, Request, Work
from strongroom.client.errors import ServiceUnavailable
from strongroom.client.observing import Observer
from strongroom.client.opened import OpenAccount
from strongroom.client.progress import ProgressCallback
from strongroom.client.service import ServiceMethods
from strongroom.client.transfer import TICK, UNREACHABLE, Deadline, DeadlineTransport, Intake, settings
from strongroom.crypto.formats import ArtefactFormat

T = TypeVar("T")


class Driver:
    """Holds conversations in the caller's thread."""

    def __init__(self, timeout: float, transport: httpx.BaseTransport | None) -> None:
        self._timeout = timeout
        self._deadline = Deadline()
        self._client = httpx.Client(transport=transport or DeadlineTransport(self._deadline), **settings(timeout))

    def hold(self, conversation: Conversation[T]) -> T:
        try:
            command = next(conversation)
            while True:
                try:
                    outcome: Any = self._exchange(command) if isinstance(command, Request) else _compute(command)
                except Exception as error:  # noqa: BLE001 - the conversation decides what each error means
                    command = conversation.throw(error)
                else:
                    command = conversation.send(outcome)
        except StopIteration as stop:
            result: T = stop.value
            return result

    def _exchange(self, request: Request) -> Reply:
        started = time.perf_counter()
        self._deadline.start(self._timeout)
        try:
            with self._client.stream(
                request.method, request.url, headers=request.headers, content=request.body or None
            ) as response:
                intake = Intake(response)
                if response.is_stream_consumed:  # by a transport that hands over whole answers
                    intake.take(response.content)
                else:
                    for chunk in response.iter_raw():
                        intake.take(chunk)
                        self._deadline.left()
                return intake.reply(time.perf_counter() - started)
        except httpx.HTTPError:
            reason = UNREACHABLE
        # Outside the handler: as context the library's exception would keep the request and its credentials alive.
        raise ServiceUnavailable(reason)

    def close(self) -> None:
        self._client.close()


def _compute(work: Work) -> Any:
    if work.tick is None:
        return work.function()
    # A thread computes so that this one can tell the progress.
    started = time.perf_counter()
    with ThreadPoolExecutor(1, thread_name_prefix="strongroom") as pool:
        future = pool.submit(work.function)
        while True:
            try:
                return future.result(TICK)
            except TimeoutError:
                if future.done():
                    raise
                work.tick(time.perf_counter() - started)


@final
class Strongroom(ServiceMethods[Account], Blocking):
    """A Strongroom service, for blocking code; use it as a context manager.

    Settings not given are taken from STRONGROOM_URL, STRONGROOM_SUBSCRIPTION_KEY and STRONGROOM_PROVIDER_API_KEY.
    `realm` has to stay the same for one data set: the login secret depends on it. With `state_dir` a small file per
    account notices a service that goes back in time. `timeout` is seconds for a whole request. `progress` hears of
    long work, `observer` sees every request and answer unmasked. `transport` is an httpx transport, for tests.
    """

    def __init__(
        self,
        base_url: str | None = None,
        *,
        subscription_key: str | None = None,
        provider_api_key: str | None = None,
        keystore_url: str | None = None,
        vault_url: str | None = None,
        realm: str | None = None,
        state_dir: str | Path | None = None,
        timeout: float = 30.0,
        transport: httpx.BaseTransport | None = None,
        artefacts: ArtefactFormat = ArtefactFormat.YAML,
        progress: ProgressCallback | None = None,
        observer: Observer | None = None,
    ) -> None:
        self._connection = Connection(
            base_url,
            subscription_key=subscription_key,
            provider_api_key=provider_api_key,
            keystore_url=keystore_url,
            vault_url=vault_url,
            realm=realm,
            state_dir=state_dir,
            artefacts=artefacts,
            progress=progress,
            observer=observer,
        )
        self._driver: Driver = Driver(timeout, transport)
        self.calls = BlockingCalls(self._connection, self._driver)
        """The single calls underneath."""

    def _account(self, opened: OpenAccount) -> Account:
        return Account(opened, self._driver)

    def close(self) -> None:
        """Close the connections; accounts can still seal and open, but call nothing."""
        self._driver.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
