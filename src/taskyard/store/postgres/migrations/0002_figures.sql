-- How the hub did, minute by minute and hour by hour. `step` is how many seconds a row tells of, `at` when they began.
CREATE TABLE figures (
    step bigint NOT NULL,
    at bigint NOT NULL,
    record bytea NOT NULL,
    crc bigint NOT NULL,
    PRIMARY KEY (step, at)
);
-- Counts those that ended otherwise than most. Completed ones are left out: ending well then costs nothing more.
CREATE INDEX history_status ON history (user_id, status) WHERE status <> 'completed';
