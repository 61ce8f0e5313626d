"""A batch as rows: what `write` does inside its transaction, in a handful of bulk statements.

Each kind of change is written in bulk (`bulk.py`), so a commit of five hundred tasks is a few dozen calls into
SQLite. Row counts are checked where the core claims to know them: a batch that
does not fit the table is a bug, and is rolled back rather than half believed.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from zlib import crc32

import apsw

from taskyard.core.changes import Batch, DaemonRecord, Kept, KeyRecord, LogChunk, TaskRow, UserRecord
from taskyard.store.port import ARCHIVE_ROWS_MAX, REQUESTS_KEPT_MS
from taskyard.store.records import checksum, columns_of, encode, encode_events, ended_at, numbered
from taskyard.store.sqlite.bulk import Row, write_many
from taskyard.store.sqlite.statements import SQL


def write_rows(connection: apsw.Connection, batch: Batch) -> None:
    """Everything of the batch. The caller holds the transaction."""
    _write_tasks(connection, batch)
    _write_contents(connection, batch)
    _write_people(connection, batch)
    if batch.kept:
        _write_kept(connection, batch.kept)
    if batch.requests:
        _write_requests(connection, batch)
    if batch.archive is not None:
        ended_before, events_before = batch.archive
        _archive(connection, ended_before=ended_before)
        _drop_events(connection, events_before=events_before)
    events = encode_events(batch.events)
    crc = checksum(events, batch.seq, batch.epoch)
    connection.execute(SQL["insert_commit"], (batch.seq, batch.epoch, batch.batch_id, batch.at, events, crc))


def _write_tasks(connection: apsw.Connection, batch: Batch) -> None:
    if batch.revived:
        _leave_the_past(connection, batch.revived)
    if batch.created or batch.revived:
        write_many(connection, SQL["insert_task"], list(_hot_rows(batch)))
    if batch.bodies:
        connection.executemany(SQL["raise_number"], _highest_numbers(batch))
    if batch.changed:
        before = connection.total_changes()
        write_many(connection, SQL["update_task"], [_changed_row(row) for row in batch.changed])
        changed = connection.total_changes() - before
        assert changed == len(batch.changed), "every changed task is in the hot table"
    if batch.ended:
        write_many(connection, SQL["delete_task"], [(row.task.id,) for row in batch.ended])
        write_many(connection, SQL["insert_history"], [_ended_row(row, at=batch.at) for row in batch.ended])
    if batch.amended:
        _amend(connection, batch)


def _hot_rows(batch: Batch) -> Iterator[Row]:
    for row in chain(batch.created, batch.revived):
        yield (*columns_of(row.task), row.record, crc32(row.record))


def _changed_row(row: TaskRow) -> Row:
    task = row.task
    return task.id, task.status, task.level, row.record, crc32(row.record)


def _ended_row(row: TaskRow, *, at: int) -> Row:
    task = row.task
    return (*columns_of(task), row.record, crc32(row.record), ended_at(row, at=at), task.key)


def _highest_numbers(batch: Batch) -> Iterator[Row]:
    """Only new tasks, which come with a body, have new numbers; some of them may have ended already."""
    highest: dict[str, int] = {}
    for row in chain(batch.created, batch.ended):
        task = row.task
        if task.number > highest.get(task.user_id, 0):
            highest[task.user_id] = task.number
    for user_id, number in highest.items():
        yield user_id, number, checksum(b"", user_id, number)


def _leave_the_past(connection: apsw.Connection, revived: list[TaskRow]) -> None:
    ids = [(row.task.id,) for row in revived]
    before = connection.total_changes()
    connection.executemany(SQL["delete_history"], ids)
    if connection.total_changes() - before < len(ids):
        connection.executemany(SQL["delete_archive"], ids)
    assert connection.total_changes() - before == len(ids), "every revived task was in history or archive"


def _amend(connection: apsw.Connection, batch: Batch) -> None:
    rows = [
        (
            row.task.status,
            row.task.level,
            row.record,
            crc32(row.record),
            ended_at(row, at=batch.at),
            row.task.id,
        )
        for row in batch.amended
    ]
    before = connection.total_changes()
    connection.executemany(SQL["amend_history"], rows)
    if connection.total_changes() - before < len(rows):
        connection.executemany(SQL["amend_archive"], rows)
    assert connection.total_changes() - before == len(rows), "every amended task is in history or archive"


def _write_contents(connection: apsw.Connection, batch: Batch) -> None:
    for statement, contents in (
        (SQL["insert_body"], batch.bodies),
        (SQL["upsert_outcome"], batch.outcomes),
        (SQL["upsert_checkpoint"], batch.checkpoints),
    ):
        if contents:
            write_many(connection, statement, [(id_, content, crc32(content)) for id_, content in contents])
    if batch.late:
        connection.executemany(
            SQL["upsert_late_result"],
            [
                (late.task_id, late.attempt, late.at, late.body, checksum(late.body, late.attempt, late.at))
                for late in batch.late
            ],
        )
    if batch.logs:
        connection.executemany(SQL["insert_log_chunk"], _log_rows(batch.logs, seq=batch.seq))


def _log_rows(chunks: list[LogChunk], *, seq: int) -> Iterator[Row]:
    for n, chunk in numbered(chunks, seq=seq):
        text = chunk.text.encode()
        yield chunk.task_id, chunk.attempt, n, chunk.at, text, checksum(text, chunk.attempt, n, chunk.at)


def _write_people(connection: apsw.Connection, batch: Batch) -> None:
    """Users, keys, daemons and what was done to them: rare, so one look suffices most of the time."""
    if not (batch.users or batch.keys or batch.daemons or batch.audit):
        return
    connection.executemany(SQL["upsert_user"], _record_rows(batch.users))
    connection.executemany(SQL["upsert_key"], _record_rows(batch.keys))
    connection.executemany(SQL["upsert_daemon"], _record_rows(batch.daemons))
    entries = ((n, entry.subject, encode(entry)) for n, entry in numbered(batch.audit, seq=batch.seq))
    connection.executemany(
        SQL["insert_audit"], [(n, subject, record, checksum(record, n)) for n, subject, record in entries]
    )


def _write_kept(connection: apsw.Connection, kept: list[Kept]) -> None:
    written = [(each.kind, each.name, each.record, crc32(each.record)) for each in kept if each.record is not None]
    write_many(connection, SQL["upsert_kept"], written)
    connection.executemany(SQL["delete_kept"], [(each.kind, each.name) for each in kept if each.record is None])


def _write_requests(connection: apsw.Connection, batch: Batch) -> None:
    connection.execute(SQL["drop_requests"], {"before": batch.at - REQUESTS_KEPT_MS})
    write_many(
        connection,
        SQL["upsert_request"],
        [(name, batch.at, answer, checksum(answer, batch.at)) for name, answer in batch.requests],
    )


def _record_rows(records: Iterable[UserRecord | KeyRecord | DaemonRecord]) -> Iterator[Row]:
    for record in records:
        encoded = encode(record)
        yield record.id, encoded, crc32(encoded)


def _archive(connection: apsw.Connection, *, ended_before: int) -> None:
    chosen = {"ended_before": ended_before, "rows_max": ARCHIVE_ROWS_MAX}
    connection.execute(SQL["copy_to_archive"], chosen)
    connection.execute(SQL["drop_archived"], chosen)


def _drop_events(connection: apsw.Connection, *, events_before: int) -> None:
    """Cut the log's old end, up to the first commit that is young enough; its newest commit stays."""
    oldest = list(connection.execute(SQL["oldest_commits"], {"rows_max": ARCHIVE_ROWS_MAX + 1}))
    for seq, at in oldest:
        if at >= events_before or seq == oldest[-1][0]:
            connection.execute(SQL["drop_commits"], {"seq": seq})
            return
