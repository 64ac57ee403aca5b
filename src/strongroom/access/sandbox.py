"""A sandbox provider with keys to try the service with.

The keys are made from the server secret, so that they are the same at every start and stored nowhere in clear.
"""

from dataclasses import dataclass

from strongroom.access import providers, subscriptions
from strongroom.runtime import tokens
from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Transaction

NAME = "sandbox"

OWN_KEY = "SELECT 1 FROM provider_api_keys WHERE key_hash = :key_hash AND provider_id = :provider_id"


class NotOurs(Exception):
    """There is a provider of the sandbox's name that this server secret did not make, or that was closed."""


@dataclass(frozen=True, slots=True, repr=False)
class SandboxKeys:
    subscription_key: str
    secondary_subscription_key: str
    inactive_subscription_key: str
    """Of a subscription that was never activated."""
    provider_api_key: str


def keys(secret: ServerSecret) -> SandboxKeys:
    def key(prefix: tokens.Prefix, name: str) -> str:
        return tokens.mint(prefix, secret.mac("sandbox", name.encode()))

    return SandboxKeys(
        subscription_key=key(tokens.Prefix.subscription_key, "primary"),
        secondary_subscription_key=key(tokens.Prefix.subscription_key, "secondary"),
        inactive_subscription_key=key(tokens.Prefix.subscription_key, "inactive"),
        provider_api_key=key(tokens.Prefix.provider_api_key, "provider"),
    )


async def ensure(tx: Transaction, secret: ServerSecret, now: int) -> SandboxKeys:
    """Make the sandbox provider unless it is there; its keys. `NotOurs` where they would be refused."""
    made = keys(secret)
    found = await providers.find(tx, NAME)
    if found is None:
        try:
            provider_id = await providers.create(tx, NAME, now)
        except providers.NameTaken:
            # Another process was faster, or the provider of that name was closed.
            found = await providers.find(tx, NAME)
            if found is None:
                raise NotOurs from None
    if found is not None:
        if await tx.one(OWN_KEY, key_hash=tokens.digest(made.provider_api_key), provider_id=found) is None:
            raise NotOurs
        return made
    await providers.create_key(tx, provider_id, NAME, now, made.provider_api_key)
    active = await subscriptions.create(
        tx, provider_id, NAME, now, (made.subscription_key, made.secondary_subscription_key)
    )
    await subscriptions.activate(tx, provider_id, active.id, now)
    unused = tokens.mint(tokens.Prefix.subscription_key)
    await subscriptions.create(tx, provider_id, f"{NAME}, inactive", now, (made.inactive_subscription_key, unused))
    return made
