"""The hot table in the memory of a hub that stands by, so that taking over does not begin with reading a million rows.

Whoever leads tells it what each commit wrote. What it missed it reads here: every row carries the commit that wrote it,
and the log's events say which rows left. A mirror is a help and no truth: the hub that takes over reads what came after
it in the same snapshot in which it finds itself leading, and a mirror that does not have as many tasks as the table is
thrown away.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from taskyard.core.task import Task
from taskyard.store.port import RecordDamaged
from taskyard.store.postgres.image import commits_from, every_task, position_of, task_of
from taskyard.store.postgres.session import Session
from taskyard.store.postgres.statements import SQL
from taskyard.store.records import TASK, decode_events, decode_record, verified
from taskyard.vocabulary import ENDED

COMMITS_MISSED_MAX: Final = 10_000
# Past so many, reading the whole table is quicker than reading what happened.


class Missed(Struct):
    """What a mirror of commit `since` lacks to be one of commit `seq`."""

    since: int
    """0: it was the whole table."""
    seq: int
    tasks: list[Task]
    gone: list[str]


class Mirror:
    def __init__(self) -> None:
        self.seq = 0
        """The commit it is of; 0: of none."""
        self._tasks: dict[str, Task] = {}

    def __len__(self) -> int:
        return len(self._tasks)

    def follow(self, seq: int, records: Iterable[tuple[str, bytes]], gone: Iterable[str]) -> bool:
        """What a commit wrote, as its leader told it. False: others came before it that were not told."""
        if seq <= self.seq:
            return True
        if seq != self.seq + 1 or not self.seq:
            return False
        for task_id, record in records:
            self._tasks[task_id] = decode_record(TASK, record, of=f"task {task_id}")
        self._drop(gone)
        self.seq = seq
        return True

    def take(self, missed: Missed) -> None:
        if missed.since != self.seq:
            if missed.since:
                return
            self._tasks = {}
        self._tasks.update((task.id, task) for task in missed.tasks)
        self._drop(missed.gone)
        self.seq = missed.seq

    def _drop(self, gone: Iterable[str]) -> None:
        for task_id in gone:
            self._tasks.pop(task_id, None)

    def in_order(self) -> list[Task]:
        """Oldest first: in the order of their ids."""
        tasks = self._tasks
        return [tasks[task_id] for task_id in sorted(tasks)]


def read_missed(session: Session, since: int) -> Missed:
    """What a mirror of this commit lacks. The caller holds the snapshot."""
    seq = position_of(session)
    if since and seq - since <= COMMITS_MISSED_MAX:
        commits = commits_from(session, since + 1, rows_max=COMMITS_MISSED_MAX)
        # Where the log was cut or is damaged, the table has it all.
        if len(commits) == seq - since and (ended := _all_ended_in(commits)) is not None:
            tasks = [task_of(row) for row in session.rows(SQL["hot_tasks_since"], {"seq": since})]
            stay = {task.id for task in tasks}
            return Missed(since, seq, tasks, [task_id for task_id in ended if task_id not in stay])
    return Missed(0, seq, list(every_task(session)), [])


def _all_ended_in(commits: Iterable[tuple[int, int, bytes, int]]) -> list[str] | None:
    try:
        return list(_ended_in(commits))
    except RecordDamaged:
        return None


def _ended_in(commits: Iterable[tuple[int, int, bytes, int]]) -> Iterator[str]:
    for seq, epoch, events, crc in commits:
        written = verified(events, crc, seq, epoch, of=f"the events of commit {seq}")
        for event in decode_events(written, seq=seq):
            if event.task_id is not None and event.now in ENDED:
                yield event.task_id


def hot_tasks(session: Session, mirror: Mirror | None) -> list[Task]:
    """Every task of the hot table, oldest first: from the mirror and what came after it, else from the table."""
    if mirror is not None and mirror.seq:
        mirror.take(read_missed(session, mirror.seq))
        if len(mirror) == session.rows(SQL["count_hot"])[0][0]:
            return mirror.in_order()
    return list(every_task(session))
