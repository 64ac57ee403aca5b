"""httpx transports into a service that runs on an event loop of its own, in another thread."""

import asyncio
import concurrent.futures
from typing import Any

import httpx


class _OnLoop:
    def __init__(self, application: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._inner = httpx.ASGITransport(application, raise_app_exceptions=False)
        self._loop = loop

    def submit(self, request: httpx.Request) -> concurrent.futures.Future[httpx.Response]:
        """The whole answer, made on the service's loop; `request` has been read."""
        return asyncio.run_coroutine_threadsafe(self._answer(request), self._loop)

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        sent = httpx.Request(request.method, request.url, headers=request.headers, content=request.content)
        answer = await self._inner.handle_async_request(sent)
        body = b"".join([chunk async for chunk in answer.aiter_raw()])
        await asyncio.sleep(0)  # the log line of the request is written at the end of the turn
        return httpx.Response(answer.status_code, headers=answer.headers, content=body)


class Transport(httpx.BaseTransport):
    """For blocking clients: `httpx.Client(transport=...)`, `Strongroom(transport=...)`."""

    def __init__(self, application: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._service = _OnLoop(application, loop)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        return self._service.submit(request).result()


class AsyncTransport(httpx.AsyncBaseTransport):
    """For clients on asyncio: `httpx.AsyncClient(transport=...)`, `AsyncStrongroom(transport=...)`."""

    def __init__(self, application: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._service = _OnLoop(application, loop)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        return await asyncio.wrap_future(self._service.submit(request))
