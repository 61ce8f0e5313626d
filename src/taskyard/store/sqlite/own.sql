-- Statements of the SQLite engine that no other has: of its file, of its second step to the archive, and of its index on
-- statuses. As in `statements.sql`.

-- new_takeover_id
-- Random: no copy of this file will make the same.
SELECT lower(hex(randomblob(16)));

-- reset_number
-- Whatever was the highest before.
INSERT INTO numbering (user_id, number, crc) VALUES (:user_id, :number, :crc)
ON CONFLICT (user_id) DO UPDATE SET number = excluded.number, crc = excluded.crc;

-- drop_archived
-- The same rows in the same order as `copy_to_archive`, within one transaction.
DELETE FROM history WHERE id IN (
    SELECT id FROM history
    WHERE completed_at < :ended_before AND status <> 'permanently_failed' ORDER BY completed_at, id LIMIT :rows_max
);

-- count_objects
-- Tables, indexes and views, of whatever program.
SELECT COUNT(*) FROM sqlite_schema;

-- read_schema
SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\_%' ESCAPE '\';

-- list_status_by_number
-- One user's hot tasks of one status but `queued`, by `task_status`.
SELECT 0, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc
FROM task
WHERE status = :status AND status <> 'queued' AND user_id = :user_id AND number < :before_number
  AND number >= :last_number
  AND (:queue IS NULL OR queue = :queue)
  AND (:type IS NULL OR type = :type)
  AND (:source IS NULL OR source = :source)
  AND (:level IS NULL OR level = :level)
  AND (:schedule_id IS NULL OR json_extract(CAST(record AS TEXT), '$.schedule_id') = :schedule_id)
  AND (:text IS NULL OR EXISTS (
    SELECT 1 FROM body WHERE body.id = task.id AND (
      json_extract(CAST(content AS TEXT), '$.title') LIKE :text ESCAPE '\'
      OR json_extract(CAST(content AS TEXT), '$.input') LIKE :text ESCAPE '\')))
ORDER BY number DESC LIMIT :limit;

-- list_status_by_id
-- Everybody's hot tasks of one status but `queued`: found by `task_status`, then sorted, so only for a status that few
-- have.
SELECT 0, id, user_id, number, status, level, queue, type, source, correlation_id, parent_id, record, crc
FROM task INDEXED BY task_status
WHERE status = :status AND status <> 'queued' AND id < :before_id AND id >= :last_id
  AND (:queue IS NULL OR queue = :queue)
  AND (:type IS NULL OR type = :type)
  AND (:source IS NULL OR source = :source)
  AND (:level IS NULL OR level = :level)
  AND (:schedule_id IS NULL OR json_extract(CAST(record AS TEXT), '$.schedule_id') = :schedule_id)
  AND (:text IS NULL OR EXISTS (
    SELECT 1 FROM body WHERE body.id = task.id AND (
      json_extract(CAST(content AS TEXT), '$.title') LIKE :text ESCAPE '\'
      OR json_extract(CAST(content AS TEXT), '$.input') LIKE :text ESCAPE '\')))
ORDER BY id DESC LIMIT :limit;

-- search_end_status
-- Where a search among one user's of one status but `queued` ends for now, by `task_status` alone. No row: there are not
-- so many.
SELECT number FROM task
WHERE status = :status AND status <> 'queued' AND user_id = :user_id AND number < :before_number
ORDER BY number DESC LIMIT 1 OFFSET :passed;

-- count_status
-- No further than it matters, by `task_status`.
SELECT COUNT(*) FROM (SELECT 1 FROM task WHERE status = :status AND status <> 'queued' LIMIT :count_max);
