-- What only an engine with many hubs has: looking at the server, taking the lead, and keeping what hubs say of
-- themselves. The database's clock decides who leads.

-- read_server
-- What a hub has to know before it trusts this server: also what a session has that sets nothing by itself.
SELECT current_setting('server_version_num')::bigint, current_setting('server_encoding'), current_setting('fsync'),
    current_setting('full_page_writes'), (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'),
    current_setting('synchronous_standby_names'), pg_is_in_recovery();

-- owns_tables
-- Zero rows: there is no schema yet. Whoever makes and drops partitions has to own their table.
SELECT pg_has_role(current_user, relowner, 'USAGE')
FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = 'taskyard' AND relname = 'history';

-- read_pid
SELECT pg_backend_pid();

-- try_probe_lock
-- By one statement a lock is taken, by the next it is looked for: a pooler that shares connections between
-- transactions hands each to another backend.
SELECT pg_backend_pid(), pg_try_advisory_lock(:namespace::int, pg_backend_pid());

-- take_part
-- Anything that needs a backend.
SELECT 1;

-- check_probe_lock
SELECT pg_backend_pid(), pg_advisory_unlock(:namespace::int, :pid::int);

-- write_to_confirm
-- A real change, so that it needs a real write; the counter is never read. The server's log has it after all that was
-- written before.
UPDATE identity SET probes = probes + 1;

-- end_abandoned_waits
-- Zero rows: there are none. Only those of one's own role can be seen and ended.
SELECT pg_cancel_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND usename = current_user AND wait_event = 'SyncRep'
    AND application_name IN ('taskyard writer', 'taskyard lease')
    AND query_start < clock_timestamp() - :older_ms * interval '1 millisecond';

-- configure_session
-- Only what this server knows, and was built with. A default by which commits wait for more than `on` asks is kept.
SELECT set_config(each.name, CASE WHEN each.name = 'synchronous_commit' AND each.value = 'on' AND reset_val = 'remote_apply'
    THEN reset_val ELSE each.value END, false)
FROM unnest(:names, :values) AS each (name, value) JOIN pg_settings ON lower(pg_settings.name) = lower(each.name)
WHERE pg_settings.enumvals IS NULL OR each.value = ANY (pg_settings.enumvals);

-- set_statement_timeout
-- Until the transaction ends.
SELECT set_config('statement_timeout', :timeout, true);

-- has_migrations
-- False: no migration ever ran here.
SELECT to_regclass('taskyard.migration') IS NOT NULL;

-- make_migrations
CREATE TABLE IF NOT EXISTS taskyard.migration (version int PRIMARY KEY, ran_at timestamptz NOT NULL);

-- read_version
SELECT COALESCE(MAX(version), 0)::bigint FROM taskyard.migration;

-- note_migration
INSERT INTO taskyard.migration VALUES (:version, clock_timestamp());

-- lock_migrations
-- Two that migrate at once do it one after the other. The lock ends with the transaction.
SELECT pg_advisory_xact_lock(:namespace::int, 1);

-- lock_identity
-- Two hubs that take the lead at once do it one after the other, and whoever renews its lease meanwhile does so before
-- it is looked at, or finds that another has it.
SELECT 1 FROM identity, lease FOR UPDATE;

-- read_lease
SELECT epoch, holder, address, (EXTRACT(epoch FROM since) * 1000)::bigint,
    GREATEST(0, EXTRACT(epoch FROM until - clock_timestamp()) * 1000)::bigint, locked
FROM lease;

-- take_lease
UPDATE lease SET epoch = :epoch, holder = :holder, address = :address, since = clock_timestamp(),
    until = clock_timestamp() + :lease_ms * interval '1 millisecond', locked = :locked;

-- append_takeover
-- At the end of the log, as old as the commit before. A conflict: the hub before us committed once more; ask again.
INSERT INTO commit_log (seq, epoch, batch_id, at, events, crc)
VALUES (:seq, :epoch, gen_random_uuid()::text, COALESCE((SELECT at FROM commit_log WHERE seq = :seq - 1), 0), :events, :crc)
RETURNING batch_id;

-- drop_numbers
-- All of them, before others are put in their place.
DELETE FROM numbering;

-- insert_numbers
INSERT INTO numbering (user_id, number, crc) SELECT new.* FROM unnest(:user, :number, :crc) AS new;

-- renew_lease
-- Zero rows: another hub leads. One that ran out and that nobody took is still ours.
UPDATE lease SET until = clock_timestamp() + :lease_ms * interval '1 millisecond', locked = :locked
WHERE epoch = :epoch AND holder = :holder;

-- end_lease
-- Zero rows: another hub leads.
UPDATE lease SET until = to_timestamp(0) WHERE epoch = :epoch AND holder = :holder;

-- last_commit
-- Zero rows: nobody has opened this yard yet.
SELECT seq, epoch, batch_id FROM commit_log ORDER BY seq DESC LIMIT 1;

-- batch_at
-- Whose commit has this place in the log. Zero rows: nobody's.
SELECT epoch, batch_id FROM commit_log WHERE seq = :seq;

-- wait_for_lock
-- Until whoever holds it dies; `lock_timeout` ends the wait.
SELECT pg_advisory_lock(:namespace::int, 0);

-- try_lock
-- False: somebody holds it.
SELECT pg_try_advisory_lock(:namespace::int, 0);

-- pause
SELECT pg_sleep(:seconds::float8);

-- set_lock_timeout
-- Until the transaction ends, or for the session.
SELECT set_config('lock_timeout', :timeout, :is_local);

-- announce_hub
INSERT INTO hub (id, address, url, version, started_at, seen_at)
VALUES (:id, :address, :url, :version, clock_timestamp(), clock_timestamp())
ON CONFLICT (id) DO UPDATE SET address = excluded.address, url = excluded.url, version = excluded.version,
    seen_at = excluded.seen_at;

-- every_hub
-- With how long ago each was seen; those that were not seen for a day are forgotten by `forget_hubs`.
SELECT id, address, url, version, (EXTRACT(epoch FROM started_at) * 1000)::bigint,
    (EXTRACT(epoch FROM clock_timestamp() - seen_at) * 1000)::bigint
FROM hub ORDER BY seen_at DESC, id LIMIT :rows_max;

-- forget_hubs
DELETE FROM hub WHERE seen_at < clock_timestamp() - interval '1 day';

-- forget_hub
DELETE FROM hub WHERE id = :id;

-- hot_tasks_since
-- By a walk over the table: no index may be on a column that every commit changes.
SELECT 0, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc
FROM task WHERE seq > :seq;

-- count_hot
SELECT count(*) FROM task;

-- read_secret
SELECT secret FROM identity;

-- read_timeline
-- Of a standby: 0, whatever it follows.
SELECT CASE WHEN pg_is_in_recovery() THEN 0 ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint END,
    system_identifier::text FROM pg_control_system();

-- read_clock
SELECT (EXTRACT(epoch FROM clock_timestamp()) * 1000)::bigint;

-- make_partitions
SELECT make_partition(:parent, first, :width) FROM unnest(:firsts) AS first;

-- drop_log_partitions
SELECT drop_old_log(:width, :rows_max::int);

-- drop_history_partitions
SELECT drop_old_history(:width, :before, :rows_max::int);

-- end_commit
-- One: the commit happened. Zero: the fence did not let it.
SELECT (SELECT count(*) FROM fence)

-- check_changed
CASE WHEN (SELECT count(*) FROM fence) = 1
THEN must_be((SELECT count(*) FROM changed), :changed_count, 'every changed task is in the hot table') END

-- check_gone
CASE WHEN (SELECT count(*) FROM fence) = 1
THEN must_be((SELECT count(*) FROM gone), :gone_count, 'every task that ends is in the hot table or new') END

-- tell_dropped
-- The newest answer that was dropped. NULL: none was old enough.
(SELECT max(at) FROM requests_dropped)

-- tell_nothing
NULL

-- oldest_request
-- NULL: there is none.
SELECT min(at) FROM request;

-- kept_versions
-- By place, the commit that wrote what is there: the second half of its key.
SELECT kind, name, seq FROM kept;

-- search_end_hot_by_number
-- Where a search among one user's hot tasks of some statuses ends for now: down the same index as `list_by_number`, and
-- no further than that goes. No row: there are not so many.
SELECT number FROM task WHERE user_id = :user_id AND number < :before_number AND status = ANY (:statuses)
ORDER BY number DESC LIMIT 1 OFFSET :passed;

-- search_end_hot_by_id
SELECT id FROM task WHERE id < :before_id AND status = ANY (:statuses) ORDER BY id DESC LIMIT 1 OFFSET :passed;
