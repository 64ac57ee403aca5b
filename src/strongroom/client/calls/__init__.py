"""The single calls: every endpoint as one method that takes plain values and returns the record of the contract."""

from typing import final

from strongroom.client.calls.keystore import KeystoreCalls
from strongroom.client.calls.system import SystemCalls
from strongroom.client.calls.vault import VaultCalls


@final
class AsyncCalls(KeystoreCalls, VaultCalls, SystemCalls):
    """Nothing is derived, encrypted or checked here beyond the shape of the answer: `register` and `unlock` do that.

    Each method raises `ServiceRefused`, `ServiceUnavailable` or `ProtocolViolation`.
    """
