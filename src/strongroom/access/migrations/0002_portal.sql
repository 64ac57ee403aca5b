ALTER TABLE subscriptions ADD COLUMN product TEXT;

ALTER TABLE subscriptions ADD COLUMN approved_at BIGINT;

ALTER TABLE subscriptions ADD COLUMN expires_at BIGINT;

UPDATE subscriptions SET approved_at = created_at;

CREATE INDEX subscriptions_by_expiry ON subscriptions (expires_at);

ALTER TABLE subscription_keys ADD COLUMN last_used_at BIGINT;

ALTER TABLE provider_api_keys ADD COLUMN last_used_at BIGINT;

CREATE TABLE usage_spans (
    provider_id BYTEA NOT NULL,
    subscription_id BYTEA NOT NULL,
    width BIGINT NOT NULL,
    starts_at BIGINT NOT NULL,
    calls BIGINT NOT NULL,
    microseconds BIGINT NOT NULL,
    within_5_ms BIGINT NOT NULL,
    within_20_ms BIGINT NOT NULL,
    within_100_ms BIGINT NOT NULL,
    within_500_ms BIGINT NOT NULL,
    slower BIGINT NOT NULL,
    PRIMARY KEY (provider_id, subscription_id, width, starts_at)
);

CREATE INDEX usage_spans_by_age ON usage_spans (width, starts_at);

CREATE TABLE usage_refusals (
    provider_id BYTEA NOT NULL,
    subscription_id BYTEA NOT NULL,
    width BIGINT NOT NULL,
    starts_at BIGINT NOT NULL,
    code TEXT NOT NULL,
    calls BIGINT NOT NULL,
    PRIMARY KEY (provider_id, subscription_id, width, starts_at, code)
);

CREATE INDEX usage_refusals_by_age ON usage_refusals (width, starts_at);

CREATE TABLE audit_events (
    subject_id BYTEA NOT NULL,
    id BYTEA NOT NULL,
    at BIGINT NOT NULL,
    actor_id BYTEA,
    action TEXT NOT NULL,
    object_id BYTEA,
    detail TEXT NOT NULL,
    PRIMARY KEY (subject_id, id)
);
