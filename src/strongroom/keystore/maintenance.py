"""What the key store does from time to time without being asked."""

from strongroom.keystore import admission_tokens, session
from strongroom.keystore.area import Keystore
from strongroom.runtime.clock import DAY
from strongroom.services import pruning

# Until then the refusal of a used or expired token says so.
TOKENS_KEPT = 30 * DAY


async def prune(keystore: Keystore) -> int:
    """Forget what has long expired; how many rows."""
    now = keystore.clock.now()
    return await pruning.prune(keystore.store, (session.prune, now), (admission_tokens.prune, now - TOKENS_KEPT))
