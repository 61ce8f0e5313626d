"""A batch as rows: what `write` does inside its transaction, in a handful of bulk statements.

Nearly all of it is known before the transaction begins, and is put together by then (`Steps`, `bulk.py`): a commit of
five hundred tasks is a few dozen of them. Only what touches the past has to look at what is there. Row counts are
checked where the core claims to know them: a batch that does not fit the table is a bug, and is rolled back rather than
half believed.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple
from zlib import crc32

import apsw

from taskyard.core.changes import Batch, DaemonRecord, Kept, KeyRecord, LogChunk, TaskRow, UserRecord
from taskyard.store.port import ARCHIVE_ROWS_MAX, REQUESTS_KEPT_MS
from taskyard.store.records import checksum, columns_of, encode, encode_events, ended_at, numbered
from taskyard.store.sqlite.bulk import Row, Step, one_by_one, together
from taskyard.store.sqlite.statements import SQL


class Steps(NamedTuple):
    """What a batch does to tables, whatever is in them."""

    changes: list[Step]
    """Of tasks that are hot already: each changes a row for each of `Batch.changed`."""
    others: list[Step]


def steps_of(batch: Batch) -> Steps:
    changes = together(SQL["update_task"], [_changed_row(row) for row in batch.changed])
    others = (_tasks(batch), _contents(batch), _people(batch), _kept(batch.kept), _requests(batch), _log(batch))
    return Steps(list(changes), list(chain.from_iterable(others)))


def write_rows(connection: apsw.Connection, batch: Batch, steps: Steps) -> None:
    """Everything of the batch. The caller holds the transaction."""
    if batch.revived:
        _leave_the_past(connection, batch.revived)
    if batch.amended:
        _amend(connection, batch)
    if batch.archive is not None:
        ended_before, events_before = batch.archive
        _archive(connection, ended_before=ended_before)
        _drop_events(connection, events_before=events_before)
    before = connection.total_changes()
    for statement, parameters in steps.changes:
        connection.execute(statement, parameters)
    changed = connection.total_changes() - before
    assert changed == len(batch.changed), "every changed task is in the hot table"
    for statement, parameters in steps.others:
        connection.execute(statement, parameters)


# What is known before.


def _tasks(batch: Batch) -> Iterator[Step]:
    if batch.created or batch.revived:
        yield from together(SQL["insert_task"], list(_hot_rows(batch)))
    if batch.bodies:
        yield from one_by_one(SQL["raise_number"], _highest_numbers(batch))
    if batch.ended:
        yield from together(SQL["delete_task"], [(row.task.id,) for row in batch.ended])
        yield from together(SQL["insert_history"], [_ended_row(row, at=batch.at) for row in batch.ended])


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


def _contents(batch: Batch) -> Iterator[Step]:
    for statement, contents in (
        (SQL["insert_body"], batch.bodies),
        (SQL["upsert_outcome"], batch.outcomes),
        (SQL["upsert_checkpoint"], batch.checkpoints),
    ):
        if contents:
            yield from together(statement, [(id_, content, crc32(content)) for id_, content in contents])
    for late in batch.late:
        crc = checksum(late.body, late.attempt, late.at)
        yield SQL["upsert_late_result"], (late.task_id, late.attempt, late.at, late.body, crc)
    yield from one_by_one(SQL["insert_log_chunk"], _log_rows(batch.logs, seq=batch.seq))


def _log_rows(chunks: list[LogChunk], *, seq: int) -> Iterator[Row]:
    for n, chunk in numbered(chunks, seq=seq):
        text = chunk.text.encode()
        yield chunk.task_id, chunk.attempt, n, chunk.at, text, checksum(text, chunk.attempt, n, chunk.at)


def _people(batch: Batch) -> Iterator[Step]:
    """Users, keys, daemons and what was done to them."""
    yield from one_by_one(SQL["upsert_user"], _record_rows(batch.users))
    yield from one_by_one(SQL["upsert_key"], _record_rows(batch.keys))
    yield from one_by_one(SQL["upsert_daemon"], _record_rows(batch.daemons))
    yield from one_by_one(SQL["delete_daemon"], ((daemon_id,) for daemon_id in batch.forgotten))
    for n, entry in numbered(batch.audit, seq=batch.seq):
        record = encode(entry)
        yield SQL["insert_audit"], (n, entry.subject, record, checksum(record, n))


def _record_rows(records: Iterable[UserRecord | KeyRecord | DaemonRecord]) -> Iterator[Row]:
    for record in records:
        encoded = encode(record)
        yield record.id, encoded, crc32(encoded)


def _kept(kept: list[Kept]) -> Iterator[Step]:
    written = [(each.kind, each.name, each.record, crc32(each.record)) for each in kept if each.record is not None]
    yield from together(SQL["upsert_kept"], written)
    yield from one_by_one(SQL["delete_kept"], ((each.kind, each.name) for each in kept if each.record is None))


def _requests(batch: Batch) -> Iterator[Step]:
    if batch.requests:
        yield SQL["drop_requests"], (batch.at - REQUESTS_KEPT_MS,)
        yield from together(
            SQL["upsert_request"],
            [(name, batch.at, answer, checksum(answer, batch.at)) for name, answer in batch.requests],
        )


def _log(batch: Batch) -> Iterator[Step]:
    events = encode_events(batch.events)
    crc = checksum(events, batch.seq, batch.epoch)
    yield SQL["insert_commit"], (batch.seq, batch.epoch, batch.batch_id, batch.at, events, crc)


# What touches the past.


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
