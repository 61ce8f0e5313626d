"""Partitions are made ahead of what will be written, and dropped behind what was archived.

Both lock tables that readers read, for the time of a change in the catalogue. If somebody holds them (a backup that
runs for an hour), the next turn tries again: until then rows go into the default partition, which takes any.
"""

from collections.abc import Mapping
from typing import Final

from taskyard.store.port import ARCHIVE_ROWS_MAX
from taskyard.store.postgres.arrays import numbers
from taskyard.store.postgres.faults import Busy
from taskyard.store.postgres.session import Session, Value
from taskyard.store.postgres.statements import SQL, Statement

WEEK_MS: Final = 7 * 24 * 3600 * 1000
# Of history: with the default retention of seven days, two or three weeks are there at a time, and a look-up by id
# asks as many indexes.
COMMITS: Final = 250_000
# Of the log: minutes of the busiest yard, months of a quiet one.
LOCK_S: Final = 0.2


def make_ahead(session: Session, *, at: int, seq: int) -> None:
    """For what is written now, and for the next of each."""
    for parent, width, place in (("history", WEEK_MS, at), ("commit_log", COMMITS, seq)):
        first = place // width * width
        given: dict[str, Value] = {"parent": parent, "width": width, "firsts": numbers([first, first + width])}
        _change(session, SQL["make_partitions"], given)


def drop_behind(session: Session, *, at: int) -> None:
    """What is archived of the weeks before the last, and what nobody can read of the log any more."""
    _change(session, SQL["drop_log_partitions"], {"width": COMMITS, "rows_max": ARCHIVE_ROWS_MAX})
    old = {"width": WEEK_MS, "before": at - WEEK_MS, "rows_max": ARCHIVE_ROWS_MAX}
    _change(session, SQL["drop_history_partitions"], old)


def _change(session: Session, statement: Statement, given: Mapping[str, Value]) -> None:
    try:
        with session.transaction():
            session.bound_locks(LOCK_S, is_local=True)
            session.rows(statement, given)
    except Busy:
        return
