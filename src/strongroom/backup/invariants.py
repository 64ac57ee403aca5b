"""What has to be true across the rows of an area, beyond what its constraints can say: one count of breaches each."""

_EPOCH = {
    "there is one restore epoch": """
SELECT CASE count(*) WHEN 1 THEN 0 ELSE 1 END FROM store_meta WHERE name = 'restore_epoch'""",
}

ACCESS = _EPOCH | {
    "every provider has the look-up of its name": """
SELECT count(*) FROM providers p LEFT JOIN provider_names n ON n.name = p.name AND n.provider_id = p.id
WHERE n.name IS NULL""",
    "every look-up of a provider's name leads to it": """
SELECT count(*) FROM provider_names n LEFT JOIN providers p ON p.id = n.provider_id AND p.name = n.name
WHERE p.id IS NULL""",
    "every subscription belongs to a provider": """
SELECT count(*) FROM subscriptions s LEFT JOIN providers p ON p.id = s.provider_id WHERE p.id IS NULL""",
    "every subscription key belongs to a subscription": """
SELECT count(*) FROM subscription_keys k
LEFT JOIN subscriptions s ON s.provider_id = k.provider_id AND s.id = k.subscription_id WHERE s.id IS NULL""",
    "a subscription has at most one primary and one secondary key in force": """
SELECT count(*) FROM (SELECT 1 FROM subscription_keys WHERE replaced_at IS NULL
GROUP BY provider_id, subscription_id, slot HAVING count(*) > 1) AS doubled""",
    "every provider API key belongs to a provider": """
SELECT count(*) FROM provider_api_keys k LEFT JOIN providers p ON p.id = k.provider_id WHERE p.id IS NULL""",
    "a provider has at most two API keys that are not revoked": """
SELECT count(*) FROM (SELECT 1 FROM provider_api_keys WHERE revoked_at IS NULL
GROUP BY provider_id HAVING count(*) > 2) AS crowded""",
    "a closed provider has no subscription that is not cancelled and no key that is not revoked": """
SELECT (SELECT count(*) FROM subscriptions s JOIN providers p ON p.id = s.provider_id
        WHERE p.closed_at IS NOT NULL AND s.state <> 'cancelled')
     + (SELECT count(*) FROM provider_api_keys k JOIN providers p ON p.id = k.provider_id
        WHERE p.closed_at IS NOT NULL AND k.revoked_at IS NULL)""",
    "a subscription in force was approved and activated, and exactly a cancelled one has ended": """
SELECT count(*) FROM subscriptions WHERE (ended_at IS NOT NULL) <> (state = 'cancelled')
OR (state IN ('active', 'suspended') AND (approved_at IS NULL OR activated_at IS NULL))""",
    "every span of usage and every count of refusals belongs to a subscription": """
SELECT (SELECT count(*) FROM usage_spans u LEFT JOIN subscriptions s
        ON s.provider_id = u.provider_id AND s.id = u.subscription_id WHERE s.id IS NULL)
     + (SELECT count(*) FROM usage_refusals r LEFT JOIN subscriptions s
        ON s.provider_id = r.provider_id AND s.id = r.subscription_id WHERE s.id IS NULL)""",
    "spans of usage begin at a multiple of their width, and every call is counted once by its time": """
SELECT count(*) FROM usage_spans WHERE width < 1 OR starts_at % nullif(width, 0) <> 0 OR microseconds < 0
OR calls < 1 OR calls <> within_5_ms + within_20_ms + within_100_ms + within_500_ms + slower""",
    # Not the other way round: of what is too old the spans may be forgotten before the refusals.
    "a span of usage holds no more refusals than calls": """
SELECT count(*) FROM (SELECT u.calls FROM usage_spans u JOIN usage_refusals r ON r.provider_id = u.provider_id
AND r.subscription_id = u.subscription_id AND r.width = u.width AND r.starts_at = u.starts_at AND r.slot = u.slot
GROUP BY u.provider_id, u.subscription_id, u.width, u.starts_at, u.slot, u.calls
HAVING sum(r.calls) > u.calls) AS exceeded""",
    # Where there is one: each is forgotten in its own time, the shorter ones first.
    "an hour of usage holds the calls of its minutes, a day those of its hours": """
SELECT count(*) FROM (SELECT w.calls FROM (SELECT provider_id, subscription_id, slot, starts_at, calls,
        CASE width WHEN 60000 THEN 3600000 ELSE 86400000 END AS wider
    FROM usage_spans WHERE width IN (60000, 3600000)) AS n
JOIN usage_spans w ON w.provider_id = n.provider_id AND w.subscription_id = n.subscription_id AND w.slot = n.slot
AND w.width = n.wider AND w.starts_at = n.starts_at - n.starts_at % n.wider
GROUP BY w.provider_id, w.subscription_id, w.width, w.starts_at, w.slot, w.calls
HAVING sum(n.calls) > w.calls) AS exceeded""",
    "hashes of keys have 32 bytes, identifiers 16": """
SELECT (SELECT count(*) FROM subscription_keys WHERE length(key_hash) <> 32)
     + (SELECT count(*) FROM provider_api_keys WHERE length(key_hash) <> 32 OR length(id) <> 16)
     + (SELECT count(*) FROM subscriptions WHERE length(id) <> 16)
     + (SELECT count(*) FROM providers WHERE length(id) <> 16)
     + (SELECT count(*) FROM audit_events WHERE length(subject_id) <> 16 OR length(id) <> 16)""",
}

PORTAL = {
    "every developer has the look-up of their address": """
SELECT count(*) FROM developers d LEFT JOIN developer_emails e ON e.developer_id = d.id AND e.email = d.email
WHERE e.developer_id IS NULL""",
    "every look-up of an address leads to the developer who has it": """
SELECT count(*) FROM developer_emails e LEFT JOIN developers d ON d.id = e.developer_id AND d.email = e.email
WHERE d.id IS NULL""",
    "every session of the portal belongs to a developer": """
SELECT count(*) FROM developer_sessions s LEFT JOIN developers d ON d.id = s.developer_id WHERE d.id IS NULL""",
    "every passkey and every recovery code belongs to a developer": """
SELECT (SELECT count(*) FROM passkeys p LEFT JOIN developers d ON d.id = p.developer_id WHERE d.id IS NULL)
     + (SELECT count(*) FROM recovery_codes c LEFT JOIN developers d ON d.id = c.developer_id WHERE d.id IS NULL)""",
    "every link in mail belongs to a developer": """
SELECT count(*) FROM developer_links l LEFT JOIN developers d ON d.id = l.developer_id WHERE d.id IS NULL""",
    "every membership belongs to a developer and to a provider that is not closed": """
SELECT count(*) FROM memberships m LEFT JOIN developers d ON d.id = m.developer_id
LEFT JOIN providers p ON p.id = m.provider_id AND p.closed_at IS NULL WHERE d.id IS NULL OR p.id IS NULL""",
    "every organisation with members has an owner": """
SELECT count(*) FROM (SELECT provider_id FROM memberships GROUP BY provider_id
HAVING sum(CASE role WHEN 'owner' THEN 1 ELSE 0 END) = 0) AS unowned""",
    # Beside subscriptions, keys stand there by their hash.
    "every notification about a subscription is of one that is there": """
SELECT count(*) FROM (SELECT DISTINCT subject_id FROM notifications_sent WHERE length(subject_id) = 16
EXCEPT SELECT id FROM subscriptions) AS missing""",
    "every invitation was sent by an owner of its organisation": """
SELECT count(*) FROM invitations i LEFT JOIN memberships m ON m.provider_id = i.provider_id
AND m.developer_id = i.invited_by AND m.role = 'owner' WHERE m.role IS NULL""",
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

KEYSTORE = _EPOCH | {
    "every user has the look-up of its username": """
SELECT count(*) FROM users u LEFT JOIN usernames n ON n.provider_id = u.provider_id
AND n.canonical_username = u.canonical_username AND n.user_id = u.id WHERE n.user_id IS NULL""",
    "every look-up of a username leads to its user": """
SELECT count(*) FROM usernames n LEFT JOIN users u ON u.id = n.user_id AND u.provider_id = n.provider_id
AND u.canonical_username = n.canonical_username WHERE u.id IS NULL""",
    "every session belongs to a user of its provider": """
SELECT count(*) FROM sessions s LEFT JOIN users u ON u.id = s.user_id AND u.provider_id = s.provider_id
WHERE u.id IS NULL""",
    "every derivation artefact belongs to a user": """
SELECT count(*) FROM passphrase_derivation_artefacts a LEFT JOIN users u ON u.id = a.user_id WHERE u.id IS NULL""",
    "every key encryption key belongs to a user": """
SELECT count(*) FROM key_encryption_keys k LEFT JOIN users u ON u.id = k.user_id WHERE u.id IS NULL""",
    "a user has at most one key encryption key and one derivation artefact": """
SELECT (SELECT count(*) - count(DISTINCT user_id) FROM key_encryption_keys)
     + (SELECT count(*) - count(DISTINCT user_id) FROM passphrase_derivation_artefacts)""",
    "every data encryption key belongs to a user": """
SELECT count(*) FROM data_encryption_keys k LEFT JOIN users u ON u.id = k.user_id WHERE u.id IS NULL""",
    "every keypair belongs to a user": """
SELECT count(*) FROM keypairs k LEFT JOIN users u ON u.id = k.user_id WHERE u.id IS NULL""",
    "every external identifier names a keypair of the same user": """
SELECT count(*) FROM external_identifiers e
LEFT JOIN keypairs k ON k.user_id = e.user_id AND k.id = e.keypair_id WHERE k.id IS NULL""",
    "an admission token has a time of use exactly if it has a user or a public key": """
SELECT count(*) FROM admission_tokens WHERE (used_at IS NULL) <> (used_by IS NULL)
OR (used_by NOT LIKE 'user:%' AND used_by NOT LIKE 'key:%' AND used_by NOT LIKE 'ended:key:%')""",
    "no two users were admitted by one token, and none by none": """
SELECT count(*) FROM (SELECT used_by FROM admission_tokens WHERE used_by LIKE 'user:%'
GROUP BY used_by HAVING count(*) > 1) AS doubled""",
    # In hexadecimal, because not every text is an identifier.
    "whoever an admission token admitted is a user": """
SELECT count(*) FROM (SELECT replace(substr(used_by, 6), '-', '') FROM admission_tokens WHERE used_by LIKE 'user:%'
EXCEPT SELECT encode(id, 'hex') FROM users) AS missing""",
    "data encryption keys are what their digests are of": """
SELECT count(*) FROM data_encryption_keys
WHERE digest <> sha256(convert_to(serialized_data_encryption_key, 'UTF8'))""",
    "hashes and digests have 32 bytes, identifiers 16": """
SELECT (SELECT count(*) FROM admission_tokens WHERE length(token_hash) <> 32 OR length(id) <> 16)
     + (SELECT count(*) FROM sessions WHERE length(secret_hash) <> 32 OR length(id) <> 16)
     + (SELECT count(*) FROM data_encryption_keys WHERE length(digest) <> 32 OR length(id) <> 16)
     + (SELECT count(*) FROM keypairs WHERE length(digest) <> 32 OR length(id) <> 16)
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

VAULT = _EPOCH | {
    "every user has the look-up of its public key": """
SELECT count(*) FROM users u LEFT JOIN public_key_fingerprints f ON f.user_id = u.user_id
AND f.provider_id = u.provider_id WHERE f.user_id IS NULL""",
    "every look-up of a public key leads to its user": """
SELECT count(*) FROM public_key_fingerprints f LEFT JOIN users u ON u.user_id = f.user_id
AND u.provider_id = f.provider_id WHERE u.user_id IS NULL""",
    "every look-up of a key store user leads to a user": """
SELECT count(*) FROM keystore_users k LEFT JOIN users u ON u.user_id = k.user_id
AND u.provider_id = k.provider_id WHERE u.user_id IS NULL""",
    "a user has one public key and belongs to at most one key store user": """
SELECT (SELECT count(*) - count(DISTINCT user_id) FROM public_key_fingerprints)
     + (SELECT count(*) - count(DISTINCT user_id) FROM keystore_users)""",
    "every session belongs to a user and to no later generation": """
SELECT count(*) FROM sessions s LEFT JOIN users u ON u.user_id = s.user_id
AND s.generation BETWEEN 1 AND u.session_generation WHERE u.user_id IS NULL""",
    "sessions were first used before their end": """
SELECT count(*) FROM sessions WHERE first_used_at >= expires_at""",
    "an admission token has a time of use exactly if it has a user": """
SELECT count(*) FROM admission_tokens WHERE (used_at IS NULL) <> (used_by IS NULL)""",
    "a token that is given to a key store user again is an admission token of that user": """
SELECT count(*) FROM external_admission_tokens e LEFT JOIN admission_tokens t ON t.token_hash = e.token_hash
AND t.provider_id = e.provider_id AND t.keystore_user_id = e.keystore_user_id
AND t.admission_token_id = e.admission_token_id AND t.expires_at = e.expires_at WHERE t.token_hash IS NULL""",
    "a used admission token admitted a user of its provider": """
SELECT count(*) FROM admission_tokens t LEFT JOIN users u ON u.user_id = t.used_by AND u.provider_id = t.provider_id
WHERE t.used_by IS NOT NULL AND u.user_id IS NULL""",
    # Otherwise that key store user would be given another token, and a second vault user.
    "whom a key store user's token admitted belongs to that key store user": """
SELECT count(*) FROM admission_tokens t LEFT JOIN keystore_users k ON k.keystore_user_id = t.keystore_user_id
AND k.provider_id = t.provider_id AND k.user_id = t.used_by
WHERE t.used_by IS NOT NULL AND t.keystore_user_id IS NOT NULL AND k.user_id IS NULL""",
    "no admission token admitted two users, and no user came in twice": """
SELECT count(*) FROM (SELECT used_by FROM admission_tokens WHERE used_by IS NOT NULL
GROUP BY used_by HAVING count(*) > 1) AS doubled""",
    "every parent of a classification node is a node of its scheme": """
SELECT count(*) FROM classification_nodes n LEFT JOIN classification_nodes p
ON p.node_id = n.parent_id AND p.scheme = n.scheme WHERE n.parent_id IS NOT NULL AND p.node_id IS NULL""",
    "no classification node is below itself": """
WITH RECURSIVE placed AS (SELECT node_id FROM classification_nodes WHERE parent_id IS NULL
UNION SELECT n.node_id FROM classification_nodes n JOIN placed p ON p.node_id = n.parent_id)
SELECT (SELECT count(*) FROM classification_nodes) - (SELECT count(*) FROM placed)""",
    "every classification node has its image": """
SELECT count(*) FROM classification_nodes n LEFT JOIN images i ON i.image_id = n.image_id WHERE i.image_id IS NULL""",
    "pictures are what their hashes are of": """
SELECT count(*) FROM images WHERE content_hash <> sha256(content)""",
    "hashes and fingerprints have 32 bytes, identifiers 16": """
SELECT (SELECT count(*) FROM admission_tokens WHERE length(token_hash) <> 32 OR length(admission_token_id) <> 16)
     + (SELECT count(*) FROM external_admission_tokens
        WHERE length(token_hash) <> 32 OR length(admission_token_id) <> 16)
     + (SELECT count(*) FROM public_key_fingerprints WHERE length(fingerprint) <> 32)
     + (SELECT count(*) FROM images WHERE length(content_hash) <> 32 OR length(content) = 0)
     + (SELECT count(*) FROM sessions WHERE length(session_id) <> 16)
     + (SELECT count(*) FROM users WHERE length(user_id) <> 16 OR public_key = '')""",
}

OF_AREA = {"access": ACCESS | PORTAL, "keystore": KEYSTORE, "vault": VAULT}

# Across areas: what the one names, looked up in the other.
PROVIDERS_NAMED = {
    "keystore": "SELECT provider_id FROM users UNION SELECT provider_id FROM admission_tokens",
    "vault": "SELECT provider_id FROM users UNION SELECT provider_id FROM admission_tokens",
}
PROVIDER = "SELECT 1 FROM providers WHERE id = :id"
# In one order on either side and either engine: that of bytes.
KEYSTORE_USERS_NAMED = """
SELECT keystore_user_id, provider_id FROM keystore_users ORDER BY keystore_user_id, provider_id
"""
KEYSTORE_USERS = "SELECT id, provider_id FROM users ORDER BY id, provider_id"
