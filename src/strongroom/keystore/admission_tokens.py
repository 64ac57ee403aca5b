"""Admission tokens of the key store: each admits one user here, or one public key to the vault."""

from strongroom.runtime.ids import to_text
from strongroom.services import admission_tokens as shared
from strongroom.storage import Transaction

# The same claimant may come again: its insert may have failed, or the answer may have been lost.
CLAIM = """
UPDATE admission_tokens SET used_at = coalesce(used_at, :now), used_by = :used_by
WHERE token_hash = :token_hash AND provider_id = :provider_id
  AND ((used_at IS NULL AND expires_at > :now) OR used_by = :used_by)
"""

check = shared.check
check_form = shared.check_form
issue = shared.issue
prune = shared.prune


async def consume(tx: Transaction, provider_id: bytes, value: str, user_id: bytes, now: int) -> None:
    """Use the token up for a new user."""
    await shared.consume(tx, provider_id, value, f"user:{to_text(user_id)}", now)


async def claim(tx: Transaction, provider_id: bytes, value: str, fingerprint: str, now: int) -> None:
    """Use the token up for the holder of a public key; again for the same key is no error."""
    await shared.consume(tx, provider_id, value, f"key:{fingerprint}", now, sql=CLAIM)
