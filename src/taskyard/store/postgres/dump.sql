-- Statements by which a whole yard is read and written: `dump.py` alone uses them, while no hub runs. What is dumped
-- comes in any order, each row with its checksum last. Where rows are written, a list per column.

-- hold_yard
-- No hub takes the lead while this is held: it would have to change this row. False: one holds the lock by which others
-- would notice its death. It waits for nobody.
SELECT pg_try_advisory_xact_lock(:namespace::int, 0), secret FROM identity FOR UPDATE OF identity NOWAIT;

-- is_untouched
-- A yard that nobody has opened.
SELECT cluster_id IS NULL AND NOT EXISTS (SELECT 1 FROM commit_log) AND NOT EXISTS (SELECT 1 FROM anywhere)
    AND NOT EXISTS (SELECT 1 FROM person)
FROM identity;

-- dump_total
SELECT (SELECT count(*) FROM anywhere) + (SELECT count(*) FROM checkpoint) + (SELECT count(*) FROM late_result)
    + (SELECT count(*) FROM log_chunk) + (SELECT count(*) FROM numbering) + (SELECT count(*) FROM person)
    + (SELECT count(*) FROM api_key) + (SELECT count(*) FROM daemon) + (SELECT count(*) FROM kept)
    + (SELECT count(*) FROM audit) + (SELECT count(*) FROM request)
    + (SELECT count(*) FROM figures)
    + (SELECT count(*) FROM commit_log WHERE seq >= (SELECT seq FROM log_start));

-- dump_tasks
-- A body or an outcome that lies in its task's row counts before one of its own row.
SELECT place, held.id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, held.crc,
    completed_at,
    COALESCE(held.body, body.content), CASE WHEN held.body IS NULL THEN body.crc ELSE body_crc END,
    COALESCE(held.outcome, outcome.content), CASE WHEN held.outcome IS NULL THEN outcome.crc ELSE outcome_crc END
FROM (
    SELECT 0::bigint AS place, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record,
        crc, body, body_crc, outcome, outcome_crc, NULL::bigint AS completed_at FROM task
    UNION ALL
    SELECT 1, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc,
        body, body_crc, outcome, outcome_crc, completed_at FROM history
    UNION ALL
    SELECT 2, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc,
        body, body_crc, outcome, outcome_crc, completed_at FROM archive
) AS held LEFT JOIN body ON body.id = held.id LEFT JOIN outcome ON outcome.id = held.id;

-- dump_checkpoints
SELECT id, content, crc FROM checkpoint;

-- dump_late_results
SELECT task_id, attempt, at, content, crc FROM late_result;

-- dump_logs
SELECT task_id, attempt, n, at, text, crc FROM log_chunk;

-- dump_commits
-- Those that readers still see.
SELECT seq, epoch, batch_id, at, events, crc FROM commit_log WHERE seq >= (SELECT seq FROM log_start);

-- dump_numbers
SELECT user_id, number, crc FROM numbering;

-- dump_users
SELECT id, record, crc FROM person;

-- dump_keys
SELECT id, record, crc FROM api_key;

-- dump_daemons
SELECT id, record, crc FROM daemon;

-- dump_kept
SELECT kind, name, record, crc FROM kept;

-- dump_audit
SELECT n, subject, record, crc FROM audit;

-- dump_requests
SELECT name, at, answer, crc FROM request;

-- dump_figures
SELECT step, at, record, crc FROM figures;

-- restore_identity
UPDATE identity SET cluster_id = :cluster_id, epoch = :epoch, crc = :crc;

-- restore_secret
UPDATE identity SET secret = :secret;

-- restore_partitions
SELECT make_partition(:parent, first, :width) FROM unnest(:firsts) AS first;

-- restore_hot
INSERT INTO task
    (id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc, body, body_crc,
     outcome, outcome_crc, seq)
SELECT new.*, :seq
FROM unnest(:id, :user_id, :number, :status, :level, :queue, :type, :source, :correlation_id, :parent_id, :record, :crc,
    :body, :body_crc, :outcome, :outcome_crc) AS new;

-- restore_history
INSERT INTO history
    (id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc, body, body_crc,
     outcome, outcome_crc, completed_at, idempotency_key)
SELECT new.*
FROM unnest(:id, :user_id, :number, :status, :level, :queue, :type, :source, :correlation_id, :parent_id, :record, :crc,
    :body, :body_crc, :outcome, :outcome_crc, :completed_at, :idempotency_key) AS new;

-- restore_archive
INSERT INTO archive
    (id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc, body, body_crc,
     outcome, outcome_crc, completed_at, idempotency_key)
SELECT new.*
FROM unnest(:id, :user_id, :number, :status, :level, :queue, :type, :source, :correlation_id, :parent_id, :record, :crc,
    :body, :body_crc, :outcome, :outcome_crc, :completed_at, :idempotency_key) AS new;

-- restore_body
INSERT INTO body (id, content, crc) SELECT new.* FROM unnest(:id, :content, :crc) AS new;

-- restore_outcome
INSERT INTO outcome (id, content, crc) SELECT new.* FROM unnest(:id, :content, :crc) AS new;

-- restore_checkpoints
INSERT INTO checkpoint (id, content, crc) SELECT new.* FROM unnest(:id, :content, :crc) AS new;

-- restore_late_results
INSERT INTO late_result (task_id, attempt, at, content, crc)
SELECT new.* FROM unnest(:task_id, :attempt, :at, :content, :crc) AS new;

-- restore_logs
INSERT INTO log_chunk (task_id, attempt, n, at, text, crc)
SELECT new.* FROM unnest(:task_id, :attempt, :n, :at, :text, :crc) AS new;

-- restore_commits
INSERT INTO commit_log (seq, epoch, batch_id, at, events, crc)
SELECT new.* FROM unnest(:seq, :epoch, :batch_id, :at, :events, :crc) AS new;

-- restore_numbers
INSERT INTO numbering (user_id, number, crc) SELECT new.* FROM unnest(:user_id, :number, :crc) AS new;

-- restore_users
INSERT INTO person (id, record, crc) SELECT new.* FROM unnest(:id, :record, :crc) AS new;

-- restore_keys
INSERT INTO api_key (id, record, crc) SELECT new.* FROM unnest(:id, :record, :crc) AS new;

-- restore_daemons
INSERT INTO daemon (id, record, crc) SELECT new.* FROM unnest(:id, :record, :crc) AS new;

-- restore_kept
INSERT INTO kept (kind, name, record, crc) SELECT new.* FROM unnest(:kind, :name, :record, :crc) AS new;

-- restore_audit
INSERT INTO audit (n, subject, record, crc) SELECT new.* FROM unnest(:n, :subject, :record, :crc) AS new;

-- restore_requests
-- They belong to commits of the source, of which nobody asks any more.
INSERT INTO request (name, seq, at, answer, crc)
SELECT new.name, 0, new.at, new.answer, new.crc FROM unnest(:name, :at, :answer, :crc) AS new (name, at, answer, crc);

-- restore_figures
INSERT INTO figures (step, at, record, crc) SELECT new.* FROM unnest(:step, :at, :record, :crc) AS new;
