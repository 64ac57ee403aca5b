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

CREATE TABLE reminders (
    subscription_id BYTEA NOT NULL,
    expires_at BIGINT NOT NULL,
    days BIGINT NOT NULL,
    PRIMARY KEY (subscription_id, expires_at, days)
);
