"""The single calls: every endpoint as one method that takes plain values and returns the record of the contract."""

from strongroom.client.calls.keystore import KeystoreCalls
from strongroom.client.calls.system import SystemCalls
from strongroom.client.calls.vault import VaultCalls
from strongroom.client.connection import Connection
from strongroom.client.conversation import Awaiting, AwaitingDriver, Blocking, BlockingDriver, Plain


class Calls(KeystoreCalls, VaultCalls, SystemCalls):
    """Nothing is derived, encrypted or checked here beyond the shape of the answer: `register` and `unlock` do that.

    Each method raises `ServiceRefused`, `ServiceUnavailable` or `ProtocolViolation`.
    """


class PlainCalls(Calls, Plain):
    """For conversations: each call is used with `yield from`."""


class BlockingCalls(Calls, Blocking):
    """The calls as functions."""

    def __init__(self, connection: Connection, driver: BlockingDriver) -> None:
        super().__init__(connection)
        self._driver = driver


class AwaitingCalls(Calls, Awaiting):
    """The calls as coroutines."""

    def __init__(self, connection: Connection, driver: AwaitingDriver) -> None:
        super().__init__(connection)
        self._driver = driver
