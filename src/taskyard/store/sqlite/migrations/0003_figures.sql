-- How the hub did, minute by minute and hour by hour. `step` is how many seconds a row tells of, `at` when they began.
CREATE TABLE figures (
    step INTEGER NOT NULL,
    at INTEGER NOT NULL,
    record BLOB NOT NULL,
    crc INTEGER NOT NULL,
    PRIMARY KEY (step, at)
) WITHOUT ROWID;
-- Counts those that ended otherwise than most. Completed ones are left out: ending well then costs nothing more.
CREATE INDEX history_status ON history (user_id, status) WHERE status <> 'completed';
