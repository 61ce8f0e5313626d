-- The first schema. Ids are text in the order of their bytes, instants wall-clock milliseconds, records JSON as the
-- core wrote them. A record is whole: the columns beside it exist to be searched by, and each reader checks that they
-- agree with it. `crc` is the CRC-32 of the bytes beside it: not every cluster has page checksums, and the bytes also
-- travel. Text cannot hold the character U+0000 here; `arrays.py` says how it is written instead.

-- What has not ended, and nothing else. No index is on a column that changes (status, level, record, seq), and a page
-- is filled by less than half: a new version of a row then lies beside the old one and no index hears of it (a HOT
-- update), even if a commit changes every row of the page. Measured: filled to 60 %, half of the updates were none.
--
-- A body or an outcome of no more than a kilobyte lies in its task's row and moves with it: that saves an insertion
-- into a table and an index for each, a sixth of what a life costs. A larger one has a row of its own, which stays.
CREATE TABLE task (
    id text COLLATE "C" PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    status text COLLATE "C" NOT NULL,
    level text COLLATE "C" NOT NULL,
    queue text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    correlation_id text COLLATE "C",
    parent_id text COLLATE "C",
    record bytea NOT NULL,
    crc bigint NOT NULL,
    body bytea,
    body_crc bigint,
    -- Only of a task that ended before and was revived.
    outcome bytea,
    outcome_crc bigint,
    -- The commit that wrote this row: who follows the log finds by it what changed since.
    seq bigint NOT NULL
) WITH (
    fillfactor = 45,
    -- Rows come and go as fast as tasks do: vacuum after so many, whatever the size, and without pausing.
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_threshold = -1,
    autovacuum_analyze_scale_factor = 0.05,
    autovacuum_analyze_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
CREATE UNIQUE INDEX task_number ON task (user_id, number);
CREATE INDEX task_correlation ON task (correlation_id) WHERE correlation_id IS NOT NULL;
CREATE INDEX task_parent ON task (parent_id) WHERE parent_id IS NOT NULL;

-- What has ended, by the week in which it did. An id is unique because the hot table gave it out; no index can say so
-- across partitions. What belongs to no week that was made (a clock that jumped) lies in `history_rest`.
CREATE TABLE history (
    id text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    status text COLLATE "C" NOT NULL,
    level text COLLATE "C" NOT NULL,
    queue text COLLATE "C" NOT NULL,
    type text COLLATE "C" NOT NULL,
    source text COLLATE "C" NOT NULL,
    correlation_id text COLLATE "C",
    parent_id text COLLATE "C",
    record bytea NOT NULL,
    crc bigint NOT NULL,
    body bytea,
    body_crc bigint,
    outcome bytea,
    outcome_crc bigint,
    completed_at bigint NOT NULL,
    idempotency_key text COLLATE "C"
) PARTITION BY RANGE (completed_at);
CREATE INDEX history_id ON history (id);
CREATE INDEX history_number ON history (user_id, number);
CREATE INDEX history_key ON history (user_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX history_dead ON history (user_id, number) WHERE status = 'permanently_failed';
CREATE INDEX history_correlation ON history (correlation_id) WHERE correlation_id IS NOT NULL;
CREATE INDEX history_parent ON history (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX history_age ON history (completed_at, id) WHERE status <> 'permanently_failed';
CREATE TABLE history_rest PARTITION OF history DEFAULT;

-- History that nobody is expected to ask for: out of the way of its indexes, still readable.
CREATE TABLE archive (LIKE history);
ALTER TABLE archive ADD PRIMARY KEY (id);
CREATE UNIQUE INDEX archive_number ON archive (user_id, number);
CREATE INDEX archive_correlation ON archive (correlation_id) WHERE correlation_id IS NOT NULL;
CREATE INDEX archive_parent ON archive (parent_id) WHERE parent_id IS NOT NULL;

CREATE TABLE body (id text COLLATE "C" PRIMARY KEY, content bytea NOT NULL, crc bigint NOT NULL);
CREATE TABLE outcome (id text COLLATE "C" PRIMARY KEY, content bytea NOT NULL, crc bigint NOT NULL);
CREATE TABLE checkpoint (id text COLLATE "C" PRIMARY KEY, content bytea NOT NULL, crc bigint NOT NULL);
CREATE TABLE late_result (
    task_id text COLLATE "C" NOT NULL,
    attempt bigint NOT NULL,
    at bigint NOT NULL,
    content bytea NOT NULL,
    crc bigint NOT NULL,
    PRIMARY KEY (task_id, attempt)
);
-- `n` grows with the commit and the place in it, so the key is the order of arrival.
CREATE TABLE log_chunk (
    task_id text COLLATE "C" NOT NULL,
    attempt bigint NOT NULL,
    n bigint NOT NULL,
    at bigint NOT NULL,
    text bytea NOT NULL,
    crc bigint NOT NULL,
    PRIMARY KEY (task_id, attempt, n)
);

-- One row per commit with all its events. Its key is the fence: two commits cannot have one place in the log, so the
-- partitions go by number and not by time. What is older than `log_start` is gone for readers; whole partitions below
-- it are dropped.
CREATE TABLE commit_log (
    seq bigint PRIMARY KEY,
    epoch bigint NOT NULL,
    batch_id text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    events bytea NOT NULL,
    crc bigint NOT NULL
) PARTITION BY RANGE (seq);
CREATE TABLE commit_log_rest PARTITION OF commit_log DEFAULT;
CREATE TABLE log_start (one boolean PRIMARY KEY CHECK (one), seq bigint NOT NULL);
INSERT INTO log_start VALUES (true, 0);

-- The highest task number ever given to each user, so that starting does not walk the past to find it.
CREATE TABLE numbering (
    user_id text COLLATE "C" PRIMARY KEY,
    number bigint NOT NULL,
    crc bigint NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE person (id text COLLATE "C" PRIMARY KEY, record bytea NOT NULL, crc bigint NOT NULL);
CREATE TABLE api_key (id text COLLATE "C" PRIMARY KEY, record bytea NOT NULL, crc bigint NOT NULL);
CREATE TABLE daemon (id text COLLATE "C" PRIMARY KEY, record bytea NOT NULL, crc bigint NOT NULL) WITH (fillfactor = 50);
-- Small records of the policies: breakers, buckets, used time, the state of queues.
CREATE TABLE kept (
    kind text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    record bytea NOT NULL,
    crc bigint NOT NULL,
    PRIMARY KEY (kind, name)
) WITH (fillfactor = 50);
CREATE TABLE audit (n bigint PRIMARY KEY, subject text COLLATE "C" NOT NULL, record bytea NOT NULL, crc bigint NOT NULL);
CREATE INDEX audit_subject ON audit (subject, n);
-- Answers that commits gave to hubs which had forwarded a request, for as long as they may ask again.
CREATE TABLE request (
    name text COLLATE "C" PRIMARY KEY,
    seq bigint NOT NULL,
    at bigint NOT NULL,
    answer bytea NOT NULL,
    crc bigint NOT NULL
);
CREATE INDEX request_age ON request (at);

-- One row: who this yard is, how often it was opened, and what its hubs prove themselves to each other with. Who opens
-- it first names it.
CREATE TABLE identity (
    one boolean PRIMARY KEY CHECK (one),
    cluster_id text,
    epoch bigint NOT NULL,
    crc bigint,
    probes bigint NOT NULL,
    secret bytea NOT NULL
);
INSERT INTO identity VALUES (
    true, NULL, 0, NULL, 0, decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex')
);
-- One row: who leads, until when, on this database's clock, and whether it holds the lock by which others would notice
-- its death.
CREATE TABLE lease (
    one boolean PRIMARY KEY CHECK (one),
    epoch bigint NOT NULL,
    holder text NOT NULL,
    address text NOT NULL,
    since timestamptz NOT NULL,
    until timestamptz NOT NULL,
    locked boolean NOT NULL
) WITH (fillfactor = 10);
INSERT INTO lease VALUES (true, 0, '', '', to_timestamp(0), to_timestamp(0), false);
CREATE TABLE hub (
    id text COLLATE "C" PRIMARY KEY,
    address text NOT NULL,
    url text NOT NULL,
    version text NOT NULL,
    started_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL
) WITH (fillfactor = 10);

-- Every task wherever it lies. `place` is 0 hot, 1 history, 2 archive: a list names the places it wants.
CREATE VIEW anywhere AS
SELECT 0 AS place, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc,
    body, body_crc, outcome, outcome_crc FROM task
UNION ALL
SELECT 1, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc,
    body, body_crc, outcome, outcome_crc FROM history
UNION ALL
SELECT 2, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc,
    body, body_crc, outcome, outcome_crc FROM archive;

-- A commit is one statement: what its rows do not fit has to fail inside it. TY001 is our own word for that.
CREATE FUNCTION must_be(counted bigint, expected bigint, claim text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF counted <> expected THEN
        RAISE EXCEPTION '%', claim USING ERRCODE = 'TY001';
    END IF;
END
$$;

-- A field of a body as text. Two things in a body are no text here: U+0000, of which JSON may speak, and bytes that are
-- not UTF-8, which it may hold where nobody looked at them. The first becomes U+001A, as it does in what is sought; the
-- others are read as if each were a letter, which changes nothing about the field unless it has such bytes itself.
CREATE FUNCTION said(content bytea, field text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    letters text;
BEGIN
    RETURN convert_from(content, 'UTF8')::json ->> field;
EXCEPTION WHEN untranslatable_character OR character_not_in_repertoire THEN
    -- An even number of backslashes before it escapes nothing.
    letters := regexp_replace(convert_from(content, 'LATIN1'), '(?<!\\)((\\\\)*)\\u0000', '\1\\u001a', 'g')::json ->> field;
    BEGIN
        RETURN convert_from(convert_to(letters, 'LATIN1'), 'UTF8');
    EXCEPTION WHEN untranslatable_character OR character_not_in_repertoire THEN
        RETURN letters;
    END;
END
$$;

-- The partition of `parent` that begins at `first`, unless it is there. False: rows of it lie in the default one by
-- now (the clock jumped), and go on doing so.
CREATE FUNCTION make_partition(parent text, first bigint, width bigint) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    name text := parent || '_' || replace(first::text, '-', 'm');
BEGIN
    IF to_regclass(name) IS NULL THEN
        EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%s) TO (%s)', name, parent, first, first + width);
    END IF;
    RETURN true;
EXCEPTION WHEN check_violation THEN
    RETURN false;
END
$$;

-- Partitions of `parent` that end at or before `before`, oldest first. The names are `make_partition`'s.
CREATE FUNCTION partitions_before(parent text, width bigint, before bigint) RETURNS SETOF text LANGUAGE sql STABLE AS $$
    SELECT relname::text
    FROM pg_inherits JOIN pg_class ON pg_class.oid = inhrelid
    WHERE inhparent = parent::regclass AND relname <> parent || '_rest'
      AND replace(substr(relname, length(parent) + 2), 'm', '-')::bigint + width <= before
    ORDER BY replace(substr(relname, length(parent) + 2), 'm', '-')::bigint
$$;

-- Drop the oldest part of the log that `log_start` has passed whole; in the default partition, some rows.
CREATE FUNCTION drop_old_log(width bigint, rows_max int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    start bigint := (SELECT seq FROM log_start);
    name text;
BEGIN
    DELETE FROM commit_log_rest WHERE seq IN (SELECT seq FROM commit_log_rest WHERE seq < start ORDER BY seq LIMIT rows_max);
    SELECT p INTO name FROM partitions_before('commit_log', width, start) AS p LIMIT 1;
    IF name IS NOT NULL THEN
        EXECUTE format('DROP TABLE %I', name);
    END IF;
END
$$;

-- Drop a week of history that ended before `before` and has been archived but for a few dead letters, about which
-- nobody decided: those go on in the default partition, so that the number of partitions stays small.
CREATE FUNCTION drop_old_history(width bigint, before bigint, rows_max int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    name text;
    few boolean;
BEGIN
    FOR name IN SELECT p FROM partitions_before('history', width, before) AS p LIMIT 10 LOOP
        EXECUTE format(
            'SELECT count(*) <= %s AND coalesce(bool_and(status = ''permanently_failed''), true)'
            ' FROM (SELECT status FROM %I LIMIT %s) AS first_rows',
            rows_max, name, rows_max + 1
        ) INTO few;
        IF few THEN
            EXECUTE format('CREATE TEMPORARY TABLE remaining ON COMMIT DROP AS SELECT * FROM %I', name);
            EXECUTE format('DROP TABLE %I', name);
            INSERT INTO history SELECT * FROM pg_temp.remaining;
            RETURN;
        END IF;
    END LOOP;
END
$$;
