"""How much of time and memory callers may take."""

from dataclasses import dataclass

MAX_HEAD_BYTES = 16 * 1024
# Each costs a hundred bytes of memory, however few of its own it has.
MAX_HEADERS = 100
# Requests that came before the answer to the one before them: one read can bring thousands, of two kilobytes each here.
MAX_PIPELINED = 32
# An answer that is not taken at a thousand bytes a second or so ends the connection.
LEAST_TAKEN_BYTES = 10 * 1024
# Of a body that the application has not asked for; more is not read.
HIGH_WATER = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a server can be given other values for."""

    header_seconds: float = 5.0
    keep_alive_seconds: float = 5.0
    stall_seconds: float = 10.0
    """How long an answer may stand still."""
    discard_seconds: float = 10.0
    discard_bytes: int = 64 * 1024 * 1024
    """What is read of a body after the answer to it, so that the caller gets to read that answer."""
    connections: int = 1_024
    connections_per_network: int = 256
    shutdown_seconds: float = 20.0
