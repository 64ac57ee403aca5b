"""The authenticated caller, as types: a handler cannot be written without naming the one it serves.

Records rather than data classes, which take longer to make than a row takes to read.
"""

from msgspec import Struct


class Subscription(Struct, frozen=True):
    """The holder of an active subscription key. Every other principal of the request belongs to its provider."""

    provider_id: bytes
    subscription_id: bytes
    derived_only: bool
    """True where the provider takes derived login secrets only."""
    slot: str
    """Which of its keys was used, for the statistics: `primary` or `secondary`."""


class Provider(Struct, frozen=True):
    """The external party, known by its provider API key."""

    provider_id: bytes
    provider_key_id: bytes


class KeystoreSession(Struct, frozen=True):
    """A user of the key store, logged in."""

    provider_id: bytes
    user_id: bytes
    session_id: bytes


class VaultSession(Struct, frozen=True):
    """A user of the vault, logged in."""

    provider_id: bytes
    user_id: bytes
    session_id: bytes


class Service(Struct, frozen=True):
    """The other area of the same deployment."""
