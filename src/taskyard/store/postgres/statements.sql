-- Statements of the PostgreSQL engine that every engine has, by the same names. What follows a name says what the
-- statement relies on and what zero rows mean. `:name` is a parameter; where rows are written, a list per column.
-- Status words stand here only where a partial index needs a literal.
--
-- A commit is one statement, made of those parts that its batch needs (`commit.py`). Each begins with the name that the
-- others know it by, and writes only if `fence` did. They all see the state before the commit, so no two of them may
-- write the same row.
--
-- Where rows are changed or deleted, the place of each is looked up first, by its key (`OFFSET 0` keeps that so). Left to
-- the planner, a join walks the whole index once the table was found empty a while ago: it then believes that there is
-- nothing to walk, and there may be all that a snapshot somewhere keeps from being tidied away.

-- insert_commit
-- The fence. Zero rows: another hub wrote at this place of the log, or the last commit is not the one this was built
-- upon. A conflict on the key says the same of one that was faster.
fence AS (
    INSERT INTO commit_log (seq, epoch, batch_id, at, events, crc)
    SELECT :seq, :epoch, :batch_id, :at, :events, :events_crc
    WHERE EXISTS (SELECT 1 FROM commit_log WHERE seq = :seq - 1 AND batch_id = :after)
    RETURNING seq
)

-- insert_task
-- The core gives ids and numbers once: a conflict is a bug, and the batch fails whole.
created AS (
    INSERT INTO task
        (id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc,
         body, body_crc, seq)
    SELECT new.*, :seq
    FROM unnest(:created_id, :created_user, :created_number, :created_status, :created_level, :created_queue,
        :created_type, :created_source, :created_correlation, :created_parent, :created_record, :created_crc,
        :created_body, :created_body_crc) AS new
    WHERE (SELECT count(*) FROM fence) = 1
)

-- update_task
-- By the primary key. Only what can change: a queue, a source or a parent is for life.
-- Fewer rows than were given: the core thinks that a task is hot and it is not; the batch fails whole.
changed AS (
    UPDATE task SET status = new.status, level = new.level, record = new.record, crc = new.crc, seq = :seq
    FROM (
        SELECT new.*, (SELECT ctid FROM task WHERE task.id = new.id) AS place
        FROM unnest(:changed_id, :changed_status, :changed_level, :changed_record, :changed_crc)
            AS new (id, status, level, record, crc)
        OFFSET 0
    ) AS new
    WHERE task.ctid = new.place AND (SELECT count(*) FROM fence) = 1
    RETURNING 1
)

-- delete_task
-- Out of the hot table and into history, with what never changed about it. An outcome that comes without its content
-- is in `outcome`; a task that ends without one keeps what it had before it was revived.
-- Fewer rows than were given: the same as for `update_task`.
gone AS (
    DELETE FROM task
    USING (
        SELECT new.*, (SELECT ctid FROM task WHERE task.id = new.id) AS place
        FROM unnest(:ended_id, :ended_status, :ended_level, :ended_record, :ended_crc, :ended_outcome,
            :ended_outcome_crc, :ended_at, :ended_key)
            AS new (id, status, level, record, crc, outcome, outcome_crc, completed_at, key)
        OFFSET 0
    ) AS new
    WHERE task.ctid = new.place AND (SELECT count(*) FROM fence) = 1
    RETURNING task.id, task.user_id, task.number, new.status, new.level, task.queue, task.type, task.source,
        task.correlation_id, task.parent_id, new.record, new.crc, task.body, task.body_crc,
        CASE WHEN new.outcome_crc IS NULL THEN task.outcome ELSE new.outcome END,
        COALESCE(new.outcome_crc, task.outcome_crc), new.completed_at, new.key
), ended AS (
    INSERT INTO history SELECT * FROM gone
)

-- insert_history
-- Tasks that were created and ended within one batch and were never hot.
unseen AS (
    INSERT INTO history
        (id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc,
         body, body_crc, outcome, outcome_crc, completed_at, idempotency_key)
    SELECT new.*
    FROM unnest(:unseen_id, :unseen_user, :unseen_number, :unseen_status, :unseen_level, :unseen_queue,
        :unseen_type, :unseen_source, :unseen_correlation, :unseen_parent, :unseen_record, :unseen_crc,
        :unseen_body, :unseen_body_crc, :unseen_outcome, :unseen_outcome_crc, :unseen_at, :unseen_key) AS new
    WHERE (SELECT count(*) FROM fence) = 1
)

-- insert_body
-- Those that are too large for their task's row.
body_written AS (
    INSERT INTO body (id, content, crc)
    SELECT new.* FROM unnest(:body_id, :body_content, :body_crc) AS new WHERE (SELECT count(*) FROM fence) = 1
)

-- upsert_outcome
-- Those that are too large for their task's row, or that came to a task of the past. A revived task ends again: its
-- newest outcome counts.
outcome_written AS (
    INSERT INTO outcome (id, content, crc)
    SELECT new.* FROM unnest(:outcome_id, :outcome_content, :outcome_crc) AS new
    WHERE (SELECT count(*) FROM fence) = 1
    ON CONFLICT (id) DO UPDATE SET content = excluded.content, crc = excluded.crc
)

-- upsert_checkpoint
checkpoint_written AS (
    INSERT INTO checkpoint (id, content, crc)
    SELECT new.* FROM unnest(:checkpoint_id, :checkpoint_content, :checkpoint_crc) AS new
    WHERE (SELECT count(*) FROM fence) = 1
    ON CONFLICT (id) DO UPDATE SET content = excluded.content, crc = excluded.crc
)

-- upsert_late_result
-- A daemon may tell the same late result again.
late_written AS (
    INSERT INTO late_result (task_id, attempt, at, content, crc)
    SELECT new.* FROM unnest(:late_task, :late_attempt, :late_at, :late_content, :late_crc) AS new
    WHERE (SELECT count(*) FROM fence) = 1
    ON CONFLICT (task_id, attempt) DO UPDATE SET at = excluded.at, content = excluded.content, crc = excluded.crc
)

-- insert_log_chunk
log_written AS (
    INSERT INTO log_chunk (task_id, attempt, n, at, text, crc)
    SELECT new.* FROM unnest(:log_task, :log_attempt, :log_n, :log_at, :log_text, :log_crc) AS new
    WHERE (SELECT count(*) FROM fence) = 1
)

-- raise_number
-- The number before goes by its own key (`versions.py`); zero rows deleted: this is the user's first.
numbers_raised AS (
    INSERT INTO numbering (user_id, number, crc)
    SELECT new.* FROM unnest(:highest_user, :highest_number, :highest_crc) AS new
    WHERE (SELECT count(*) FROM fence) = 1
), numbers_passed AS (
    DELETE FROM numbering USING (
        SELECT (SELECT ctid FROM numbering WHERE user_id = old.user_id AND number = old.number) AS place
        FROM unnest(:passed_user, :passed_number) AS old (user_id, number)
        OFFSET 0
    ) AS old
    WHERE numbering.ctid = old.place AND (SELECT count(*) FROM fence) = 1
)

-- upsert_user
user_written AS (
    INSERT INTO person (id, record, crc)
    SELECT new.* FROM unnest(:user_id, :user_record, :user_crc) AS new WHERE (SELECT count(*) FROM fence) = 1
    ON CONFLICT (id) DO UPDATE SET record = excluded.record, crc = excluded.crc
)

-- upsert_key
key_written AS (
    INSERT INTO api_key (id, record, crc)
    SELECT new.* FROM unnest(:key_id, :key_record, :key_crc) AS new WHERE (SELECT count(*) FROM fence) = 1
    ON CONFLICT (id) DO UPDATE SET record = excluded.record, crc = excluded.crc
)

-- upsert_daemon
daemon_written AS (
    INSERT INTO daemon (id, record, crc)
    SELECT new.* FROM unnest(:daemon_id, :daemon_record, :daemon_crc) AS new WHERE (SELECT count(*) FROM fence) = 1
    ON CONFLICT (id) DO UPDATE SET record = excluded.record, crc = excluded.crc
)

-- delete_daemon
-- Fewer rows than were given: they came and were forgotten within one batch.
daemon_forgotten AS (
    DELETE FROM daemon
    USING (
        SELECT (SELECT ctid FROM daemon WHERE id = old.id) AS place
        FROM unnest(:forgotten_id) AS old (id)
        OFFSET 0
    ) AS old
    WHERE daemon.ctid = old.place AND (SELECT count(*) FROM fence) = 1
)

-- upsert_kept
kept_written AS (
    INSERT INTO kept (kind, name, record, crc, seq)
    SELECT new.*, :seq FROM unnest(:kept_kind, :kept_name, :kept_record, :kept_crc) AS new
    WHERE (SELECT count(*) FROM fence) = 1
)

-- delete_kept
-- What was dropped, and the versions before those that are written, each by its own key (`versions.py`).
kept_dropped AS (
    DELETE FROM kept USING (
        SELECT (SELECT ctid FROM kept WHERE kind = old.kind AND name = old.name AND seq = old.seq) AS place
        FROM unnest(:dropped_kind, :dropped_name, :dropped_seq) AS old (kind, name, seq)
        OFFSET 0
    ) AS old
    WHERE kept.ctid = old.place AND (SELECT count(*) FROM fence) = 1
)

-- insert_audit
audit_written AS (
    INSERT INTO audit (n, subject, record, crc)
    SELECT new.* FROM unnest(:audit_n, :audit_subject, :audit_record, :audit_crc) AS new
    WHERE (SELECT count(*) FROM fence) = 1
)

-- upsert_request
-- A name that is used again means its newest answer.
request_written AS (
    INSERT INTO request (name, seq, at, answer, crc)
    SELECT new.name, :seq, :at, new.answer, new.crc
    FROM unnest(:request_name, :request_answer, :request_crc) AS new (name, answer, crc)
    WHERE (SELECT count(*) FROM fence) = 1
    ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, at = excluded.at, answer = excluded.answer, crc = excluded.crc
)

-- drop_requests
-- Oldest first, by `request_age`, from where the last ones were dropped (`versions.py`): what was before that is gone,
-- and would be walked through again by each commit for as long as a snapshot keeps it. Not those that the same commit
-- writes anew.
requests_dropped AS (
    DELETE FROM request WHERE name IN (
        SELECT name FROM request
        WHERE at >= :requests_from AND at < :requests_before AND NOT name = ANY (:request_name)
        ORDER BY at LIMIT :requests_max
    ) AND (SELECT count(*) FROM fence) = 1
    RETURNING at
)

-- delete_history
-- Back into the hot table, with its body and outcome. Those that have no row here were archived meanwhile;
-- `delete_archive` finds them.
WITH gone AS (
    DELETE FROM history
    USING unnest(:id, :status, :level, :record, :crc) AS new (id, status, level, record, crc)
    WHERE history.id = new.id
    RETURNING history.id, user_id, number, new.status, new.level, queue, type, source, correlation_id, parent_id,
        new.record, new.crc, body, body_crc, outcome, outcome_crc
)
INSERT INTO task SELECT gone.*, :seq FROM gone;

-- delete_archive
-- As `delete_history`. No row: it was there.
WITH gone AS (
    DELETE FROM archive
    USING unnest(:id, :status, :level, :record, :crc) AS new (id, status, level, record, crc)
    WHERE archive.id = new.id
    RETURNING archive.id, user_id, number, new.status, new.level, queue, type, source, correlation_id, parent_id,
        new.record, new.crc, body, body_crc, outcome, outcome_crc
)
INSERT INTO task SELECT gone.*, :seq FROM gone;

-- amend_history
-- Those that have no row here were archived meanwhile; `amend_archive` finds them. An outcome that the commit wrote
-- (`anew`) is in `outcome`, and no longer here.
UPDATE history SET status = new.status, level = new.level, record = new.record, crc = new.crc, completed_at = new.at,
    outcome = CASE WHEN new.anew THEN NULL ELSE outcome END,
    outcome_crc = CASE WHEN new.anew THEN NULL ELSE outcome_crc END
FROM (
    SELECT *, id = ANY (:anew) AS anew
    FROM unnest(:id, :status, :level, :record, :crc, :at) AS each (id, status, level, record, crc, at)
) AS new WHERE history.id = new.id;

-- amend_archive
-- As `amend_history`. No row: it was there.
UPDATE archive SET status = new.status, level = new.level, record = new.record, crc = new.crc, completed_at = new.at,
    outcome = CASE WHEN new.anew THEN NULL ELSE outcome END,
    outcome_crc = CASE WHEN new.anew THEN NULL ELSE outcome_crc END
FROM (
    SELECT *, id = ANY (:anew) AS anew
    FROM unnest(:id, :status, :level, :record, :crc, :at) AS each (id, status, level, record, crc, at)
) AS new WHERE archive.id = new.id;

-- copy_to_archive
-- Oldest first by `history_age`, which leaves out dead letters: a person still has to decide about them.
WITH old AS (
    SELECT id, completed_at FROM history
    WHERE completed_at < :ended_before AND status <> 'permanently_failed'
    ORDER BY completed_at, id LIMIT :rows_max
), gone AS (
    DELETE FROM history USING old WHERE history.id = old.id AND history.completed_at = old.completed_at
    RETURNING history.id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc,
        body, body_crc, outcome, outcome_crc, history.completed_at, idempotency_key
)
INSERT INTO archive SELECT * FROM gone;

-- oldest_commits
-- The log is cut from its beginning only: a gap would hide events from those who follow it.
SELECT seq, at FROM commit_log WHERE seq >= (SELECT seq FROM log_start) ORDER BY seq LIMIT :rows_max;

-- drop_commits
-- For readers; `drop_old_log` takes the space back.
UPDATE log_start SET seq = :seq WHERE seq < :seq;

-- first_archivable
-- Zero rows: nothing in history is that old.
SELECT 1 FROM history WHERE completed_at < :ended_before AND status <> 'permanently_failed' LIMIT 1;

-- read_identity
-- Without a cluster id: nobody has opened this yard yet.
SELECT cluster_id, epoch, crc FROM identity;

-- set_epoch
UPDATE identity SET cluster_id = :cluster_id, epoch = :epoch, crc = :crc;

-- insert_takeover
INSERT INTO takeover (epoch, id, seq, crc) VALUES (:epoch, :id, :seq, :crc);

-- every_takeover
-- Missing rows: that epoch began before there was this table, or under a hub that did not know it.
SELECT epoch, id, seq, crc FROM takeover ORDER BY epoch;

-- batches_at
-- A commit that was dropped, or is yet to come, has no row.
SELECT seq, batch_id FROM commit_log WHERE seq = ANY (:seqs) AND seq >= (SELECT seq FROM log_start);

-- upsert_figures
-- A clock that was put back tells of the same time again. Zero rows: another hub leads.
INSERT INTO figures (step, at, record, crc)
SELECT new.* FROM unnest(:step, :at, :record, :crc) AS new WHERE EXISTS (SELECT 1 FROM identity WHERE epoch = :epoch)
ON CONFLICT (step, at) DO UPDATE SET record = excluded.record, crc = excluded.crc;

-- drop_figures
-- What is old, and what a clock that was ahead has left. Zero rows: there is none.
DELETE FROM figures USING unnest(:step, :first, :last) AS kept (step, first, last)
WHERE figures.step = kept.step AND (at < first OR at > last);

-- figures_since
-- By the primary key.
SELECT at, record, crc FROM figures WHERE step = :step AND at >= :since ORDER BY at;

-- touch_probe
-- A real change, so that it needs a real write; nobody reads it. Zero rows: another hub leads.
UPDATE identity SET probes = probes + 1 WHERE epoch = :epoch;

-- read_position
-- Zero: no commit yet. The newest commit is never dropped.
SELECT COALESCE(MAX(seq), 0) FROM commit_log;

-- every_hot_task
-- In the order of ids, which are minted in the order of time.
-- In pages, so that a million of them need not be held twice.
SELECT 0, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc
FROM task WHERE id > :after ORDER BY id LIMIT :rows_max;

-- every_user
SELECT id, record, crc FROM person ORDER BY id;

-- every_key
SELECT id, record, crc FROM api_key ORDER BY id;

-- every_daemon
SELECT id, record, crc FROM daemon ORDER BY id;

-- every_kept
SELECT kind, name, record, crc FROM kept ORDER BY kind, name;

-- every_number
SELECT user_id, number, crc FROM numbering;

-- log_sizes
-- By the primary key.
SELECT task_id, attempt, SUM(LENGTH(text))::bigint FROM log_chunk WHERE task_id = ANY (:ids) GROUP BY task_id, attempt;

-- tasks_by_id
-- Missing ids have no row.
SELECT * FROM anywhere WHERE id = ANY (:ids) AND (:user_id::text IS NULL OR user_id = :user_id);

-- tasks_by_number
SELECT * FROM anywhere WHERE user_id = :user_id AND number = ANY (:numbers);

-- holders_of_keys
-- By `history_key`. The last row of a key is the only task that may hold it: one whose end keeps a key for good, else
-- the one that ended last.
SELECT idempotency_key, id FROM history
WHERE user_id = :user_id AND idempotency_key = ANY (:keys) AND idempotency_key IS NOT NULL
ORDER BY status = ANY (:keeping), completed_at, number;

-- keys_used
-- By `history_key`.
SELECT user_id, idempotency_key FROM history
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
SELECT CASE WHEN :user_id::text IS NULL THEN id ELSE number::text END
FROM history
WHERE status = 'permanently_failed'
  AND (:user_id::text IS NULL OR user_id = :user_id) AND number < :before_number AND id < :before_id
ORDER BY CASE WHEN :user_id::text IS NULL THEN id END DESC, number DESC LIMIT 1 OFFSET :passed;

-- list_by_number
-- One user's, newest first. Each place is walked down its (user_id, number) index and the walks are merged, so a page
-- costs what it looks at.
SELECT * FROM anywhere
WHERE place BETWEEN :place_min AND :place_max AND user_id = :user_id AND number < :before_number
  AND number >= :last_number
  AND (:statuses::text[] IS NULL OR status = ANY (:statuses))
  AND (:queue::text IS NULL OR queue = :queue)
  AND (:type::text IS NULL OR type = :type)
  AND (:source::text IS NULL OR source = :source)
  AND (:level::text IS NULL OR level = :level)
  AND (:schedule_id::text IS NULL OR said(record, 'schedule_id') = :schedule_id)
  AND (:text::text IS NULL OR EXISTS (
    SELECT 1 FROM (SELECT COALESCE(anywhere.body, (SELECT content FROM body WHERE body.id = anywhere.id))) AS its (content)
    WHERE (:raw::text IS NULL OR lower(convert_from(its.content, 'LATIN1') COLLATE "C") LIKE :raw)
      AND (said(its.content, 'title') COLLATE "C" ILIKE :text OR said(its.content, 'input') COLLATE "C" ILIKE :text)))
ORDER BY number DESC LIMIT :limit;

-- list_by_id
-- Everybody's, newest first, by the primary keys.
SELECT * FROM anywhere
WHERE place BETWEEN :place_min AND :place_max AND id < :before_id AND id >= :last_id
  AND (:statuses::text[] IS NULL OR status = ANY (:statuses))
  AND (:queue::text IS NULL OR queue = :queue)
  AND (:type::text IS NULL OR type = :type)
  AND (:source::text IS NULL OR source = :source)
  AND (:level::text IS NULL OR level = :level)
  AND (:schedule_id::text IS NULL OR said(record, 'schedule_id') = :schedule_id)
  AND (:text::text IS NULL OR EXISTS (
    SELECT 1 FROM (SELECT COALESCE(anywhere.body, (SELECT content FROM body WHERE body.id = anywhere.id))) AS its (content)
    WHERE (:raw::text IS NULL OR lower(convert_from(its.content, 'LATIN1') COLLATE "C") LIKE :raw)
      AND (said(its.content, 'title') COLLATE "C" ILIKE :text OR said(its.content, 'input') COLLATE "C" ILIKE :text)))
ORDER BY id DESC LIMIT :limit;

-- list_correlated
-- By the partial indexes on correlation_id; sorted after it is read.
SELECT * FROM anywhere
WHERE place BETWEEN :place_min AND :place_max AND correlation_id = :correlation_id
  AND (:user_id::text IS NULL OR user_id = :user_id) AND number < :before_number AND id < :before_id
  AND number >= :last_number AND id >= :last_id
  AND (:parent_id::text IS NULL OR parent_id = :parent_id)
  AND (:statuses::text[] IS NULL OR status = ANY (:statuses))
  AND (:queue::text IS NULL OR queue = :queue)
  AND (:type::text IS NULL OR type = :type)
  AND (:source::text IS NULL OR source = :source)
  AND (:level::text IS NULL OR level = :level)
  AND (:schedule_id::text IS NULL OR said(record, 'schedule_id') = :schedule_id)
  AND (:text::text IS NULL OR EXISTS (
    SELECT 1 FROM (SELECT COALESCE(anywhere.body, (SELECT content FROM body WHERE body.id = anywhere.id))) AS its (content)
    WHERE (:raw::text IS NULL OR lower(convert_from(its.content, 'LATIN1') COLLATE "C") LIKE :raw)
      AND (said(its.content, 'title') COLLATE "C" ILIKE :text OR said(its.content, 'input') COLLATE "C" ILIKE :text)))
ORDER BY CASE WHEN :user_id::text IS NULL THEN id END DESC, number DESC LIMIT :limit;

-- list_children
-- By the partial indexes on parent_id; sorted after it is read.
SELECT * FROM anywhere
WHERE place BETWEEN :place_min AND :place_max AND parent_id = :parent_id
  AND (:user_id::text IS NULL OR user_id = :user_id) AND number < :before_number AND id < :before_id
  AND number >= :last_number AND id >= :last_id
  AND (:statuses::text[] IS NULL OR status = ANY (:statuses))
  AND (:queue::text IS NULL OR queue = :queue)
  AND (:type::text IS NULL OR type = :type)
  AND (:source::text IS NULL OR source = :source)
  AND (:level::text IS NULL OR level = :level)
  AND (:schedule_id::text IS NULL OR said(record, 'schedule_id') = :schedule_id)
  AND (:text::text IS NULL OR EXISTS (
    SELECT 1 FROM (SELECT COALESCE(anywhere.body, (SELECT content FROM body WHERE body.id = anywhere.id))) AS its (content)
    WHERE (:raw::text IS NULL OR lower(convert_from(its.content, 'LATIN1') COLLATE "C") LIKE :raw)
      AND (said(its.content, 'title') COLLATE "C" ILIKE :text OR said(its.content, 'input') COLLATE "C" ILIKE :text)))
ORDER BY CASE WHEN :user_id::text IS NULL THEN id END DESC, number DESC LIMIT :limit;

-- list_dead
-- By `history_dead`. Sorted after it is read.
SELECT 1, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc,
    body, body_crc, outcome, outcome_crc
FROM history
WHERE status = 'permanently_failed'
  AND (:user_id::text IS NULL OR user_id = :user_id) AND number < :before_number AND id < :before_id
  AND number >= :last_number AND id >= :last_id
  AND (:queue::text IS NULL OR queue = :queue)
  AND (:type::text IS NULL OR type = :type)
  AND (:source::text IS NULL OR source = :source)
  AND (:level::text IS NULL OR level = :level)
  AND (:schedule_id::text IS NULL OR said(record, 'schedule_id') = :schedule_id)
  AND (:text::text IS NULL OR EXISTS (
    SELECT 1 FROM (SELECT COALESCE(history.body, (SELECT content FROM body WHERE body.id = history.id))) AS its (content)
    WHERE (:raw::text IS NULL OR lower(convert_from(its.content, 'LATIN1') COLLATE "C") LIKE :raw)
      AND (said(its.content, 'title') COLLATE "C" ILIKE :text OR said(its.content, 'input') COLLATE "C" ILIKE :text)))
ORDER BY CASE WHEN :user_id::text IS NULL THEN id END DESC, number DESC LIMIT :limit;

-- bodies_of
-- In its task's row or in `body`. Every task has exactly one: a missing row is a broken store.
SELECT id, body, body_crc FROM anywhere WHERE id = ANY (:ids) AND body IS NOT NULL
UNION ALL
SELECT id, content, crc FROM body WHERE id = ANY (:ids);

-- outcomes_of
-- Those that do not lie in their task's row. No row: the task has not ended, or ended without a result.
SELECT id, content, crc FROM outcome WHERE id = ANY (:ids);

-- checkpoints_of
SELECT id, content, crc FROM checkpoint WHERE id = ANY (:ids);

-- late_results_of
SELECT task_id, attempt, at, content, crc FROM late_result WHERE task_id = ANY (:ids) ORDER BY task_id, attempt;

-- log_of
-- Pieces after a place, up to the one with which there are so many bytes; the first is always among them.
SELECT attempt, n, at, text, crc FROM (
    SELECT attempt, n, at, text, crc, SUM(LENGTH(text)) OVER (ORDER BY attempt, n) - LENGTH(text) AS bytes_before
    FROM log_chunk
    WHERE task_id = :task_id AND (:attempt::bigint IS NULL OR attempt = :attempt)
        AND (attempt, n) > (:after_attempt::bigint, :after_n::bigint)
) AS later
WHERE bytes_before < :bytes_max ORDER BY attempt, n;

-- epochs_around
-- Missing rows: dropped from the log's beginning, or not written yet.
SELECT seq, epoch FROM commit_log WHERE seq BETWEEN :seq AND :seq + 1 AND seq >= (SELECT seq FROM log_start);

-- first_ages
SELECT at FROM commit_log WHERE seq >= (SELECT seq FROM log_start) ORDER BY seq LIMIT 2;

-- commits_from
SELECT seq, epoch, events, crc FROM commit_log WHERE seq >= :seq ORDER BY seq LIMIT :rows_max;

-- commits_of
-- A dropped commit has no row: what happened then is forgotten.
SELECT seq, epoch, events, crc FROM commit_log
WHERE seq = ANY (:seqs) AND seq >= (SELECT seq FROM log_start) ORDER BY seq;

-- audit_entries
SELECT n, record, crc FROM audit WHERE n < :before ORDER BY n DESC LIMIT :limit;

-- audit_entries_about
-- By `audit_subject`, which ends in `n`.
SELECT n, record, crc FROM audit WHERE subject = :subject AND n < :before ORDER BY n DESC LIMIT :limit;

-- request_named
-- No row: it changed nothing, never came, or is forgotten.
SELECT at, answer, crc FROM request WHERE name = :name;

-- count_all
-- Hot ones and ended ones, by indexes that hold the user.
SELECT (SELECT count(*) FROM task WHERE user_id BETWEEN :user_min AND :user_max),
    (SELECT count(*) FROM history WHERE user_id BETWEEN :user_min AND :user_max);

-- count_by_status
-- All but `queued` and `completed`, of which there may be very many: how many those are follows from `count_all`.
SELECT status, count(*) FROM task
WHERE status <> 'queued' AND user_id BETWEEN :user_min AND :user_max GROUP BY status
UNION ALL
SELECT status, count(*) FROM history
WHERE status <> 'completed' AND user_id BETWEEN :user_min AND :user_max GROUP BY status;
