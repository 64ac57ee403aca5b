ALTER TABLE subscription_keys ADD COLUMN replaced_at BIGINT;

ALTER TABLE subscription_keys ADD COLUMN reminded_at BIGINT;

ALTER TABLE provider_api_keys ADD COLUMN reminded_at BIGINT;

UPDATE subscription_keys SET replaced_at = expires_at WHERE expires_at IS NOT NULL;

CREATE INDEX subscription_keys_by_expiry ON subscription_keys (expires_at);

CREATE INDEX subscription_keys_by_age ON subscription_keys (created_at) WHERE replaced_at IS NULL AND reminded_at IS NULL;

CREATE INDEX provider_api_keys_by_age ON provider_api_keys (created_at) WHERE revoked_at IS NULL AND reminded_at IS NULL;

CREATE TABLE usage_spans_by_key (
    provider_id BYTEA NOT NULL,
    subscription_id BYTEA NOT NULL,
    width BIGINT NOT NULL,
    starts_at BIGINT NOT NULL,
    slot TEXT NOT NULL,
    calls BIGINT NOT NULL,
    microseconds BIGINT NOT NULL,
    within_5_ms BIGINT NOT NULL,
    within_20_ms BIGINT NOT NULL,
    within_100_ms BIGINT NOT NULL,
    within_500_ms BIGINT NOT NULL,
    slower BIGINT NOT NULL,
    PRIMARY KEY (provider_id, subscription_id, width, starts_at, slot)
);

INSERT INTO usage_spans_by_key (provider_id, subscription_id, width, starts_at, slot, calls, microseconds, within_5_ms,
    within_20_ms, within_100_ms, within_500_ms, slower)
SELECT provider_id, subscription_id, width, starts_at, '', calls, microseconds, within_5_ms, within_20_ms, within_100_ms,
    within_500_ms, slower
FROM usage_spans;

DROP TABLE usage_spans;

ALTER TABLE usage_spans_by_key RENAME TO usage_spans;

CREATE INDEX usage_spans_by_age ON usage_spans (width, starts_at);

CREATE TABLE usage_refusals_by_key (
    provider_id BYTEA NOT NULL,
    subscription_id BYTEA NOT NULL,
    width BIGINT NOT NULL,
    starts_at BIGINT NOT NULL,
    slot TEXT NOT NULL,
    code TEXT NOT NULL,
    calls BIGINT NOT NULL,
    PRIMARY KEY (provider_id, subscription_id, width, starts_at, slot, code)
);

INSERT INTO usage_refusals_by_key (provider_id, subscription_id, width, starts_at, slot, code, calls)
SELECT provider_id, subscription_id, width, starts_at, '', code, calls FROM usage_refusals;

DROP TABLE usage_refusals;

ALTER TABLE usage_refusals_by_key RENAME TO usage_refusals;

CREATE INDEX usage_refusals_by_age ON usage_refusals (width, starts_at);
