CREATE TABLE store_meta (
    name TEXT NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);

INSERT INTO store_meta (name, value) VALUES ('restore_epoch', 0);

CREATE TABLE admission_tokens (
    token_hash BYTEA NOT NULL PRIMARY KEY,
    provider_id BYTEA NOT NULL,
    id BYTEA NOT NULL,
    issued_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    used_by TEXT
);

CREATE INDEX admission_tokens_by_expiry ON admission_tokens (expires_at);

CREATE TABLE users (
    id BYTEA NOT NULL PRIMARY KEY,
    provider_id BYTEA NOT NULL,
    username TEXT NOT NULL,
    canonical_username TEXT NOT NULL,
    passphrase_hash TEXT NOT NULL,
    passphrase_generation BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    suspended_at BIGINT
);

CREATE TABLE usernames (
    provider_id BYTEA NOT NULL,
    canonical_username TEXT NOT NULL,
    user_id BYTEA NOT NULL,
    PRIMARY KEY (provider_id, canonical_username)
);

CREATE TABLE sessions (
    user_id BYTEA NOT NULL,
    id BYTEA NOT NULL,
    provider_id BYTEA NOT NULL,
    secret_hash BYTEA NOT NULL,
    valid_from BIGINT NOT NULL,
    valid_till BIGINT NOT NULL,
    revoked_at BIGINT,
    PRIMARY KEY (user_id, id)
);

CREATE INDEX sessions_by_end ON sessions (valid_till);

CREATE TABLE passphrase_derivation_artefacts (
    user_id BYTEA NOT NULL PRIMARY KEY,
    id BYTEA NOT NULL,
    derivation_artefacts TEXT NOT NULL,
    verification_artefacts TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE key_encryption_keys (
    user_id BYTEA NOT NULL PRIMARY KEY,
    id BYTEA NOT NULL,
    serialized_key_encryption_key TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE data_encryption_keys (
    user_id BYTEA NOT NULL,
    id BYTEA NOT NULL,
    digest BYTEA NOT NULL,
    serialized_data_encryption_key TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, id),
    UNIQUE (user_id, digest)
);

CREATE TABLE keypairs (
    user_id BYTEA NOT NULL,
    id BYTEA NOT NULL,
    digest BYTEA NOT NULL,
    fingerprint TEXT NOT NULL,
    public_key TEXT NOT NULL,
    encrypted_serialized_key TEXT NOT NULL,
    metadata TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, id),
    UNIQUE (user_id, digest)
);

CREATE TABLE external_identifiers (
    user_id BYTEA NOT NULL,
    identifier TEXT NOT NULL,
    id BYTEA NOT NULL,
    keypair_id BYTEA NOT NULL,
    place BIGINT NOT NULL,
    PRIMARY KEY (user_id, identifier)
);

CREATE INDEX external_identifiers_of_keypair ON external_identifiers (user_id, keypair_id, place);
