"""What must be true of the key store's rows, what can be made again from others, and what a restore ends."""

from collections.abc import Mapping

from strongroom.crypto.errors import MalformedKey, UsernameRefused
from strongroom.crypto.names import canonical_username
from strongroom.crypto.public_keys import PublicKey
from strongroom.keystore import data_encryption_keys, keypairs
from strongroom.runtime.secret import ServerSecret
from strongroom.services import admission_tokens as services_tokens
from strongroom.services import sessions, user_directory
from strongroom.storage import Row
from strongroom.storage.integrity import Integrity, Recomputed, Reference

INVARIANTS = {
    "every user has the look-up of its username": """
SELECT count(*) FROM (SELECT provider_id, canonical_username, id FROM users
EXCEPT SELECT provider_id, canonical_username, user_id FROM usernames) AS missing""",
    "every look-up of a username leads to its user": """
SELECT count(*) FROM (SELECT provider_id, canonical_username, user_id FROM usernames
EXCEPT SELECT provider_id, canonical_username, id FROM users) AS missing""",
    "every session belongs to a user of its provider": """
SELECT count(*) FROM (SELECT user_id, provider_id FROM sessions EXCEPT SELECT id, provider_id FROM users) AS missing""",
    "every derivation artefact belongs to a user": """
SELECT count(*) FROM (SELECT user_id FROM passphrase_derivation_artefacts EXCEPT SELECT id FROM users) AS missing""",
    "every key encryption key belongs to a user": """
SELECT count(*) FROM (SELECT user_id FROM key_encryption_keys EXCEPT SELECT id FROM users) AS missing""",
    "a user has at most one key encryption key and one derivation artefact": """
SELECT (SELECT count(*) - count(DISTINCT user_id) FROM key_encryption_keys)
     + (SELECT count(*) - count(DISTINCT user_id) FROM passphrase_derivation_artefacts)""",
    "every data encryption key belongs to a user": """
SELECT count(*) FROM (SELECT user_id FROM data_encryption_keys EXCEPT SELECT id FROM users) AS missing""",
    "every keypair belongs to a user": """
SELECT count(*) FROM (SELECT user_id FROM keypairs EXCEPT SELECT id FROM users) AS missing""",
    "every external identifier names a keypair of the same user": """
SELECT count(*) FROM (SELECT user_id, keypair_id FROM external_identifiers
EXCEPT SELECT user_id, id FROM keypairs) AS missing""",
    "an admission token has a time of use exactly if it has a user or a public key": """
SELECT count(*) FROM admission_tokens WHERE (used_at IS NULL) <> (used_by IS NULL)
OR (used_by NOT LIKE 'user:%' AND used_by NOT LIKE 'key:%' AND used_by NOT LIKE 'ended:key:%')""",
    "no user was admitted by two admission tokens": """
SELECT count(*) FROM (SELECT used_by FROM admission_tokens WHERE used_by LIKE 'user:%'
GROUP BY used_by HAVING count(*) > 1) AS doubled""",
    # In hexadecimal, because not every text is an identifier.
    "every user that an admission token admitted is there": """
SELECT count(*) FROM (SELECT replace(substr(used_by, 6), '-', '') FROM admission_tokens WHERE used_by LIKE 'user:%'
EXCEPT SELECT encode(id, 'hex') FROM users) AS missing""",
    "hashes have 32 bytes, digests 33, identifiers 16": """
SELECT (SELECT count(*) FROM admission_tokens WHERE length(token_hash) <> 32 OR length(id) <> 16)
     + (SELECT count(*) FROM sessions WHERE length(secret_hash) <> 32 OR length(id) <> 16)
     + (SELECT count(*) FROM data_encryption_keys WHERE length(digest) <> 33 OR length(id) <> 16)
     + (SELECT count(*) FROM keypairs WHERE length(digest) <> 33 OR length(id) <> 16)
     + (SELECT count(*) FROM key_encryption_keys WHERE length(id) <> 16)
     + (SELECT count(*) FROM passphrase_derivation_artefacts WHERE length(id) <> 16)
     + (SELECT count(*) FROM external_identifiers WHERE length(id) <> 16)
     + (SELECT count(*) FROM users WHERE length(id) <> 16)""",
    "sessions end after they begin, and nothing that was stored is empty": """
SELECT (SELECT count(*) FROM sessions WHERE valid_till <= valid_from)
     + (SELECT count(*) FROM users WHERE passphrase_hash = '' OR canonical_username = '')
     + (SELECT count(*) FROM key_encryption_keys WHERE serialized_key_encryption_key = '')
     + (SELECT count(*) FROM data_encryption_keys WHERE serialized_data_encryption_key = '')
     + (SELECT count(*) FROM keypairs WHERE encrypted_serialized_key = '' OR public_key = '')""",
}

USERNAMES = "SELECT username, canonical_username FROM users"
FINGERPRINTS = "SELECT public_key, fingerprint FROM keypairs"

# A public key that has claimed a token may claim it again, in case its vault user could not be stored. That vault user
# may have been stored after the backup, so this permission ends too.
END_CLAIMS = "UPDATE admission_tokens SET used_by = 'ended:' || used_by WHERE substr(used_by, 1, 4) = 'key:'"

USERS = "SELECT id, provider_id FROM users ORDER BY id, provider_id"


def _recomputed(secret: ServerSecret | None) -> Mapping[str, Recomputed]:
    return {
        "users are looked up by the canonical form of their names": Recomputed(USERNAMES, _is_canonical),
        "fingerprints of keypairs are those of their public keys": Recomputed(FINGERPRINTS, _is_fingerprint),
        "keypairs are what their digests are of": Recomputed(keypairs.WITH_DIGESTS, keypairs.has_its_digest, key=2),
        "data encryption keys are what their digests are of": Recomputed(
            data_encryption_keys.WITH_DIGESTS, data_encryption_keys.has_its_digest
        ),
    }


def _is_canonical(rows: list[Row]) -> bool:
    ((username, canonical),) = rows
    try:
        return bool(canonical_username(username) == canonical)
    except UsernameRefused:
        return False


def _is_fingerprint(rows: list[Row]) -> bool:
    ((pem, fingerprint),) = rows
    try:
        return bool(PublicKey.parse(pem).fingerprint == fingerprint)
    except MalformedKey:
        return False


INTEGRITY = Integrity(
    invariants=INVARIANTS,
    recomputed=_recomputed,
    endings=(sessions.REVOKE_ALL, services_tokens.EXPIRE_ALL, END_CLAIMS),
    sets={"key store users": USERS},
    references={"every provider that rows belong to is in access": Reference("providers", user_directory.PROVIDERS)},
)
