"""Who is calling, as types: a handler cannot be written without saying whom it serves."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Subscription:
    """The holder of an active subscription key. Every other principal of the request belongs to its provider."""

    provider_id: bytes
    subscription_id: bytes
    derived_only: bool
    """True where the provider takes derived login secrets only."""


@dataclass(frozen=True, slots=True)
class Provider:
    """The external party, known by its provider API key."""

    provider_id: bytes
    provider_key_id: bytes


@dataclass(frozen=True, slots=True)
class KeystoreSession:
    """A user of the key store, logged in."""

    provider_id: bytes
    user_id: bytes
    session_id: bytes


@dataclass(frozen=True, slots=True)
class VaultSession:
    """A user of the vault, logged in."""

    provider_id: bytes
    user_id: bytes
    session_id: bytes


@dataclass(frozen=True, slots=True)
class Service:
    """The other area of the same deployment."""
