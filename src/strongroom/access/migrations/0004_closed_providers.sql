ALTER TABLE providers ADD COLUMN closed_at BIGINT;

CREATE INDEX providers_by_closing ON providers (closed_at);
