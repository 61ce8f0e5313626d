"""What a commit does to tasks that have ended: rare, and in steps that see each other's work.

The caller holds the transaction, in which the fence has held.
"""

from taskyard.core.changes import Batch
from taskyard.store.port import ARCHIVE_ROWS_MAX
from taskyard.store.postgres.arrays import ids, numbers
from taskyard.store.postgres.commit import changed_rows
from taskyard.store.postgres.session import Session
from taskyard.store.postgres.statements import SQL
from taskyard.store.records import ended_at


def touches_the_past(batch: Batch) -> bool:
    return bool(batch.revived or batch.amended or batch.archive)


def write_past(session: Session, batch: Batch) -> None:
    if batch.revived:
        _revive(session, batch)
    if batch.amended:
        _amend(session, batch)
    if batch.archive is not None:
        ended_before, events_before = batch.archive
        session.change(SQL["copy_to_archive"], {"ended_before": ended_before, "rows_max": ARCHIVE_ROWS_MAX})
        _drop_events(session, seq=batch.seq, events_before=events_before)


def _revive(session: Session, batch: Batch) -> None:
    given = {**changed_rows(batch.revived), "seq": batch.seq}
    revived = session.change(SQL["delete_history"], given)
    if revived < len(batch.revived):
        revived += session.change(SQL["delete_archive"], given)
    assert revived == len(batch.revived), "every revived task was in history or archive"


def _amend(session: Session, batch: Batch) -> None:
    given = {
        **changed_rows(batch.amended),
        "at": numbers([ended_at(row, at=batch.at) for row in batch.amended]),
        "anew": ids([id_ for id_, _ in batch.outcomes]),
    }
    amended = session.change(SQL["amend_history"], given)
    if amended < len(batch.amended):
        amended += session.change(SQL["amend_archive"], given)
    assert amended == len(batch.amended), "every amended task is in history or archive"


def _drop_events(session: Session, *, seq: int, events_before: int) -> None:
    """Cut the log's old end, up to the first commit that is young enough; its newest commit stays."""
    asked = {"rows_max": ARCHIVE_ROWS_MAX + 1}
    oldest = [(place, at) for place, at in session.rows(SQL["oldest_commits"], asked) if place < seq]
    newest, _ = oldest[-1]
    cut = next((place for place, at in oldest if at >= events_before), newest)
    session.change(SQL["drop_commits"], {"seq": cut})
