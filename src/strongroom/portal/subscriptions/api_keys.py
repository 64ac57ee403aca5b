"""Provider API keys made and revoked, by page and command line alike, each with its note."""

from strongroom.access import providers
from strongroom.runtime import tokens
from strongroom.runtime.clock import duration
from strongroom.services import audit
from strongroom.services.audit import Action
from strongroom.storage import Transaction


async def create(tx: Transaction, provider_id: bytes, name: str, now: int, *, actor_id: bytes | None = None) -> str:
    """The key, which is stored as a hash alone; `providers.TooManyKeys`."""
    key = await providers.create_key(tx, provider_id, name, now)
    detail = f"{name} ({tokens.hint(key)})"
    await audit.record(tx, provider_id, Action.api_key_created, now, actor_id=actor_id, detail=detail)
    return key


async def revoke(
    tx: Transaction, provider_id: bytes, key_id: bytes, grace: int, now: int, *, actor_id: bytes | None = None
) -> bool:
    """End a key after a grace in milliseconds; false where the provider has no such key that works for longer."""
    if not await providers.revoke_key(tx, provider_id, key_id, now + grace):
        return False
    detail = f"works for {duration(grace)} more" if grace else "at once"
    await audit.record(tx, provider_id, Action.api_key_revoked, now, actor_id=actor_id, object_id=key_id, detail=detail)
    return True
