CREATE TABLE store_meta (
    name TEXT NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);

INSERT INTO store_meta (name, value) VALUES ('restore_epoch', 0);

CREATE TABLE providers (
    id BYTEA NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    login_policy TEXT NOT NULL CHECK (login_policy IN ('any', 'derived_only')),
    created_at BIGINT NOT NULL
);

CREATE TABLE provider_names (
    name TEXT NOT NULL PRIMARY KEY,
    provider_id BYTEA NOT NULL
);

CREATE TABLE subscriptions (
    provider_id BYTEA NOT NULL,
    id BYTEA NOT NULL,
    name TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('submitted', 'active', 'suspended', 'cancelled')),
    created_at BIGINT NOT NULL,
    activated_at BIGINT,
    ended_at BIGINT,
    PRIMARY KEY (provider_id, id)
);

CREATE TABLE subscription_keys (
    key_hash BYTEA NOT NULL PRIMARY KEY,
    provider_id BYTEA NOT NULL,
    subscription_id BYTEA NOT NULL,
    slot TEXT NOT NULL CHECK (slot IN ('primary', 'secondary')),
    hint TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT
);

CREATE INDEX subscription_keys_of_subscription ON subscription_keys (provider_id, subscription_id, slot);

CREATE TABLE provider_api_keys (
    key_hash BYTEA NOT NULL PRIMARY KEY,
    provider_id BYTEA NOT NULL,
    id BYTEA NOT NULL,
    name TEXT NOT NULL,
    hint TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    revoked_at BIGINT
);

CREATE INDEX provider_api_keys_of_provider ON provider_api_keys (provider_id, id);
