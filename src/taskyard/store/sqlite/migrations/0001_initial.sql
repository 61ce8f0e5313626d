-- The first schema. Ids are text, instants wall-clock milliseconds, records JSON as the core wrote them.
--
-- A record is whole: the columns beside it exist to be searched by, and each reader checks that they
-- agree with it. `crc` is the CRC-32 of the bytes beside it, because SQLite itself would serve a flipped
-- bit inside a value without a word.
--
-- Tables of tasks keep SQLite's rowid: what ends is then appended, in whatever order it ends. Without it a row's place
-- follows from its id, a page is written for every task that ends out of turn, and every index repeats the id.

-- What has not ended, and nothing else: its size follows the work at hand, not the past.
CREATE TABLE task (
    id TEXT PRIMARY KEY NOT NULL,
    user_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    status TEXT NOT NULL,
    level TEXT NOT NULL,
    queue TEXT NOT NULL,
    type TEXT NOT NULL,
    source TEXT NOT NULL,
    correlation_id TEXT,
    parent_id TEXT,
    record BLOB NOT NULL,
    crc INTEGER NOT NULL
);
CREATE UNIQUE INDEX task_number ON task (user_id, number);
-- Finds the few that run, wait or are blocked among a great many that are queued. Those are left out: then the
-- index is small, and creating a task does not touch it.
CREATE INDEX task_status ON task (status, user_id, number) WHERE status <> 'queued';
CREATE INDEX task_correlation ON task (correlation_id) WHERE correlation_id IS NOT NULL;
CREATE INDEX task_parent ON task (parent_id) WHERE parent_id IS NOT NULL;

-- What has ended. `idempotency_key` and `completed_at` are columns here because only here SQL asks for them.
CREATE TABLE history (
    id TEXT PRIMARY KEY NOT NULL,
    user_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    status TEXT NOT NULL,
    level TEXT NOT NULL,
    queue TEXT NOT NULL,
    type TEXT NOT NULL,
    source TEXT NOT NULL,
    correlation_id TEXT,
    parent_id TEXT,
    record BLOB NOT NULL,
    crc INTEGER NOT NULL,
    completed_at INTEGER NOT NULL,
    idempotency_key TEXT
);
CREATE UNIQUE INDEX history_number ON history (user_id, number);
CREATE INDEX history_key ON history (user_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX history_dead ON history (user_id, number) WHERE status = 'permanently_failed';
CREATE INDEX history_correlation ON history (correlation_id) WHERE correlation_id IS NOT NULL;
CREATE INDEX history_parent ON history (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX history_age ON history (completed_at) WHERE status <> 'permanently_failed';

-- History that nobody is expected to ask for: out of the way of its indexes, still readable.
CREATE TABLE archive (
    id TEXT PRIMARY KEY NOT NULL,
    user_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    status TEXT NOT NULL,
    level TEXT NOT NULL,
    queue TEXT NOT NULL,
    type TEXT NOT NULL,
    source TEXT NOT NULL,
    correlation_id TEXT,
    parent_id TEXT,
    record BLOB NOT NULL,
    crc INTEGER NOT NULL,
    completed_at INTEGER NOT NULL,
    idempotency_key TEXT
);
CREATE UNIQUE INDEX archive_number ON archive (user_id, number);
CREATE INDEX archive_correlation ON archive (correlation_id) WHERE correlation_id IS NOT NULL;
CREATE INDEX archive_parent ON archive (parent_id) WHERE parent_id IS NOT NULL;

-- Bodies and outcomes are written once and never move with their task: a sweep moves 500 rows at once to the archive.
CREATE TABLE body (id TEXT PRIMARY KEY, content BLOB NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE outcome (id TEXT PRIMARY KEY, content BLOB NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE checkpoint (id TEXT PRIMARY KEY, content BLOB NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE late_result (
    task_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    at INTEGER NOT NULL,
    content BLOB NOT NULL,
    crc INTEGER NOT NULL,
    PRIMARY KEY (task_id, attempt)
) WITHOUT ROWID;
-- `n` grows with the commit and the place in it, so the key is the order of arrival.
CREATE TABLE log_chunk (
    task_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    n INTEGER NOT NULL,
    at INTEGER NOT NULL,
    text BLOB NOT NULL,
    crc INTEGER NOT NULL,
    PRIMARY KEY (task_id, attempt, n)
) WITHOUT ROWID;

-- One row per commit with all its events: a row per event would double what a commit writes.
CREATE TABLE commit_log (
    seq INTEGER PRIMARY KEY,
    epoch INTEGER NOT NULL,
    batch_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    events BLOB NOT NULL,
    crc INTEGER NOT NULL
);

-- The highest task number ever given to each user, so that starting does not walk the past to find it.
CREATE TABLE numbering (user_id TEXT PRIMARY KEY, number INTEGER NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE user (id TEXT PRIMARY KEY, record BLOB NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE api_key (id TEXT PRIMARY KEY, record BLOB NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE daemon (id TEXT PRIMARY KEY, record BLOB NOT NULL, crc INTEGER NOT NULL) WITHOUT ROWID;
-- Small records of the policies: breakers, buckets, used time, the state of queues.
CREATE TABLE kept (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    record BLOB NOT NULL,
    crc INTEGER NOT NULL,
    PRIMARY KEY (kind, name)
) WITHOUT ROWID;
CREATE TABLE audit (n INTEGER PRIMARY KEY, subject TEXT NOT NULL, record BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE INDEX audit_subject ON audit (subject);
-- One row: who this yard is, and how often it was opened.
CREATE TABLE identity (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    cluster_id TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    crc INTEGER NOT NULL,
    probes INTEGER NOT NULL DEFAULT 0
);

-- Every task wherever it lies. `place` is 0 hot, 1 history, 2 archive: a list names the places it wants,
-- and SQLite then walks only those, merging them by their indexes.
CREATE VIEW anywhere AS
SELECT 0 AS place, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc FROM task
UNION ALL
SELECT 1, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc FROM history
UNION ALL
SELECT 2, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc FROM archive;
