"""The calls that every process answers, whatever areas it serves."""

from typing import Final

from strongroom.client.calls.base import CallsBase
from strongroom.wire import system

SYSTEM: Final = {endpoint.name: endpoint for endpoint in system.ENDPOINTS}


class SystemCalls(CallsBase):
    """Health and version, at the key store's address."""

    async def healthz(self) -> system.Health:
        """Whether the process is alive."""
        return await self._connection.ask(SYSTEM["healthz"], system.Health)

    async def readyz(self) -> system.Health:
        """Whether the databases answer and take writes; if not, `ServiceUnavailable`."""
        return await self._connection.ask(SYSTEM["readyz"], system.Health)

    async def version(self) -> system.Version:
        """What runs at the key store's address."""
        return await self._connection.ask(SYSTEM["version"], system.Version)
