"""What must be true of the rows of providers, keys and usage."""

from strongroom.storage.integrity import Integrity

INVARIANTS = {
    "every provider has the look-up of its name": """
SELECT count(*) FROM (SELECT name, id FROM providers EXCEPT SELECT name, provider_id FROM provider_names) AS missing""",
    "every look-up of a provider's name leads to it": """
SELECT count(*) FROM (SELECT name, provider_id FROM provider_names EXCEPT SELECT name, id FROM providers) AS missing""",
    "every subscription belongs to a provider": """
SELECT count(*) FROM (SELECT provider_id FROM subscriptions EXCEPT SELECT id FROM providers) AS missing""",
    "every subscription key belongs to a subscription": """
SELECT count(*) FROM (SELECT provider_id, subscription_id FROM subscription_keys
EXCEPT SELECT provider_id, id FROM subscriptions) AS missing""",
    "a subscription has at most one primary and one secondary key in force": """
SELECT count(*) FROM (SELECT 1 FROM subscription_keys WHERE replaced_at IS NULL
GROUP BY provider_id, subscription_id, slot HAVING count(*) > 1) AS doubled""",
    "every provider API key belongs to a provider": """
SELECT count(*) FROM (SELECT provider_id FROM provider_api_keys EXCEPT SELECT id FROM providers) AS missing""",
    "a provider has at most two API keys that are not revoked": """
SELECT count(*) FROM (SELECT 1 FROM provider_api_keys WHERE revoked_at IS NULL
GROUP BY provider_id HAVING count(*) > 2) AS crowded""",
    "a closed provider has no subscription that is not cancelled and no key that is not revoked": """
SELECT (SELECT count(*) FROM (SELECT provider_id FROM subscriptions WHERE state <> 'cancelled'
        INTERSECT SELECT id FROM providers WHERE closed_at IS NOT NULL) AS closed)
     + (SELECT count(*) FROM (SELECT provider_id FROM provider_api_keys WHERE revoked_at IS NULL
        INTERSECT SELECT id FROM providers WHERE closed_at IS NOT NULL) AS closed)""",
    "a subscription in force was approved and activated, and exactly a cancelled one has ended": """
SELECT count(*) FROM subscriptions WHERE (ended_at IS NOT NULL) <> (state = 'cancelled')
OR (state IN ('active', 'suspended') AND (approved_at IS NULL OR activated_at IS NULL))""",
    "every span of usage and every count of refusals belongs to a subscription": """
SELECT count(*) FROM (SELECT provider_id, subscription_id FROM usage_spans
UNION SELECT provider_id, subscription_id FROM usage_refusals
EXCEPT SELECT provider_id, id FROM subscriptions) AS missing""",
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

PROVIDERS = "SELECT id FROM providers ORDER BY id"

INTEGRITY = Integrity(invariants=INVARIANTS, sets={"providers": PROVIDERS})
