"""What a restore ends: every session and every admission token, so that nothing good for one use is used twice.

What happened after the backup is not in it: a logout, a token's use. So no permission from before is believed.
"""

from strongroom.storage.copying import Destination

# A recovery code of the portal that was used since is good again: without them somebody who lost a second factor could
# not come in any more.

# Not below what it was, should the clock have been set back.
_RAISE_EPOCH = """
INSERT INTO store_meta (name, value) VALUES ('restore_epoch', :now)
ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE store_meta.value < excluded.value
"""
_END_SESSIONS = "UPDATE sessions SET revoked_at = :now WHERE revoked_at IS NULL"

# Expired at the time of issue, so that they are told as expired; but not in the future, should the clock be behind.
_END_KEYSTORE_TOKENS = """
UPDATE admission_tokens SET expires_at = CASE WHEN issued_at < :now THEN issued_at ELSE :now END WHERE used_at IS NULL
"""
# A public key that has claimed a token may claim it again, in case its vault user could not be stored. That vault user
# may have been stored after the backup, so this permission ends too.
_END_CLAIMS = "UPDATE admission_tokens SET used_by = 'ended:' || used_by WHERE used_by LIKE 'key:%'"

_END_VAULT_TOKENS = """
UPDATE admission_tokens SET expires_at = CASE WHEN created_at < :now THEN created_at ELSE :now END WHERE used_at IS NULL
"""
# Strings need no row to be good, and where the clock is behind, some were issued after `restore_epoch`.
_END_STRINGS = "UPDATE users SET session_generation = session_generation + 1"
# Otherwise endpoint 9 would give the same token out again.
_END_EXTERNAL_TOKENS = "DELETE FROM external_admission_tokens"

# The portal mails links, and a code or a sign-in half done is good for one use like they are. Mail that was waiting has
# been sent since, or leads nowhere now.
_END_PORTAL_SESSIONS = "DELETE FROM developer_sessions"
_END_SIGN_UPS = "DELETE FROM sign_ups"
_END_LINKS = "DELETE FROM developer_links"
_END_CHALLENGES = "DELETE FROM passkey_challenges"
_END_MAILS = "DELETE FROM mails"
_END_INVITATIONS = "DELETE FROM invitations"
_END_SHOWN_ONCE = "DELETE FROM shown_once"

_ENDINGS = {
    "keystore": (_END_SESSIONS, _END_KEYSTORE_TOKENS, _END_CLAIMS),
    "access": (
        _END_PORTAL_SESSIONS,
        _END_SIGN_UPS,
        _END_LINKS,
        _END_CHALLENGES,
        _END_MAILS,
        _END_INVITATIONS,
        _END_SHOWN_ONCE,
    ),
    "vault": (_END_SESSIONS, _END_STRINGS, _END_VAULT_TOKENS, _END_EXTERNAL_TOKENS),
}


async def end_permissions(area: str, destination: Destination, now: int) -> None:
    """End sessions and admission tokens, and raise `restore_epoch`."""
    for statement in _ENDINGS[area]:
        values = {"now": now} if ":now" in statement else {}
        await destination.run(statement, **values)
    await destination.run(_RAISE_EPOCH, now=now)
