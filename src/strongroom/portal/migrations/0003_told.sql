CREATE TABLE told (
    subject_id BYTEA NOT NULL,
    what TEXT NOT NULL,
    mark BIGINT NOT NULL,
    told_at BIGINT NOT NULL,
    PRIMARY KEY (subject_id, what, mark)
);

CREATE INDEX told_by_age ON told (told_at);

INSERT INTO told (subject_id, what, mark, told_at)
SELECT subscription_id, CASE days WHEN 14 THEN 'end_14' ELSE 'end_1' END, expires_at, expires_at FROM reminders;

DROP TABLE reminders;
