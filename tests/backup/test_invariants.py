"""Every invariant is broken once for each thing it asks, so that none of them can be left out unnoticed."""

from typing import Any

import pytest

from strongroom.backup import integrity
from strongroom.storage.integrity import RESTORE_EPOCH

pytestmark = pytest.mark.anyio


def short(table: str, *columns: str) -> list[str]:
    """One byte in place of a hash or an identifier, in one row, because most of them are unique."""
    return [f"UPDATE {table} SET {column} = x'00' WHERE rowid = (SELECT min(rowid) FROM {table})" for column in columns]


def changed(table: str, *columns: str) -> list[str]:
    """Another value in one column after the other, the same in all rows."""
    return [f"UPDATE {table} SET {column} = x'00'" for column in columns]


def doubled(table: str, columns: str) -> str:
    """Every row twice, in a table without constraints."""
    return (
        f"CREATE TABLE unguarded ({columns}); INSERT INTO unguarded SELECT * FROM {table};"
        f" INSERT INTO unguarded SELECT * FROM {table}; DROP TABLE {table}; ALTER TABLE unguarded RENAME TO {table}"
    )


def span(
    width: int = 60_000,
    starts_at: int = 60_000,
    slot: str = "primary",
    calls: int = 1,
    microseconds: int = 1,
    counts: str = "1, 0, 0, 0, 0",
) -> str:
    """A span of each subscription."""
    return (
        f"INSERT INTO usage_spans SELECT provider_id, id, {width}, {starts_at}, '{slot}', {calls}, {microseconds},"
        f" {counts} FROM subscriptions;"
    )


EPOCH = {
    "there is one restore epoch": [
        "DELETE FROM store_meta WHERE name = 'restore_epoch'",
        doubled("store_meta", "name TEXT, value INTEGER"),
    ]
}
NAMES = ["UPDATE provider_names SET name = 'other'", *changed("provider_names", "provider_id")]
API_KEYS = (
    "INSERT INTO provider_api_keys (key_hash, provider_id, id, name, hint, created_at)"
    " SELECT randomblob(32), provider_id, randomblob(16), name, hint, 1 FROM provider_api_keys, (VALUES (1), (2))"
)
USERNAMES = [
    *changed("usernames", "provider_id", "user_id"),
    "UPDATE usernames SET canonical_username = 'no' || canonical_username",
]
FINGERPRINTS = changed("public_key_fingerprints", "user_id", "provider_id")
EMAILS = [*changed("developer_emails", "developer_id"), "UPDATE developers SET email = 'other'"]
# What breaks each of them, in SQL that constraints let pass.
BREACHES: dict[str, dict[str, list[str]]] = {
    "access": EPOCH
    | {
        "every provider has the look-up of its name": ["DELETE FROM provider_names", *NAMES],
        "every look-up of a provider's name leads to it": NAMES,
        "every subscription belongs to a provider": changed("subscriptions", "provider_id"),
        "every subscription key belongs to a subscription": changed(
            "subscription_keys", "subscription_id", "provider_id"
        ),
        "a subscription has at most one primary and one secondary key in force": [
            "UPDATE subscription_keys SET slot = 'primary'"
        ],
        "every provider API key belongs to a provider": changed("provider_api_keys", "provider_id"),
        "a provider has at most two API keys that are not revoked": [API_KEYS],
        "a closed provider has no subscription that is not cancelled and no key that is not revoked": [
            "UPDATE providers SET closed_at = 1; UPDATE provider_api_keys SET revoked_at = 1",
            "UPDATE providers SET closed_at = 1; UPDATE subscriptions SET state = 'cancelled', ended_at = 1",
        ],
        "a subscription in force was approved and activated, and exactly a cancelled one has ended": [
            "UPDATE subscriptions SET approved_at = NULL WHERE state = 'active'",
            "UPDATE subscriptions SET activated_at = NULL WHERE state = 'active'",
            "UPDATE subscriptions SET state = 'suspended', approved_at = NULL WHERE state = 'active'",
            "UPDATE subscriptions SET ended_at = 1 WHERE state = 'active'",
            "UPDATE subscriptions SET state = 'cancelled'",
        ],
        "every span of usage and every count of refusals belongs to a subscription": [
            *changed("usage_spans", "provider_id", "subscription_id"),
            "INSERT INTO usage_refusals SELECT id, x'00', 60000, 0, 'primary', 'x', 1 FROM providers",
            "INSERT INTO usage_refusals SELECT x'00', id, 60000, 0, 'primary', 'x', 1 FROM subscriptions",
        ],
        "spans of usage begin at a multiple of their width, and every call is counted once by its time": [
            span(width=0),
            span(starts_at=60_001),
            span(microseconds=-1),
            span(calls=0, counts="0, 0, 0, 0, 0"),
            span(calls=2),
            span(counts="1, 1, 0, 0, 0"),
            span(counts="0, 0, 1, 1, 0"),
            span(counts="1, 0, 0, 0, 1"),
        ],
        "a span of usage holds no more refusals than calls": [
            span() + "INSERT INTO usage_refusals SELECT provider_id, id, 60000, 60000, 'primary', code.column1, 1"
            " FROM subscriptions, (VALUES ('one'), ('other')) AS code"
        ],
        "an hour of usage holds the calls of its minutes, a day those of its hours": [
            span() + span(width=3_600_000, starts_at=0) + span(starts_at=3_540_000),
            span(width=3_600_000, starts_at=82_800_000, calls=2, counts="2, 0, 0, 0, 0")
            + span(width=86_400_000, starts_at=0),
        ],
        "hashes of keys have 32 bytes, identifiers 16": [
            *short("subscription_keys", "key_hash"),
            *short("provider_api_keys", "key_hash", "id"),
            *short("subscriptions", "id"),
            *short("providers", "id"),
            "INSERT INTO audit_events VALUES (x'00', zeroblob(16), 1, NULL, 'x', NULL, '')",
            "INSERT INTO audit_events VALUES (zeroblob(16), x'00', 1, NULL, 'x', NULL, '')",
        ],
        "every developer has the look-up of their address": ["DELETE FROM developer_emails", *EMAILS],
        "every look-up of an address leads to the developer who has it": EMAILS,
        "every session of the portal belongs to a developer": changed("developer_sessions", "developer_id"),
        "every passkey and every recovery code belongs to a developer": [
            "INSERT INTO passkeys VALUES (x'00', x'00', zeroblob(16), 'x', x'00', 0, 1, NULL)",
            *changed("recovery_codes", "developer_id"),
        ],
        "every link in mail belongs to a developer": changed("developer_links", "developer_id"),
        "every membership belongs to a developer and to a provider that is not closed": [
            *changed("memberships", "developer_id", "provider_id"),
            "UPDATE providers SET closed_at = 1",
        ],
        "every notification about a subscription is of one that is there": [
            "INSERT INTO notifications_sent VALUES (zeroblob(16), 'end_1', 1, 1)"
        ],
        "every organisation with members has an owner": ["UPDATE memberships SET role = 'member'"],
        "every invitation was sent by an owner of its organisation": [
            *changed("invitations", "provider_id", "invited_by"),
            "UPDATE memberships SET role = 'member'",
        ],
        "an authenticator has a key exactly if it has a beginning": [
            "UPDATE developers SET totp_since = 1",
            "UPDATE developers SET totp_key = x'00'",
        ],
        "sessions and invitations end after they begin": [
            "UPDATE developer_sessions SET expires_at = created_at",
            "UPDATE developer_sessions SET seen_at = created_at - 1",
            "UPDATE invitations SET expires_at = created_at",
        ],
        "hashes have 32 bytes, identifiers 16, and nothing that was sealed is empty": [
            *short("developer_sessions", "token_hash", "id"),
            *short("developer_links", "link_hash"),
            *short("sign_ups", "link_hash"),
            *short("invitations", "link_hash", "id"),
            *short("passkey_challenges", "challenge_hash"),
            *short("recovery_codes", "code_hash"),
            *short("developers", "id"),
            "UPDATE developers SET password_hash = ''",
            "UPDATE mails SET sealed_message = x''",
            "UPDATE shown_once SET sealed_values = x''",
        ],
    },
    "keystore": EPOCH
    | {
        "every user has the look-up of its username": [
            "DELETE FROM usernames WHERE canonical_username = 'ada'",
            *USERNAMES,
        ],
        "every look-up of a username leads to its user": USERNAMES,
        "every session belongs to a user of its provider": changed("sessions", "user_id", "provider_id"),
        "every derivation artefact belongs to a user": changed("passphrase_derivation_artefacts", "user_id"),
        "every key encryption key belongs to a user": changed("key_encryption_keys", "user_id"),
        "a user has at most one key encryption key and one derivation artefact": [
            doubled(
                "key_encryption_keys",
                "user_id BLOB, id BLOB, serialized_key_encryption_key TEXT, created_at INTEGER",
            ),
            doubled(
                "passphrase_derivation_artefacts",
                "user_id BLOB, id BLOB, derivation_artefacts TEXT, verification_artefacts TEXT, created_at INTEGER",
            ),
        ],
        "every data encryption key belongs to a user": changed("data_encryption_keys", "user_id"),
        "every keypair belongs to a user": changed("keypairs", "user_id"),
        "every external identifier names a keypair of the same user": changed(
            "external_identifiers", "keypair_id", "user_id"
        ),
        "an admission token has a time of use exactly if it has a user or a public key": [
            "UPDATE admission_tokens SET used_at = NULL",
            "UPDATE admission_tokens SET used_by = NULL",
            "UPDATE admission_tokens SET used_by = 'other' WHERE used_at IS NOT NULL",
        ],
        "no user was admitted by two admission tokens": [
            "UPDATE admission_tokens SET used_by = 'user:one' WHERE used_by LIKE 'user:%'"
        ],
        "every user that an admission token admitted is there": [
            "UPDATE admission_tokens SET used_by = 'user:one' WHERE used_by LIKE 'user:%'",
            "UPDATE users SET id = zeroblob(16) WHERE canonical_username = 'bea'",
        ],
        "hashes have 32 bytes, digests 33, identifiers 16": [
            *short("admission_tokens", "token_hash", "id"),
            *short("sessions", "secret_hash", "id"),
            *short("data_encryption_keys", "digest", "id"),
            *short("keypairs", "digest", "id"),
            *short("key_encryption_keys", "id"),
            *short("passphrase_derivation_artefacts", "id"),
            *short("external_identifiers", "id"),
            *short("users", "id"),
        ],
        "sessions end after they begin, and nothing that was stored is empty": [
            "UPDATE sessions SET valid_till = valid_from",
            "UPDATE users SET passphrase_hash = ''",
            "UPDATE users SET canonical_username = ''",
            "UPDATE key_encryption_keys SET serialized_key_encryption_key = ''",
            "UPDATE data_encryption_keys SET serialized_data_encryption_key = ''",
            "UPDATE keypairs SET encrypted_serialized_key = ''",
            "UPDATE keypairs SET public_key = ''",
        ],
    },
    "vault": EPOCH
    | {
        "every user has the look-up of its public key": ["DELETE FROM public_key_fingerprints", *FINGERPRINTS],
        "every look-up of a public key leads to its user": FINGERPRINTS,
        "every look-up of a key store user leads to a user": changed("keystore_users", "user_id", "provider_id"),
        "a user has one public key and belongs to at most one key store user": [
            "INSERT INTO public_key_fingerprints SELECT randomblob(32), provider_id, id FROM users",
            "INSERT INTO keystore_users SELECT randomblob(16), provider_id, user_id FROM keystore_users",
        ],
        "every session belongs to a user and to no later generation": [
            *changed("sessions", "user_id"),
            "UPDATE sessions SET generation = 2",
            "UPDATE sessions SET generation = 0",
        ],
        "sessions end after they begin": ["UPDATE sessions SET valid_till = valid_from"],
        "an admission token has a time of use exactly if it has a user": [
            "UPDATE admission_tokens SET used_at = NULL",
            "UPDATE admission_tokens SET used_by = NULL",
        ],
        "a token that is given to a key store user again is an admission token of that user": [
            *short("external_admission_tokens", "token_hash"),
            *changed("external_admission_tokens", "provider_id"),
            "UPDATE external_admission_tokens SET keystore_user_id = admission_token_id",
            *changed("external_admission_tokens", "admission_token_id"),
            "UPDATE external_admission_tokens SET expires_at = expires_at + 1",
        ],
        "a used admission token admitted a user of its provider": [
            "UPDATE admission_tokens SET used_by = x'00' WHERE used_by IS NOT NULL",
            *changed("admission_tokens", "provider_id"),
        ],
        "a user admitted by a key store user's token belongs to that key store user": [
            "DELETE FROM keystore_users",
            *changed("keystore_users", "keystore_user_id", "provider_id", "user_id"),
        ],
        "no user was admitted by two admission tokens": [
            "UPDATE admission_tokens SET used_by = (SELECT min(id) FROM users) WHERE used_by IS NOT NULL"
        ],
        "every parent of a classification node is a node of its scheme": [
            *changed("classification_nodes", "parent_id"),
            "UPDATE classification_nodes SET scheme = x'00' WHERE parent_id IS NULL AND name = 'identity'",
        ],
        "no classification node is below itself": [
            "UPDATE classification_nodes SET parent_id = node_id WHERE name = 'identity'"
        ],
        "every classification node has its image": [
            "DELETE FROM images WHERE image_id = (SELECT min(image_id) FROM images)"
        ],
        "pictures are what their hashes are of": ["UPDATE images SET content = x'00'"],
        "hashes and fingerprints have 32 bytes, identifiers 16": [
            *short("admission_tokens", "token_hash", "id"),
            *short("external_admission_tokens", "token_hash", "admission_token_id"),
            *short("public_key_fingerprints", "fingerprint"),
            *short("images", "content_hash"),
            "UPDATE images SET content = x''",
            *short("sessions", "id"),
            *short("users", "id"),
            "UPDATE users SET public_key = ''",
        ],
    },
}

CLOSED = (
    "UPDATE providers SET closed_at = 1; UPDATE provider_api_keys SET revoked_at = 1;"
    "DELETE FROM memberships; DELETE FROM invitations;"
)
OTHER = "SET provider_id = zeroblob(16)"
OTHER_PROVIDER = (
    "INSERT INTO providers VALUES (zeroblob(16), 'other', 'any', 1, NULL);"
    "INSERT INTO provider_names VALUES ('other', zeroblob(16));"
)
# What comes near to breaking one, and does not.
SOUND = {
    "access": [
        "UPDATE subscription_keys SET replaced_at = CASE slot WHEN 'primary' THEN 1 END, slot = 'primary'",
        API_KEYS + "; UPDATE provider_api_keys SET revoked_at = 1 WHERE name = 'sandbox' AND created_at > 1",
        CLOSED + "UPDATE subscriptions SET state = 'cancelled', ended_at = 1",
        OTHER_PROVIDER + "UPDATE providers SET closed_at = 1 WHERE name = 'other'",
        "DELETE FROM usage_spans;"
        + span(width=1, microseconds=0)
        + span()
        + span(starts_at=120_000)
        + span(width=120_000, starts_at=120_000)
        + span(slot="secondary")
        + "INSERT INTO usage_refusals SELECT provider_id, subscription_id, width, starts_at, slot, 'one', calls"
        " FROM usage_spans",
        "DELETE FROM usage_spans;"
        + span(calls=9, counts="9, 0, 0, 0, 0")
        + span(width=3_600_000, starts_at=3_600_000)
        + span(slot="secondary")
        + span(slot="secondary", starts_at=3_540_000)
        + span(slot="secondary", width=3_600_000, starts_at=0, calls=2, counts="2, 0, 0, 0, 0")
        + span(slot="secondary", width=86_400_000, starts_at=0, calls=3, counts="3, 0, 0, 0, 0"),
        "INSERT INTO audit_events VALUES (zeroblob(16), zeroblob(16), 1, NULL, 'x', NULL, '')",
        "INSERT INTO passkeys SELECT x'00', id, id, 'x', x'00', 0, 1, NULL FROM developers",
        "INSERT INTO notifications_sent SELECT id, 'end_1', 1, 1 FROM subscriptions",
        "INSERT INTO notifications_sent VALUES (zeroblob(32), 'end_1', 1, 1)",
    ],
    "keystore": ["UPDATE admission_tokens SET used_by = 'ended:' || used_by WHERE used_by LIKE 'key:%'"],
}
MISSING_PROVIDER = "not true of 1: every provider that rows belong to is in access"
MISSING_USER = "vault: not true of 1: every key store user that users belong to is in the key store"
USERS = f"UPDATE users {OTHER}; UPDATE usernames {OTHER}; UPDATE sessions {OTHER};"
WITHOUT_TOKENS = "DELETE FROM admission_tokens; DELETE FROM external_admission_tokens;"
# Where every area for itself is sound.
ACROSS = [
    ({"keystore": USERS, "vault": "DELETE FROM keystore_users;" + WITHOUT_TOKENS}, f"keystore: {MISSING_PROVIDER}"),
    ({"keystore": f"UPDATE admission_tokens {OTHER}"}, f"keystore: {MISSING_PROVIDER}"),
    (
        {
            "vault": f"{WITHOUT_TOKENS} DELETE FROM keystore_users; UPDATE users {OTHER};"
            f" UPDATE public_key_fingerprints {OTHER}"
        },
        f"vault: {MISSING_PROVIDER}",
    ),
    (
        {"vault": f"UPDATE admission_tokens {OTHER} WHERE used_by IS NULL AND keystore_user_id IS NULL"},
        f"vault: {MISSING_PROVIDER}",
    ),
    ({"vault": f"{WITHOUT_TOKENS} UPDATE keystore_users SET keystore_user_id = zeroblob(16)"}, MISSING_USER),
    # There is such a user, of another provider.
    ({"access": OTHER_PROVIDER, "keystore": USERS}, MISSING_USER),
]


def test_every_invariant_has_its_breach() -> None:
    assert {area: set(breaches) for area, breaches in BREACHES.items()} == {
        area: {*RESTORE_EPOCH, *of_area.invariants} for area, of_area in integrity.OF_AREA.items()
    }


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_every_breach_is_found_and_named_without_values(populated: Any) -> None:
    for area, breaches in BREACHES.items():
        # The other areas would be read as often, for nothing.
        populated.deployment.given["areas"] = "portal" if area == "access" else area
        for sentence, statements in breaches.items():
            for statement in statements:
                found = await populated.deployment.found_after({area: statement})
                # Rows that break a constraint are there only where the table has lost it, which is told as well.
                assert "unguarded" in statement or all(line.startswith(f"{area}: not true of ") for line in found)
                assert any(line.endswith(f": {sentence}") for line in found), (statement, found)
                assert "ada" not in "".join(found)


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_what_is_sound_is_not_told(populated: Any) -> None:
    for area, statements in SOUND.items():
        for statement in statements:
            assert await populated.deployment.found_after({area: statement}) == [], statement


@pytest.mark.parametrize("engine", ["sqlite"])
async def test_what_one_area_says_of_another_is_looked_up_there(populated: Any) -> None:
    for changes, finding in ACROSS:
        assert await populated.deployment.found_after(changes) == [finding], changes
