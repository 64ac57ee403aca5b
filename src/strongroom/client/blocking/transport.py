"""A caller's own transport for blocking code, under the async core."""

from collections.abc import AsyncIterator

import httpx

from strongroom.client.running import at_caller


def in_callers_thread(transport: httpx.BaseTransport | None) -> httpx.AsyncBaseTransport | None:
    """The same transport for the core. It is used in the thread of each call, as a blocking client would use it."""
    return None if transport is None else _InCallersThread(transport)


class _InCallersThread(httpx.AsyncBaseTransport):
    def __init__(self, transport: httpx.BaseTransport) -> None:
        self._transport = transport

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        response = await at_caller(self._transport.handle_request, request)
        if isinstance(response.stream, httpx.SyncByteStream) and not isinstance(response.stream, httpx.AsyncByteStream):
            response.stream = _Stream(response.stream)
        return response

    async def aclose(self) -> None:
        await at_caller(self._transport.close)


class _Stream(httpx.AsyncByteStream):
    def __init__(self, stream: httpx.SyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces = iter(self._stream)
        while (piece := await at_caller(next, pieces, None)) is not None:
            yield piece

    async def aclose(self) -> None:
        await at_caller(self._stream.close)
