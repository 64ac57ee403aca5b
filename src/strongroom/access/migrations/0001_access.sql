-- The tables of `strongroom/access`: who may call. `audit_events` is written by access, portal and command line alike.

CREATE TABLE store_meta (
    name TEXT NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);

INSERT INTO store_meta (name, value) VALUES ('restore_epoch', 0);

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

CREATE TABLE providers (
    id BYTEA NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    login_policy TEXT NOT NULL CHECK (login_policy IN ('any', 'derived_only')),
    created_at BIGINT NOT NULL,
    closed_at BIGINT
);

CREATE TABLE provider_names (
    name TEXT NOT NULL PRIMARY KEY,
    provider_id BYTEA NOT NULL
);

CREATE TABLE provider_api_keys (
    key_hash BYTEA NOT NULL PRIMARY KEY,
    provider_id BYTEA NOT NULL,
    id BYTEA NOT NULL,
    name TEXT NOT NULL,
    hint TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    revoked_at BIGINT,
    last_used_at BIGINT,
    reminded_at BIGINT
);

CREATE INDEX provider_api_keys_of_provider ON provider_api_keys (provider_id, id);

CREATE INDEX provider_api_keys_by_age ON provider_api_keys (created_at) WHERE revoked_at IS NULL AND reminded_at IS NULL;

CREATE TABLE subscriptions (
    provider_id BYTEA NOT NULL,
    id BYTEA NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('submitted', 'active', 'suspended', 'cancelled')),
    product TEXT,
    created_at BIGINT NOT NULL,
    approved_at BIGINT,
    activated_at BIGINT,
    ended_at BIGINT,
    expires_at BIGINT,
    PRIMARY KEY (provider_id, id)
);

CREATE INDEX subscriptions_by_expiry ON subscriptions (expires_at);

CREATE TABLE subscription_keys (
    key_hash BYTEA NOT NULL PRIMARY KEY,
    provider_id BYTEA NOT NULL,
    subscription_id BYTEA NOT NULL,
    slot TEXT NOT NULL CHECK (slot IN ('primary', 'secondary')),
    hint TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    replaced_at BIGINT,
    last_used_at BIGINT,
    reminded_at BIGINT
);

CREATE INDEX subscription_keys_of_subscription ON subscription_keys (provider_id, subscription_id, slot);

CREATE INDEX subscription_keys_by_expiry ON subscription_keys (expires_at);

CREATE INDEX subscription_keys_by_age ON subscription_keys (created_at) WHERE replaced_at IS NULL AND reminded_at IS NULL;

CREATE TABLE usage_spans (
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

CREATE INDEX usage_spans_by_age ON usage_spans (width, starts_at);

CREATE TABLE usage_refusals (
    provider_id BYTEA NOT NULL,
    subscription_id BYTEA NOT NULL,
    width BIGINT NOT NULL,
    starts_at BIGINT NOT NULL,
    slot TEXT NOT NULL,
    code TEXT NOT NULL,
    calls BIGINT NOT NULL,
    PRIMARY KEY (provider_id, subscription_id, width, starts_at, slot, code)
);

CREATE INDEX usage_refusals_by_age ON usage_refusals (width, starts_at);
