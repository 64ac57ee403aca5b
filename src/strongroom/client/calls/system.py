"""The calls that every process answers, with any areas."""

from strongroom.client.calls.base import CallsBase
from strongroom.wire import system


class SystemCalls(CallsBase):
    """Health and version, at the key store's address."""

    async def healthz(self) -> system.Health:
        """Whether the process is alive."""
        return await self._connection.ask(system.HEALTHZ)

    async def readyz(self) -> system.Health:
        """Whether the databases answer and take writes; if not, `ServiceUnavailable`."""
        return await self._connection.ask(system.READYZ)

    async def version(self) -> system.Version:
        """What runs at the key store's address."""
        return await self._connection.ask(system.VERSION)
