-- Statements by which a whole yard is read and written: `dump.py` alone uses them, while no hub runs. What is dumped
-- comes in the order of its key, each row with its checksum last.

-- dump_summary
-- The last commit's batch and how much there is of each kind, in the order of `KINDS`.
SELECT (SELECT batch_id FROM commit_log ORDER BY seq DESC LIMIT 1),
    (SELECT COUNT(*) FROM task), (SELECT COUNT(*) FROM history), (SELECT COUNT(*) FROM archive),
    (SELECT COUNT(*) FROM checkpoint), (SELECT COUNT(*) FROM late_result), (SELECT COUNT(*) FROM log_chunk),
    (SELECT COUNT(*) FROM commit_log), (SELECT COUNT(*) FROM numbering), (SELECT COUNT(*) FROM user),
    (SELECT COUNT(*) FROM api_key), (SELECT COUNT(*) FROM daemon), (SELECT COUNT(*) FROM kept),
    (SELECT COUNT(*) FROM audit), (SELECT COUNT(*) FROM request), (SELECT COUNT(*) FROM figures),
    (SELECT COUNT(*) FROM takeover);

-- dump_active_tasks
SELECT 0, task.id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record,
    task.crc, NULL, body.content, body.crc, outcome.content, outcome.crc
FROM task LEFT JOIN body ON body.id = task.id LEFT JOIN outcome ON outcome.id = task.id
ORDER BY task.id;

-- dump_ended_tasks
SELECT 1, history.id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record,
    history.crc, completed_at, body.content, body.crc, outcome.content, outcome.crc
FROM history LEFT JOIN body ON body.id = history.id LEFT JOIN outcome ON outcome.id = history.id
ORDER BY history.id;

-- dump_archived_tasks
SELECT 2, archive.id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record,
    archive.crc, completed_at, body.content, body.crc, outcome.content, outcome.crc
FROM archive LEFT JOIN body ON body.id = archive.id LEFT JOIN outcome ON outcome.id = archive.id
ORDER BY archive.id;

-- dump_checkpoints
SELECT id, content, crc FROM checkpoint ORDER BY id;

-- dump_late_results
SELECT task_id, attempt, at, content, crc FROM late_result ORDER BY task_id, attempt;

-- dump_logs
SELECT task_id, attempt, n, at, text, crc FROM log_chunk ORDER BY task_id, attempt, n;

-- dump_commits
SELECT seq, epoch, batch_id, at, events, crc FROM commit_log ORDER BY seq;

-- dump_numbers
SELECT user_id, number, crc FROM numbering ORDER BY user_id;

-- dump_users
SELECT id, record, crc FROM user ORDER BY id;

-- dump_keys
SELECT id, record, crc FROM api_key ORDER BY id;

-- dump_daemons
SELECT id, record, crc FROM daemon ORDER BY id;

-- dump_kept
SELECT kind, name, record, crc FROM kept ORDER BY kind, name;

-- dump_audit
SELECT n, subject, record, crc FROM audit ORDER BY n;

-- dump_requests
SELECT name, at, answer, crc FROM request ORDER BY name;

-- dump_figures
SELECT step, at, record, crc FROM figures ORDER BY step, at;

-- dump_takeovers
SELECT epoch, id, seq, crc FROM takeover ORDER BY epoch;

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

-- restore_takeovers
INSERT INTO takeover (epoch, id, seq, crc) VALUES (:epoch, :id, :seq, :crc);
