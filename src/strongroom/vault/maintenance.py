"""What the vault does from time to time without being asked."""

from strongroom.runtime.clock import DAY
from strongroom.services import pruning
from strongroom.vault import admission_tokens, session
from strongroom.vault.area import Vault

# Until then the refusal of a used or expired token says so.
TOKENS_KEPT = 30 * DAY
# A machine whose clock is behind must still find the row of a string that was revoked.
SESSIONS_KEPT = DAY


async def prune(vault: Vault) -> int:
    """Forget what has long expired; how many rows."""
    now = vault.clock.now()
    return await pruning.prune(
        vault.store,
        (session.prune, now - SESSIONS_KEPT),
        (admission_tokens.prune, now - TOKENS_KEPT),
        (admission_tokens.prune_external, now - TOKENS_KEPT),
    )
