-- The tables of `strongroom/portal`: the people who decide who may call. Empty where no portal is served.

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

CREATE TABLE developer_links (
    link_hash BYTEA NOT NULL PRIMARY KEY,
    purpose TEXT NOT NULL CHECK (purpose IN ('reset', 'change_email')),
    developer_id BYTEA NOT NULL,
    email TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX developer_links_of_developer ON developer_links (developer_id, purpose);

CREATE INDEX developer_links_by_end ON developer_links (expires_at);

CREATE TABLE developer_sessions (
    token_hash BYTEA NOT NULL PRIMARY KEY,
    id BYTEA NOT NULL,
    developer_id BYTEA NOT NULL,
    stage TEXT NOT NULL CHECK (stage IN ('password', 'full')),
    agent TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX developer_sessions_of_developer ON developer_sessions (developer_id, id);

CREATE INDEX developer_sessions_by_end ON developer_sessions (expires_at);

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

CREATE TABLE passkey_challenges (
    challenge_hash BYTEA NOT NULL PRIMARY KEY,
    purpose TEXT NOT NULL CHECK (purpose IN ('register', 'sign_in')),
    bound_to BYTEA NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX passkey_challenges_by_end ON passkey_challenges (expires_at);

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

CREATE TABLE invitations (
    link_hash BYTEA NOT NULL PRIMARY KEY,
    provider_id BYTEA NOT NULL,
    id BYTEA NOT NULL,
    email TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('owner', 'member')),
    invited_by BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX invitations_of_provider ON invitations (provider_id, id);

CREATE INDEX invitations_by_end ON invitations (expires_at);

CREATE TABLE shown_once (
    id BYTEA NOT NULL PRIMARY KEY,
    session_id BYTEA NOT NULL,
    subject_id BYTEA NOT NULL,
    sealed_values BYTEA NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX shown_once_by_end ON shown_once (expires_at);

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

CREATE TABLE notifications_sent (
    subject_id BYTEA NOT NULL,
    kind TEXT NOT NULL,
    occasion BIGINT NOT NULL,
    sent_at BIGINT NOT NULL,
    PRIMARY KEY (subject_id, kind, occasion)
);

CREATE INDEX notifications_sent_by_age ON notifications_sent (sent_at);
