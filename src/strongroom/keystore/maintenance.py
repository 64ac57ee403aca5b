"""What the key store does from time to time without being asked."""

from strongroom.keystore import admission_tokens, session
from strongroom.keystore.area import Keystore
from strongroom.runtime.clock import DAY
from strongroom.storage import Transaction

# Until then a used or expired token is still told as such.
TOKENS_KEPT = 30 * DAY
BATCH = 500


async def prune(keystore: Keystore) -> int:
    """Forget what has long expired, in small transactions; how many rows."""
    now = keystore.clock.now()

    async def some(tx: Transaction) -> int:
        return await session.prune(tx, now, BATCH) + await admission_tokens.prune(tx, now - TOKENS_KEPT, BATCH)

    total = 0
    while pruned := await keystore.store.write(some):
        total += pruned
    return total
