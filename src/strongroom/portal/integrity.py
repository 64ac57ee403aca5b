"""What must be true of the rows of the portal, what can be made again, and what a restore ends."""

from strongroom.portal.accounts.emails import canonical_email
from strongroom.runtime.secret import ServerSecret
from strongroom.storage import Row
from strongroom.storage.integrity import Integrity, Recomputed

INVARIANTS = {
    "every developer has the look-up of their address": """
SELECT count(*) FROM (SELECT id, email FROM developers
EXCEPT SELECT developer_id, email FROM developer_emails) AS missing""",
    "every look-up of an address leads to the developer who has it": """
SELECT count(*) FROM (SELECT developer_id, email FROM developer_emails
EXCEPT SELECT id, email FROM developers) AS missing""",
    "every session of the portal belongs to a developer": """
SELECT count(*) FROM (SELECT developer_id FROM developer_sessions EXCEPT SELECT id FROM developers) AS missing""",
    "every passkey and every recovery code belongs to a developer": """
SELECT (SELECT count(*) FROM (SELECT developer_id FROM passkeys EXCEPT SELECT id FROM developers) AS missing)
     + (SELECT count(*) FROM (SELECT developer_id FROM recovery_codes EXCEPT SELECT id FROM developers) AS missing)""",
    "every link in mail belongs to a developer": """
SELECT count(*) FROM (SELECT developer_id FROM developer_links EXCEPT SELECT id FROM developers) AS missing""",
    "every membership belongs to a developer and to a provider that is not closed": """
SELECT (SELECT count(*) FROM (SELECT developer_id FROM memberships EXCEPT SELECT id FROM developers) AS missing)
     + (SELECT count(*) FROM (SELECT provider_id FROM memberships
        EXCEPT SELECT id FROM providers WHERE closed_at IS NULL) AS missing)""",
    "every organisation with members has an owner": """
SELECT count(*) FROM (SELECT provider_id FROM memberships GROUP BY provider_id
HAVING sum(CASE role WHEN 'owner' THEN 1 ELSE 0 END) = 0) AS unowned""",
    # Beside subscriptions, keys stand there by their hash.
    "every notification about a subscription is of one that is there": """
SELECT count(*) FROM (SELECT subject_id FROM notifications_sent WHERE length(subject_id) = 16
EXCEPT SELECT id FROM subscriptions) AS missing""",
    "every invitation was sent by an owner of its organisation": """
SELECT count(*) FROM (SELECT provider_id, invited_by FROM invitations
EXCEPT SELECT provider_id, developer_id FROM memberships WHERE role = 'owner') AS missing""",
    "an authenticator has a key exactly if it has a beginning": """
SELECT count(*) FROM developers WHERE (totp_key IS NULL) <> (totp_since IS NULL)""",
    "sessions and invitations end after they begin": """
SELECT (SELECT count(*) FROM developer_sessions WHERE expires_at <= created_at OR seen_at < created_at)
     + (SELECT count(*) FROM invitations WHERE expires_at <= created_at)""",
    "hashes have 32 bytes, identifiers 16, and nothing that was sealed is empty": """
SELECT (SELECT count(*) FROM developer_sessions WHERE length(token_hash) <> 32 OR length(id) <> 16)
     + (SELECT count(*) FROM developer_links WHERE length(link_hash) <> 32)
     + (SELECT count(*) FROM sign_ups WHERE length(link_hash) <> 32)
     + (SELECT count(*) FROM invitations WHERE length(link_hash) <> 32 OR length(id) <> 16)
     + (SELECT count(*) FROM passkey_challenges WHERE length(challenge_hash) <> 32)
     + (SELECT count(*) FROM recovery_codes WHERE length(code_hash) <> 32)
     + (SELECT count(*) FROM developers WHERE length(id) <> 16 OR password_hash = '')
     + (SELECT count(*) FROM mails WHERE length(sealed_message) = 0)
     + (SELECT count(*) FROM shown_once WHERE length(sealed_values) = 0)""",
}


def _recomputed(secret: ServerSecret | None) -> dict[str, Recomputed]:
    return {
        "developers are looked up by the canonical form of their addresses": Recomputed(
            "SELECT email FROM developers", _is_canonical
        )
    }


def _is_canonical(rows: list[Row]) -> bool:
    ((email,),) = rows
    return bool(canonical_email(email) == email)


INTEGRITY = Integrity(
    invariants=INVARIANTS,
    recomputed=_recomputed,
    # The portal mails links, and a code or a sign-in half done is good for one use like they are. Mail that was waiting
    # has been sent since, or leads nowhere now. Recovery codes stay, also those used since: without them a developer
    # who lost the second factor could not come in any more.
    endings=(
        "DELETE FROM developer_sessions",
        "DELETE FROM sign_ups",
        "DELETE FROM developer_links",
        "DELETE FROM passkey_challenges",
        "DELETE FROM mails",
        "DELETE FROM invitations",
        "DELETE FROM shown_once",
    ),
)
