CREATE TABLE store_meta (
    name TEXT NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL
);

INSERT INTO store_meta (name, value) VALUES ('restore_epoch', 0);

CREATE TABLE developers (
    id BYTEA NOT NULL PRIMARY KEY,
    email TEXT NOT NULL,
    name TEXT NOT NULL,
    password_hash TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    password_changed_at BIGINT NOT NULL,
    totp_key BYTEA,
    totp_since BIGINT,
    totp_last_step BIGINT NOT NULL
);

CREATE TABLE developer_emails (
    email TEXT NOT NULL PRIMARY KEY,
    developer_id BYTEA NOT NULL
);

CREATE TABLE sign_ups (
    link_hash BYTEA NOT NULL PRIMARY KEY,
    email TEXT NOT NULL,
    name TEXT NOT NULL,
    password_hash TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX sign_ups_by_end ON sign_ups (expires_at);

CREATE TABLE links (
    link_hash BYTEA NOT NULL PRIMARY KEY,
    purpose TEXT NOT NULL CHECK (purpose IN ('reset', 'change_email')),
    developer_id BYTEA NOT NULL,
    email TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX links_of_developer ON links (developer_id, purpose);

CREATE INDEX links_by_end ON links (expires_at);

CREATE TABLE sessions (
    token_hash BYTEA NOT NULL PRIMARY KEY,
    id BYTEA NOT NULL,
    developer_id BYTEA NOT NULL,
    stage TEXT NOT NULL CHECK (stage IN ('password', 'full')),
    agent TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX sessions_of_developer ON sessions (developer_id, id);

CREATE INDEX sessions_by_end ON sessions (expires_at);

CREATE TABLE passkeys (
    credential_id BYTEA NOT NULL PRIMARY KEY,
    developer_id BYTEA NOT NULL,
    id BYTEA NOT NULL,
    name TEXT NOT NULL,
    public_key BYTEA NOT NULL,
    sign_count BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    used_at BIGINT
);

CREATE INDEX passkeys_of_developer ON passkeys (developer_id, id);

CREATE TABLE challenges (
    challenge_hash BYTEA NOT NULL PRIMARY KEY,
    purpose TEXT NOT NULL CHECK (purpose IN ('register', 'sign_in')),
    bound_to BYTEA NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX challenges_by_end ON challenges (expires_at);

CREATE TABLE recovery_codes (
    developer_id BYTEA NOT NULL,
    code_hash BYTEA NOT NULL,
    used_at BIGINT,
    PRIMARY KEY (developer_id, code_hash)
);

CREATE TABLE memberships (
    provider_id BYTEA NOT NULL,
    developer_id BYTEA NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('owner', 'member')),
    created_at BIGINT NOT NULL,
    PRIMARY KEY (provider_id, developer_id)
);

CREATE INDEX memberships_of_developer ON memberships (developer_id, provider_id);

CREATE TABLE attempts (
    bucket BYTEA NOT NULL PRIMARY KEY,
    amount BIGINT NOT NULL,
    ends_at BIGINT NOT NULL
);

CREATE INDEX attempts_by_end ON attempts (ends_at);

CREATE TABLE mails (
    id BYTEA NOT NULL PRIMARY KEY,
    sealed_message BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    tries BIGINT NOT NULL,
    next_try_at BIGINT NOT NULL
);

CREATE INDEX mails_by_turn ON mails (next_try_at);

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
