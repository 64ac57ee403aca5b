"""The calls that every process answers, whatever areas it serves."""

from typing import Final

from strongroom.client.calls.base import CallsBase
from strongroom.client.conversation import Conversation, exposed
from strongroom.wire import system

SYSTEM: Final = {endpoint.name: endpoint for endpoint in system.ENDPOINTS}


class SystemCalls(CallsBase):
    """Health and version, at the key store's address."""

    @exposed
    def healthz(self) -> Conversation[system.Health]:
        """Whether the process is alive."""
        return (yield from self._connection.ask(SYSTEM["healthz"], system.Health))

    @exposed
    def readyz(self) -> Conversation[system.Health]:
        """Whether the databases answer and take writes; if not, `ServiceUnavailable`."""
        return (yield from self._connection.ask(SYSTEM["readyz"], system.Health))

    @exposed
    def version(self) -> Conversation[system.Version]:
        """What runs at the key store's address."""
        return (yield from self._connection.ask(SYSTEM["version"], system.Version))
