-- Statements of the SQLite engine that every engine has, by the same names. What follows a name says what the statement
-- relies on and what zero rows mean. Parameters are bound by place in the order in which they first appear where rows are
-- written in bulk (`bulk.py`: a row whose first value is NULL is not there), by name elsewhere. Status words stand here
-- only where a partial index needs a literal. Inserts in bulk are OR ROLLBACK: a conflict ends the whole batch anyway,
-- and SQLite need not keep each page as it was before the statement.

-- insert_task
-- The core gives ids and numbers once: a conflict is a bug, and the batch fails whole.
INSERT OR ROLLBACK INTO task
    (id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc)
SELECT * FROM (
    VALUES (:id, :user_id, :number, :status, :level, :queue, :type, :source, :correlation_id, :parent_id, :record, :crc)
) WHERE column1 IS NOT NULL;

-- update_task
-- By the primary key. Only what can change: a queue, a source or a parent is for life.
-- Zero rows: the core thinks the task is hot and it is not; the writer fails the batch.
UPDATE task SET status = new.column2, level = new.column3, record = new.column4, crc = new.column5
FROM (VALUES (:id, :status, :level, :record, :crc)) AS new WHERE task.id = new.column1;

-- delete_task
-- Zero rows: the task was created and ended within one batch and was never here.
DELETE FROM task WHERE id IN (VALUES (:id));

-- insert_history
INSERT OR ROLLBACK INTO history
    (id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc,
     completed_at, idempotency_key)
SELECT * FROM (
    VALUES (:id, :user_id, :number, :status, :level, :queue, :type, :source, :correlation_id, :parent_id, :record, :crc,
            :completed_at, :idempotency_key)
) WHERE column1 IS NOT NULL;

-- delete_history
-- Zero rows: the task was archived meanwhile; `delete_archive` finds it.
DELETE FROM history WHERE id = :id;

-- delete_archive
-- Zero rows: it was in history.
DELETE FROM archive WHERE id = :id;

-- amend_history
-- Zero rows: the task was archived meanwhile; `amend_archive` finds it.
UPDATE history SET status = :status, level = :level, record = :record, crc = :crc, completed_at = :completed_at
WHERE id = :id;

-- amend_archive
-- Zero rows: it was in history.
UPDATE archive SET status = :status, level = :level, record = :record, crc = :crc, completed_at = :completed_at
WHERE id = :id;

-- insert_body
INSERT OR ROLLBACK INTO body (id, content, crc) SELECT * FROM (VALUES (:id, :content, :crc)) WHERE column1 IS NOT NULL;

-- upsert_outcome
-- A revived task ends again: its newest outcome counts.
INSERT INTO outcome (id, content, crc) SELECT * FROM (VALUES (:id, :content, :crc)) WHERE column1 IS NOT NULL
ON CONFLICT (id) DO UPDATE SET content = excluded.content, crc = excluded.crc;

-- upsert_checkpoint
INSERT INTO checkpoint (id, content, crc) SELECT * FROM (VALUES (:id, :content, :crc)) WHERE column1 IS NOT NULL
ON CONFLICT (id) DO UPDATE SET content = excluded.content, crc = excluded.crc;

-- upsert_late_result
-- A daemon may tell the same late result again.
INSERT INTO late_result (task_id, attempt, at, content, crc) VALUES (:task_id, :attempt, :at, :content, :crc)
ON CONFLICT (task_id, attempt) DO UPDATE SET at = excluded.at, content = excluded.content, crc = excluded.crc;

-- insert_log_chunk
INSERT INTO log_chunk (task_id, attempt, n, at, text, crc) VALUES (:task_id, :attempt, :n, :at, :text, :crc);

-- raise_number
-- Zero rows changed: the number is not the highest.
INSERT INTO numbering (user_id, number, crc) VALUES (:user_id, :number, :crc)
ON CONFLICT (user_id) DO UPDATE SET number = excluded.number, crc = excluded.crc WHERE excluded.number > number;

-- upsert_user
INSERT INTO user (id, record, crc) VALUES (:id, :record, :crc)
ON CONFLICT (id) DO UPDATE SET record = excluded.record, crc = excluded.crc;

-- upsert_key
INSERT INTO api_key (id, record, crc) VALUES (:id, :record, :crc)
ON CONFLICT (id) DO UPDATE SET record = excluded.record, crc = excluded.crc;

-- upsert_daemon
INSERT INTO daemon (id, record, crc) VALUES (:id, :record, :crc)
ON CONFLICT (id) DO UPDATE SET record = excluded.record, crc = excluded.crc;

-- delete_daemon
-- Zero rows: it came and was forgotten within one batch.
DELETE FROM daemon WHERE id = :id;

-- upsert_kept
INSERT INTO kept (kind, name, record, crc) SELECT * FROM (VALUES (:kind, :name, :record, :crc)) WHERE column1 IS NOT NULL
ON CONFLICT (kind, name) DO UPDATE SET record = excluded.record, crc = excluded.crc;

-- delete_kept
-- Zero rows: it came and went within one batch.
DELETE FROM kept WHERE kind = :kind AND name = :name;

-- upsert_request
INSERT INTO request (name, at, answer, crc) SELECT * FROM (VALUES (:name, :at, :answer, :crc)) WHERE column1 IS NOT NULL
ON CONFLICT (name) DO UPDATE SET at = excluded.at, answer = excluded.answer, crc = excluded.crc;

-- drop_requests
-- By `request_age`. Zero rows: none is that old.
DELETE FROM request WHERE at < :before;

-- request_named
-- No row: it changed nothing, never came, or is forgotten.
SELECT at, answer, crc FROM request WHERE name = :name;

-- upsert_figures
-- A clock that was put back tells of the same time again.
INSERT INTO figures (step, at, record, crc) VALUES (:step, :at, :record, :crc)
ON CONFLICT (step, at) DO UPDATE SET record = excluded.record, crc = excluded.crc;

-- drop_figures
-- What is old, and what a clock that was ahead has left. Zero rows: there is none.
DELETE FROM figures WHERE step = :step AND (at < :first OR at > :last);

-- figures_since
-- By the primary key.
SELECT at, record, crc FROM figures WHERE step = :step AND at >= :since ORDER BY at;

-- insert_audit
INSERT INTO audit (n, subject, record, crc) VALUES (:n, :subject, :record, :crc);

-- insert_commit
-- The primary key is the fence: two commits cannot have one place in the log.
INSERT INTO commit_log (seq, epoch, batch_id, at, events, crc) VALUES (:seq, :epoch, :batch_id, :at, :events, :crc);

-- copy_to_archive
-- Oldest first by `history_age`, which leaves out dead letters: a person still has to decide about them.
INSERT INTO archive SELECT * FROM history
WHERE completed_at < :ended_before AND status <> 'permanently_failed' ORDER BY completed_at, id LIMIT :rows_max;

-- oldest_commits
-- The log is cut from its beginning only: a gap would hide events from those who follow it.
SELECT seq, at FROM commit_log ORDER BY seq LIMIT :rows_max;

-- drop_commits
DELETE FROM commit_log WHERE seq < :seq;

-- first_archivable
-- Zero rows: nothing in history is that old.
SELECT 1 FROM history WHERE completed_at < :ended_before AND status <> 'permanently_failed' LIMIT 1;

-- read_identity
-- Zero rows: nobody has opened this yard yet.
SELECT cluster_id, epoch, crc FROM identity;

-- set_epoch
INSERT INTO identity (one, cluster_id, epoch, crc) VALUES (1, :cluster_id, :epoch, :crc)
ON CONFLICT (one) DO UPDATE SET epoch = excluded.epoch, crc = excluded.crc;

-- insert_takeover
INSERT INTO takeover (epoch, id, seq, crc) VALUES (:epoch, :id, :seq, :crc);

-- every_takeover
-- Missing rows: that epoch began before there was this table.
SELECT epoch, id, seq, crc FROM takeover ORDER BY epoch;

-- batches_at
-- A commit that was dropped, or is yet to come, has no row.
SELECT seq, batch_id FROM commit_log WHERE seq IN (SELECT value FROM json_each(:seqs));

-- touch_probe
-- A real change, so that it needs a real write; nobody reads it.
UPDATE identity SET probes = probes + 1;

-- read_position
-- Zero: no commit yet. The newest commit is never dropped.
SELECT COALESCE(MAX(seq), 0) FROM commit_log;

-- every_hot_task
-- In the order of ids, which are minted in the order of time.
SELECT 0, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc
FROM task ORDER BY id;

-- every_user
SELECT id, record, crc FROM user ORDER BY id;

-- every_key
SELECT id, record, crc FROM api_key ORDER BY id;

-- every_daemon
SELECT id, record, crc FROM daemon ORDER BY id;

-- every_kept
SELECT kind, name, record, crc FROM kept ORDER BY kind, name;

-- every_number
SELECT user_id, number, crc FROM numbering;

-- log_sizes
-- By the primary key; SQLite knows a value's size without reading it.
SELECT task_id, attempt, SUM(LENGTH(text)) FROM log_chunk
WHERE task_id IN (SELECT value FROM json_each(:ids)) GROUP BY task_id, attempt;

-- tasks_by_id
-- Missing ids have no row.
SELECT place, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc
FROM anywhere WHERE id IN (SELECT value FROM json_each(:ids)) AND (:user_id IS NULL OR user_id = :user_id);

-- tasks_by_number
SELECT place, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc
FROM anywhere WHERE user_id = :user_id AND number IN (SELECT value FROM json_each(:numbers));

-- holders_of_keys
-- By `history_key`, named because the planner would rather walk all of the user's past. The last row of a key is the
-- only task that may hold it: one whose end keeps a key for good, else the one that ended last.
SELECT idempotency_key, id FROM history INDEXED BY history_key
WHERE user_id = :user_id AND idempotency_key IN (SELECT value FROM json_each(:keys)) AND idempotency_key IS NOT NULL
ORDER BY status IN (SELECT value FROM json_each(:keeping)), completed_at, number;

-- keys_used
-- By `history_key`, and nothing else is read.
SELECT user_id, idempotency_key FROM history INDEXED BY history_key
WHERE idempotency_key IS NOT NULL AND (user_id, idempotency_key) > (:user_id, :key)
ORDER BY user_id, idempotency_key LIMIT :limit;

-- search_end_by_number
-- Where a search that begins there ends for now, by indexes alone. No row: there are not so many.
SELECT number FROM anywhere
WHERE place BETWEEN :place_min AND :place_max AND user_id = :user_id AND number < :before_number
ORDER BY number DESC LIMIT 1 OFFSET :passed;

-- search_end_by_id
SELECT id FROM anywhere WHERE place BETWEEN :place_min AND :place_max AND id < :before_id
ORDER BY id DESC LIMIT 1 OFFSET :passed;

-- search_end_dead
-- The same among dead letters, by `history_dead`; a number, or of everybody's an id.
SELECT CASE WHEN :user_id IS NULL THEN id ELSE number END
FROM history INDEXED BY history_dead
WHERE status = 'permanently_failed'
  AND (:user_id IS NULL OR user_id = :user_id) AND number < :before_number AND id < :before_id
ORDER BY CASE WHEN :user_id IS NULL THEN id END DESC, number DESC LIMIT 1 OFFSET :passed;

-- list_by_number
-- One user's, newest first. Each place is walked down its (user_id, number) index and the walks are merged,
-- so a page costs what it looks at.
SELECT place, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc
FROM anywhere
WHERE place BETWEEN :place_min AND :place_max AND user_id = :user_id AND number < :before_number
  AND number >= :last_number
  AND (:statuses IS NULL OR status IN (SELECT value FROM json_each(:statuses)))
  AND (:queue IS NULL OR queue = :queue)
  AND (:type IS NULL OR type = :type)
  AND (:source IS NULL OR source = :source)
  AND (:level IS NULL OR level = :level)
  AND (:schedule_id IS NULL OR json_extract(CAST(record AS TEXT), '$.schedule_id') = :schedule_id)
  AND (:text IS NULL OR EXISTS (
    SELECT 1 FROM body WHERE body.id = anywhere.id AND (
      json_extract(CAST(content AS TEXT), '$.title') LIKE :text ESCAPE '\'
      OR json_extract(CAST(content AS TEXT), '$.input') LIKE :text ESCAPE '\')))
ORDER BY number DESC LIMIT :limit;

-- list_by_id
-- Everybody's, newest first, by the primary keys.
SELECT place, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc
FROM anywhere
WHERE place BETWEEN :place_min AND :place_max AND id < :before_id AND id >= :last_id
  AND (:statuses IS NULL OR status IN (SELECT value FROM json_each(:statuses)))
  AND (:queue IS NULL OR queue = :queue)
  AND (:type IS NULL OR type = :type)
  AND (:source IS NULL OR source = :source)
  AND (:level IS NULL OR level = :level)
  AND (:schedule_id IS NULL OR json_extract(CAST(record AS TEXT), '$.schedule_id') = :schedule_id)
  AND (:text IS NULL OR EXISTS (
    SELECT 1 FROM body WHERE body.id = anywhere.id AND (
      json_extract(CAST(content AS TEXT), '$.title') LIKE :text ESCAPE '\'
      OR json_extract(CAST(content AS TEXT), '$.input') LIKE :text ESCAPE '\')))
ORDER BY id DESC LIMIT :limit;

-- list_correlated
-- By the partial indexes on correlation_id; sorted after it is read.
SELECT place, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc
FROM anywhere
WHERE place BETWEEN :place_min AND :place_max AND correlation_id = :correlation_id
  AND (:user_id IS NULL OR user_id = :user_id) AND number < :before_number AND id < :before_id
  AND number >= :last_number AND id >= :last_id
  AND (:parent_id IS NULL OR parent_id = :parent_id)
  AND (:statuses IS NULL OR status IN (SELECT value FROM json_each(:statuses)))
  AND (:queue IS NULL OR queue = :queue)
  AND (:type IS NULL OR type = :type)
  AND (:source IS NULL OR source = :source)
  AND (:level IS NULL OR level = :level)
  AND (:schedule_id IS NULL OR json_extract(CAST(record AS TEXT), '$.schedule_id') = :schedule_id)
  AND (:text IS NULL OR EXISTS (
    SELECT 1 FROM body WHERE body.id = anywhere.id AND (
      json_extract(CAST(content AS TEXT), '$.title') LIKE :text ESCAPE '\'
      OR json_extract(CAST(content AS TEXT), '$.input') LIKE :text ESCAPE '\')))
ORDER BY iif(:user_id IS NULL, id, number) DESC LIMIT :limit;

-- list_children
-- By the partial indexes on parent_id; sorted after it is read.
SELECT place, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc
FROM anywhere
WHERE place BETWEEN :place_min AND :place_max AND parent_id = :parent_id
  AND (:user_id IS NULL OR user_id = :user_id) AND number < :before_number AND id < :before_id
  AND number >= :last_number AND id >= :last_id
  AND (:statuses IS NULL OR status IN (SELECT value FROM json_each(:statuses)))
  AND (:queue IS NULL OR queue = :queue)
  AND (:type IS NULL OR type = :type)
  AND (:source IS NULL OR source = :source)
  AND (:level IS NULL OR level = :level)
  AND (:schedule_id IS NULL OR json_extract(CAST(record AS TEXT), '$.schedule_id') = :schedule_id)
  AND (:text IS NULL OR EXISTS (
    SELECT 1 FROM body WHERE body.id = anywhere.id AND (
      json_extract(CAST(content AS TEXT), '$.title') LIKE :text ESCAPE '\'
      OR json_extract(CAST(content AS TEXT), '$.input') LIKE :text ESCAPE '\')))
ORDER BY iif(:user_id IS NULL, id, number) DESC LIMIT :limit;

-- list_dead
-- By `history_dead`, named because the planner would rather walk down the ids. Sorted after it is read.
SELECT 1, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc
FROM history INDEXED BY history_dead
WHERE status = 'permanently_failed'
  AND (:user_id IS NULL OR user_id = :user_id) AND number < :before_number AND id < :before_id
  AND number >= :last_number AND id >= :last_id
  AND (:queue IS NULL OR queue = :queue)
  AND (:type IS NULL OR type = :type)
  AND (:source IS NULL OR source = :source)
  AND (:level IS NULL OR level = :level)
  AND (:schedule_id IS NULL OR json_extract(CAST(record AS TEXT), '$.schedule_id') = :schedule_id)
  AND (:text IS NULL OR EXISTS (
    SELECT 1 FROM body WHERE body.id = history.id AND (
      json_extract(CAST(content AS TEXT), '$.title') LIKE :text ESCAPE '\'
      OR json_extract(CAST(content AS TEXT), '$.input') LIKE :text ESCAPE '\')))
ORDER BY iif(:user_id IS NULL, id, number) DESC LIMIT :limit;

-- bodies_of
-- Every task has exactly one: a missing row is a broken file.
SELECT id, content, crc FROM body WHERE id IN (SELECT value FROM json_each(:ids));

-- outcomes_of
-- No row: the task has not ended, or ended without a result.
SELECT id, content, crc FROM outcome WHERE id IN (SELECT value FROM json_each(:ids));

-- checkpoints_of
SELECT id, content, crc FROM checkpoint WHERE id IN (SELECT value FROM json_each(:ids));

-- late_results_of
SELECT task_id, attempt, at, content, crc FROM late_result
WHERE task_id IN (SELECT value FROM json_each(:ids)) ORDER BY task_id, attempt;

-- log_of
-- Pieces after a place, up to the one with which there are so many bytes; the first is always among them.
SELECT attempt, n, at, text, crc FROM (
    SELECT attempt, n, at, text, crc, SUM(LENGTH(text)) OVER (ORDER BY attempt, n) - LENGTH(text) AS bytes_before
    FROM log_chunk
    WHERE task_id = :task_id AND (:attempt IS NULL OR attempt = :attempt)
        AND (attempt, n) > (:after_attempt, :after_n)
) AS later
WHERE bytes_before < :bytes_max ORDER BY attempt, n;

-- epochs_around
-- Missing rows: dropped from the log's beginning, or not written yet.
SELECT seq, epoch FROM commit_log WHERE seq BETWEEN :seq AND :seq + 1;

-- first_ages
SELECT at FROM commit_log ORDER BY seq LIMIT 2;

-- commits_from
SELECT seq, epoch, events, crc FROM commit_log WHERE seq >= :seq ORDER BY seq;

-- commits_of
-- A dropped commit has no row: what happened then is forgotten.
SELECT seq, epoch, events, crc FROM commit_log WHERE seq IN (SELECT value FROM json_each(:seqs)) ORDER BY seq;

-- audit_entries
SELECT n, record, crc FROM audit WHERE n < :before ORDER BY n DESC LIMIT :limit;

-- audit_entries_about
-- By `audit_subject`, which ends in `n`.
SELECT n, record, crc FROM audit WHERE subject = :subject AND n < :before ORDER BY n DESC LIMIT :limit;

-- count_all
-- Hot ones and ended ones, by indexes that hold the user.
SELECT (SELECT COUNT(*) FROM task WHERE user_id BETWEEN :user_min AND :user_max),
    (SELECT COUNT(*) FROM history WHERE user_id BETWEEN :user_min AND :user_max);

-- count_by_status
-- All but `queued` and `completed`, of which there may be very many: how many those are follows from `count_all`.
SELECT status, COUNT(*) FROM task
WHERE status <> 'queued' AND user_id BETWEEN :user_min AND :user_max GROUP BY status
UNION ALL
SELECT status, COUNT(*) FROM history
WHERE status <> 'completed' AND user_id BETWEEN :user_min AND :user_max GROUP BY status;
