CREATE TABLE store_meta (
    name TEXT PRIMARY KEY NOT NULL,
    value BIGINT NOT NULL
);

CREATE TABLE users (
    id BYTEA PRIMARY KEY NOT NULL,
    provider_id BYTEA NOT NULL,
    public_key TEXT NOT NULL,
    session_generation BIGINT NOT NULL,
    suspended_at BIGINT,
    created_at BIGINT NOT NULL
);

CREATE TABLE public_key_fingerprints (
    fingerprint BYTEA NOT NULL,
    provider_id BYTEA NOT NULL,
    user_id BYTEA NOT NULL,
    PRIMARY KEY (fingerprint, provider_id)
);

CREATE TABLE keystore_users (
    keystore_user_id BYTEA NOT NULL,
    provider_id BYTEA NOT NULL,
    user_id BYTEA NOT NULL,
    PRIMARY KEY (keystore_user_id, provider_id)
);

CREATE TABLE sessions (
    user_id BYTEA NOT NULL,
    id BYTEA NOT NULL,
    generation BIGINT NOT NULL,
    valid_from BIGINT NOT NULL,
    valid_till BIGINT NOT NULL,
    revoked_at BIGINT,
    PRIMARY KEY (user_id, id)
);

CREATE INDEX sessions_by_end ON sessions (valid_till);

CREATE TABLE admission_tokens (
    token_hash BYTEA PRIMARY KEY NOT NULL,
    provider_id BYTEA NOT NULL,
    id BYTEA NOT NULL,
    keystore_user_id BYTEA,
    issued_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    used_by BYTEA
);

CREATE INDEX admission_tokens_expires_at ON admission_tokens (expires_at);

CREATE TABLE external_admission_tokens (
    keystore_user_id BYTEA NOT NULL,
    provider_id BYTEA NOT NULL,
    admission_token_id BYTEA NOT NULL,
    token_hash BYTEA NOT NULL,
    secret_key_id BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    PRIMARY KEY (keystore_user_id, provider_id)
);

CREATE INDEX external_admission_tokens_expires_at ON external_admission_tokens (expires_at);

CREATE TABLE classification_nodes (
    node_id BYTEA PRIMARY KEY NOT NULL,
    scheme BYTEA NOT NULL,
    ordinal BIGINT NOT NULL,
    name TEXT NOT NULL,
    label TEXT NOT NULL,
    description TEXT,
    background_color TEXT,
    parent_id BYTEA,
    image_id BYTEA NOT NULL
);

CREATE UNIQUE INDEX classification_nodes_name ON classification_nodes (scheme, name);

CREATE INDEX classification_nodes_ordinal ON classification_nodes (scheme, ordinal, node_id);

CREATE TABLE images (
    image_id BYTEA PRIMARY KEY NOT NULL,
    media_type TEXT NOT NULL,
    content_hash BYTEA NOT NULL,
    content BYTEA NOT NULL
);
