-- Statements by which a whole yard is read and written: `dump.py` alone uses them, while no hub runs. What is dumped
-- comes in the order of its key, each row with its checksum last. Where rows are written, a list per column.

-- hold_yard
-- No hub takes the lead while this is held: it would have to change this row. False: one holds the lock by which others
-- would notice its death. It waits for nobody.
SELECT pg_try_advisory_xact_lock(:namespace::int, 0), secret FROM identity FOR UPDATE OF identity NOWAIT;

-- is_untouched
-- A yard that nobody has opened.
SELECT cluster_id IS NULL AND NOT EXISTS (SELECT 1 FROM commit_log) AND NOT EXISTS (SELECT 1 FROM anywhere)
    AND NOT EXISTS (SELECT 1 FROM person)
FROM identity;

-- dump_summary
-- The last commit's batch and how much there is of each kind, in the order of `KINDS`.
SELECT (SELECT batch_id FROM commit_log ORDER BY seq DESC LIMIT 1),
    (SELECT count(*) FROM task), (SELECT count(*) FROM history), (SELECT count(*) FROM archive),
    (SELECT count(*) FROM checkpoint), (SELECT count(*) FROM late_result), (SELECT count(*) FROM log_chunk),
    (SELECT count(*) FROM commit_log WHERE seq >= (SELECT seq FROM log_start)), (SELECT count(*) FROM numbering),
    (SELECT count(*) FROM person), (SELECT count(*) FROM api_key), (SELECT count(*) FROM daemon),
    (SELECT count(*) FROM kept), (SELECT count(*) FROM audit), (SELECT count(*) FROM request),
    (SELECT count(*) FROM figures), (SELECT count(*) FROM takeover);

-- dump_active_tasks
-- A body or an outcome that lies in its task's row counts before one of its own row.
SELECT 0::bigint, held.id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record,
    held.crc, NULL::bigint,
    COALESCE(held.body, body.content), CASE WHEN held.body IS NULL THEN body.crc ELSE body_crc END,
    COALESCE(held.outcome, outcome.content), CASE WHEN held.outcome IS NULL THEN outcome.crc ELSE outcome_crc END
FROM task AS held LEFT JOIN body ON body.id = held.id LEFT JOIN outcome ON outcome.id = held.id
ORDER BY held.id;

-- dump_ended_tasks
SELECT 1::bigint, held.id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record,
    held.crc, completed_at,
    COALESCE(held.body, body.content), CASE WHEN held.body IS NULL THEN body.crc ELSE body_crc END,
    COALESCE(held.outcome, outcome.content), CASE WHEN held.outcome IS NULL THEN outcome.crc ELSE outcome_crc END
FROM history AS held LEFT JOIN body ON body.id = held.id LEFT JOIN outcome ON outcome.id = held.id
ORDER BY held.id;

-- dump_archived_tasks
SELECT 2::bigint, held.id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record,
    held.crc, completed_at,
    COALESCE(held.body, body.content), CASE WHEN held.body IS NULL THEN body.crc ELSE body_crc END,
    COALESCE(held.outcome, outcome.content), CASE WHEN held.outcome IS NULL THEN outcome.crc ELSE outcome_crc END
FROM archive AS held LEFT JOIN body ON body.id = held.id LEFT JOIN outcome ON outcome.id = held.id
ORDER BY held.id;

-- dump_checkpoints
SELECT id, content, crc FROM checkpoint ORDER BY id;

-- dump_late_results
SELECT task_id, attempt, at, content, crc FROM late_result ORDER BY task_id, attempt;

-- dump_logs
SELECT task_id, attempt, n, at, text, crc FROM log_chunk ORDER BY task_id, attempt, n;

-- dump_commits
-- Those that readers still see.
SELECT seq, epoch, batch_id, at, events, crc FROM commit_log WHERE seq >= (SELECT seq FROM log_start) ORDER BY seq;

-- dump_numbers
-- Names are escaped (`arrays.py`), and an escape does not sort as what it stands for. So U+0000 becomes the pair 1, 2 here
-- and U+0001 the pair 1, 4, which keeps the order of code points; 1, 3 stands for U+001A until the other escape is undone.
SELECT user_id, number, crc FROM numbering ORDER BY
    replace(replace(replace(replace(user_id, chr(1), chr(1) || chr(4)), chr(26) || chr(26), chr(1) || chr(3)),
        chr(26) || '0', chr(1) || chr(2)), chr(1) || chr(3), chr(26));

-- dump_users
-- In the order of names, as in `dump_numbers`.
SELECT id, record, crc FROM person ORDER BY
    replace(replace(replace(replace(id, chr(1), chr(1) || chr(4)), chr(26) || chr(26), chr(1) || chr(3)),
        chr(26) || '0', chr(1) || chr(2)), chr(1) || chr(3), chr(26));

-- dump_keys
SELECT id, record, crc FROM api_key ORDER BY id;

-- dump_daemons
SELECT id, record, crc FROM daemon ORDER BY id;

-- dump_kept
-- In the order of names, as in `dump_numbers`.
SELECT kind, name, record, crc FROM kept ORDER BY kind,
    replace(replace(replace(replace(name, chr(1), chr(1) || chr(4)), chr(26) || chr(26), chr(1) || chr(3)),
        chr(26) || '0', chr(1) || chr(2)), chr(1) || chr(3), chr(26));

-- dump_audit
SELECT n, subject, record, crc FROM audit ORDER BY n;

-- dump_requests
-- In the order of names, as in `dump_numbers`.
SELECT name, at, answer, crc FROM request ORDER BY
    replace(replace(replace(replace(name, chr(1), chr(1) || chr(4)), chr(26) || chr(26), chr(1) || chr(3)),
        chr(26) || '0', chr(1) || chr(2)), chr(1) || chr(3), chr(26));

-- dump_figures
SELECT step, at, record, crc FROM figures ORDER BY step, at;

-- dump_takeovers
SELECT epoch, id, seq, crc FROM takeover ORDER BY epoch;

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

-- restore_takeovers
INSERT INTO takeover (epoch, id, seq, crc) SELECT new.* FROM unnest(:epoch, :id, :seq, :crc) AS new;
