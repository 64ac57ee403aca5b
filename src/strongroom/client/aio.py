"""`AsyncStrongroom` for asyncio, and its driver."""

import asyncio
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, final

import httpx

from strongroom.client.account import AsyncAccount
from strongroom.client.calls import AwaitingCalls
from strongroom.client.connection import Connection
from strongroom.client.conversation import Awaiting, Conversation, Reply, Request, Work
from strongroom.client.errors import ServiceUnavailable
from strongroom.client.observing import Observer
from strongroom.client.opened import OpenAccount
from strongroom.client.progress import ProgressCallback
from strongroom.client.service import ServiceMethods
from strongroom.client.transfer import DEADLINE, TICK, UNREACHABLE, Intake, settings, tls
from strongroom.crypto.formats import ArtefactFormat

T = TypeVar("T")


class Driver:
    """Holds conversations on the event loop; work runs in a thread, and the primitives there release the GIL."""

    def __init__(self, timeout: float, transport: httpx.AsyncBaseTransport | None) -> None:
        self._timeout = timeout
        self._client = httpx.AsyncClient(
            transport=transport or httpx.AsyncHTTPTransport(verify=tls(), trust_env=False), **settings(timeout)
        )

    async def hold(self, conversation: Conversation[T]) -> T:
        try:
            command = next(conversation)
            while True:
                try:
                    outcome: Any = (
                        await self._exchange(command) if isinstance(command, Request) else await _compute(command)
                    )
                except Exception as error:  # noqa: BLE001 - the conversation decides what each error means
                    command = conversation.throw(error)
                else:
                    command = conversation.send(outcome)
        except StopIteration as stop:
            result: T = stop.value
            return result

    async def _exchange(self, request: Request) -> Reply:
        started = time.perf_counter()
        try:
            async with (
                asyncio.timeout(self._timeout),
                self._client.stream(
                    request.method, request.url, headers=request.headers, content=request.body or None
                ) as response,
            ):
                intake = Intake(response)
                if response.is_stream_consumed:  # by a transport that hands over whole answers
                    intake.take(response.content)
                else:
                    async for chunk in response.aiter_raw():
                        intake.take(chunk)
                return intake.reply(time.perf_counter() - started)
        except TimeoutError:
            reason = DEADLINE
        except httpx.HTTPError:
            reason = UNREACHABLE
        # Outside the handler: as context the library's exception would keep the request and its credentials alive.
        raise ServiceUnavailable(reason)

    async def close(self) -> None:
        await self._client.aclose()


async def _compute(work: Work) -> Any:
    if work.tick is None:
        return await asyncio.to_thread(work.function)
    started = time.perf_counter()
    task = asyncio.ensure_future(asyncio.to_thread(work.function))
    try:
        while not (await asyncio.wait({task}, timeout=TICK))[0]:
            work.tick(time.perf_counter() - started)
        return task.result()
    finally:
        # A cancelled caller does not wait; what the thread still computes is dropped.
        task.cancel()


@final
class AsyncStrongroom(ServiceMethods[AsyncAccount], Awaiting):
    """A Strongroom service, for asyncio; use it with `async with`. The settings are those of `Strongroom`.

    Key derivation and RSA generation run in a thread; the callbacks are called on the event loop.
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
        transport: httpx.AsyncBaseTransport | None = None,
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
        self.calls = AwaitingCalls(self._connection, self._driver)
        """The single calls underneath."""

    def _account(self, opened: OpenAccount) -> AsyncAccount:
        return AsyncAccount(opened, self._driver)

    async def close(self) -> None:
        """Close the connections; accounts can still seal and open, but call nothing."""
        await self._driver.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()
