"""What the vault does from time to time without being asked."""

from strongroom.storage import Transaction
from strongroom.vault import admission_tokens, session
from strongroom.vault.area import Vault


async def prune(vault: Vault) -> int:
    """Forget what has long expired, in small transactions; how many rows."""
    now = vault.clock.now()

    async def some(tx: Transaction) -> int:
        return await session.prune(tx, now) + await admission_tokens.prune(tx, now)

    total = 0
    while pruned := await vault.store.write(some):
        total += pruned
    return total
