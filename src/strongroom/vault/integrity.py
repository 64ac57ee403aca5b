"""What must be true of the vault's rows, what can be made again from others, and what a restore ends."""

import hmac
from collections.abc import Mapping

from strongroom.crypto.errors import MalformedKey
from strongroom.crypto.public_keys import PublicKey
from strongroom.runtime import tokens
from strongroom.runtime.secret import ServerSecret
from strongroom.services import admission_tokens as services_tokens
from strongroom.services import sessions, user_directory
from strongroom.storage import Row
from strongroom.storage.integrity import Integrity, Recomputed, Reference
from strongroom.vault import admission_tokens, scheme_file

INVARIANTS = {
    "every user has the look-up of its public key": """
SELECT count(*) FROM (SELECT id, provider_id FROM users
EXCEPT SELECT user_id, provider_id FROM public_key_fingerprints) AS missing""",
    "every look-up of a public key leads to its user": """
SELECT count(*) FROM (SELECT user_id, provider_id FROM public_key_fingerprints
EXCEPT SELECT id, provider_id FROM users) AS missing""",
    "every look-up of a key store user leads to a user": """
SELECT count(*) FROM (SELECT user_id, provider_id FROM keystore_users
EXCEPT SELECT id, provider_id FROM users) AS missing""",
    "a user has one public key and belongs to at most one key store user": """
SELECT (SELECT count(*) - count(DISTINCT user_id) FROM public_key_fingerprints)
     + (SELECT count(*) - count(DISTINCT user_id) FROM keystore_users)""",
    "every session belongs to a user and to no later generation": """
SELECT count(*) FROM sessions LEFT JOIN users ON users.id = sessions.user_id
AND sessions.generation BETWEEN 1 AND users.session_generation WHERE users.id IS NULL""",
    "sessions end after they begin": """
SELECT count(*) FROM sessions WHERE valid_till <= valid_from""",
    "an admission token has a time of use exactly if it has a user": """
SELECT count(*) FROM admission_tokens WHERE (used_at IS NULL) <> (used_by IS NULL)""",
    "a token that is given to a key store user again is an admission token of that user": """
SELECT count(*) FROM (SELECT token_hash, provider_id, keystore_user_id, admission_token_id, expires_at
FROM external_admission_tokens
EXCEPT SELECT token_hash, provider_id, keystore_user_id, id, expires_at FROM admission_tokens) AS missing""",
    "a used admission token admitted a user of its provider": """
SELECT count(*) FROM (SELECT used_by, provider_id FROM admission_tokens WHERE used_by IS NOT NULL
EXCEPT SELECT id, provider_id FROM users) AS missing""",
    # Otherwise that key store user would be given another token, and a second vault user.
    "a user admitted by a key store user's token belongs to that key store user": """
SELECT count(*) FROM (SELECT keystore_user_id, provider_id, used_by FROM admission_tokens
WHERE used_by IS NOT NULL AND keystore_user_id IS NOT NULL
EXCEPT SELECT keystore_user_id, provider_id, user_id FROM keystore_users) AS missing""",
    "no user was admitted by two admission tokens": """
SELECT count(*) FROM (SELECT used_by FROM admission_tokens WHERE used_by IS NOT NULL
GROUP BY used_by HAVING count(*) > 1) AS doubled""",
    "every parent of a classification node is a node of its scheme": """
SELECT count(*) FROM (SELECT parent_id, scheme FROM classification_nodes WHERE parent_id IS NOT NULL
EXCEPT SELECT node_id, scheme FROM classification_nodes) AS missing""",
    "no classification node is below itself": """
WITH RECURSIVE placed AS (SELECT node_id FROM classification_nodes WHERE parent_id IS NULL
UNION SELECT n.node_id FROM classification_nodes n JOIN placed p ON p.node_id = n.parent_id)
SELECT (SELECT count(*) FROM classification_nodes) - (SELECT count(*) FROM placed)""",
    "every classification node has its image": """
SELECT count(*) FROM (SELECT image_id FROM classification_nodes EXCEPT SELECT image_id FROM images) AS missing""",
    "pictures are what their hashes are of": """
SELECT count(*) FROM images WHERE content_hash <> sha256(content)""",
    "hashes and fingerprints have 32 bytes, identifiers 16": """
SELECT (SELECT count(*) FROM admission_tokens WHERE length(token_hash) <> 32 OR length(id) <> 16)
     + (SELECT count(*) FROM external_admission_tokens
        WHERE length(token_hash) <> 32 OR length(admission_token_id) <> 16)
     + (SELECT count(*) FROM public_key_fingerprints WHERE length(fingerprint) <> 32)
     + (SELECT count(*) FROM images WHERE length(content_hash) <> 32 OR length(content) = 0)
     + (SELECT count(*) FROM sessions WHERE length(id) <> 16)
     + (SELECT count(*) FROM users WHERE length(id) <> 16 OR public_key = '')""",
}

# One under the other instead of a join: a look-up need not be on the machine of its user.
PUBLIC_KEYS = """
SELECT id, provider_id, public_key, NULL AS fingerprint FROM users
UNION ALL SELECT user_id, provider_id, NULL, fingerprint FROM public_key_fingerprints ORDER BY id, provider_id
"""
NODES = "SELECT scheme, name, node_id FROM classification_nodes"
EXTERNAL_TOKENS = "SELECT admission_token_id, secret_key_id, token_hash FROM external_admission_tokens"

# Strings need no row to be good, and where the clock is behind, some were issued after the time of the restore.
END_STRINGS = "UPDATE users SET session_generation = session_generation + 1"
# Otherwise endpoint 9 would give the same token out again.
END_EXTERNAL_TOKENS = "DELETE FROM external_admission_tokens"

KEYSTORE_USERS_NAMED = """
SELECT keystore_user_id, provider_id FROM keystore_users ORDER BY keystore_user_id, provider_id
"""


def _recomputed(secret: ServerSecret | None) -> Mapping[str, Recomputed]:
    found = {
        "users are looked up by the fingerprints of their public keys": Recomputed(
            PUBLIC_KEYS, _has_fingerprint, key=2
        ),
        "classification nodes have the ids that follow from scheme and name": Recomputed(NODES, _is_node_id),
    }
    if secret is not None:
        found["tokens that are given to key store users again are those that the server secret makes"] = Recomputed(
            EXTERNAL_TOKENS, lambda rows: _is_external_token(rows, secret)
        )
    return found


def _has_fingerprint(rows: list[Row]) -> bool:
    public_keys = [public_key for _, _, public_key, _ in rows if public_key is not None]
    fingerprints = {fingerprint for _, _, _, fingerprint in rows if fingerprint is not None}
    if not public_keys or not fingerprints:
        return True  # what is missing was found before
    try:
        return {PublicKey.parse(public_key).fingerprint_bytes for public_key in public_keys} == fingerprints
    except MalformedKey:
        return False


def _is_node_id(rows: list[Row]) -> bool:
    ((scheme, name, node_id),) = rows
    return bool(scheme_file.node_id(scheme.decode(errors="replace"), name) == node_id)


def _is_external_token(rows: list[Row], secret: ServerSecret) -> bool:
    ((token_id, key_id, token_hash),) = rows
    value = admission_tokens.external_value(secret, token_id, key_id)
    # One made with a secret that is gone opens nothing and is no fault: the next call makes a new one.
    return value is None or hmac.compare_digest(tokens.digest(value), token_hash)


INTEGRITY = Integrity(
    invariants=INVARIANTS,
    recomputed=_recomputed,
    endings=(sessions.REVOKE_ALL, END_STRINGS, services_tokens.EXPIRE_ALL, END_EXTERNAL_TOKENS),
    references={
        "every provider that rows belong to is in access": Reference("providers", user_directory.PROVIDERS),
        "every key store user that users belong to is in the key store": Reference(
            "key store users", KEYSTORE_USERS_NAMED
        ),
    },
)
