ALTER TABLE users ADD COLUMN last_session_at BIGINT;

CREATE INDEX users_of_provider ON users (provider_id, id);
