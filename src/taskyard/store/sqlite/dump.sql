-- Statements by which a whole yard is read and written: `dump.py` alone uses them, while no hub runs. What is dumped
-- comes in any order, each row with its checksum last.

-- dump_total
SELECT (SELECT COUNT(*) FROM task) + (SELECT COUNT(*) FROM history) + (SELECT COUNT(*) FROM archive)
    + (SELECT COUNT(*) FROM checkpoint) + (SELECT COUNT(*) FROM late_result) + (SELECT COUNT(*) FROM log_chunk)
    + (SELECT COUNT(*) FROM commit_log) + (SELECT COUNT(*) FROM numbering) + (SELECT COUNT(*) FROM user)
    + (SELECT COUNT(*) FROM api_key) + (SELECT COUNT(*) FROM daemon) + (SELECT COUNT(*) FROM kept)
    + (SELECT COUNT(*) FROM audit) + (SELECT COUNT(*) FROM request)
    + (SELECT COUNT(*) FROM figures);

-- dump_tasks
-- Table by table, in the order of their rows; the contents of each by their keys.
SELECT held.*, body.content, body.crc, outcome.content, outcome.crc
FROM (
    SELECT 0 AS place, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc,
        NULL AS completed_at FROM task
    UNION ALL
    SELECT 1, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc,
        completed_at FROM history
    UNION ALL
    SELECT 2, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc,
        completed_at FROM archive
) AS held LEFT JOIN body ON body.id = held.id LEFT JOIN outcome ON outcome.id = held.id;

-- dump_checkpoints
SELECT id, content, crc FROM checkpoint;

-- dump_late_results
SELECT task_id, attempt, at, content, crc FROM late_result;

-- dump_logs
SELECT task_id, attempt, n, at, text, crc FROM log_chunk;

-- dump_commits
SELECT seq, epoch, batch_id, at, events, crc FROM commit_log;

-- dump_numbers
SELECT user_id, number, crc FROM numbering;

-- dump_users
SELECT id, record, crc FROM user;

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
INSERT INTO identity (one, cluster_id, epoch, crc) VALUES (1, :cluster_id, :epoch, :crc);

-- restore_hot
INSERT INTO task (id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc)
VALUES (:id, :user_id, :number, :status, :level, :queue, :type, :source, :correlation_id, :parent_id, :record, :crc);

-- restore_history
INSERT INTO history
    (id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc, completed_at,
     idempotency_key)
VALUES (:id, :user_id, :number, :status, :level, :queue, :type, :source, :correlation_id, :parent_id, :record, :crc,
    :completed_at, :idempotency_key);

-- restore_archive
INSERT INTO archive
    (id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc, completed_at,
     idempotency_key)
VALUES (:id, :user_id, :number, :status, :level, :queue, :type, :source, :correlation_id, :parent_id, :record, :crc,
    :completed_at, :idempotency_key);

-- restore_body
INSERT INTO body (id, content, crc) VALUES (:id, :content, :crc);

-- restore_outcome
INSERT INTO outcome (id, content, crc) VALUES (:id, :content, :crc);

-- restore_checkpoints
INSERT INTO checkpoint (id, content, crc) VALUES (:id, :content, :crc);

-- restore_late_results
INSERT INTO late_result (task_id, attempt, at, content, crc) VALUES (:task_id, :attempt, :at, :content, :crc);

-- restore_logs
INSERT INTO log_chunk (task_id, attempt, n, at, text, crc) VALUES (:task_id, :attempt, :n, :at, :text, :crc);

-- restore_commits
INSERT INTO commit_log (seq, epoch, batch_id, at, events, crc) VALUES (:seq, :epoch, :batch_id, :at, :events, :crc);

-- restore_numbers
INSERT INTO numbering (user_id, number, crc) VALUES (:user_id, :number, :crc);

-- restore_users
INSERT INTO user (id, record, crc) VALUES (:id, :record, :crc);

-- restore_keys
INSERT INTO api_key (id, record, crc) VALUES (:id, :record, :crc);

-- restore_daemons
INSERT INTO daemon (id, record, crc) VALUES (:id, :record, :crc);

-- restore_kept
INSERT INTO kept (kind, name, record, crc) VALUES (:kind, :name, :record, :crc);

-- restore_audit
INSERT INTO audit (n, subject, record, crc) VALUES (:n, :subject, :record, :crc);

-- restore_requests
INSERT INTO request (name, at, answer, crc) VALUES (:name, :at, :answer, :crc);

-- restore_figures
INSERT INTO figures (step, at, record, crc) VALUES (:step, :at, :record, :crc);
