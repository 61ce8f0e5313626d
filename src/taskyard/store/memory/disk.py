"""What an engine in memory keeps, and what a commit does to it."""

from collections.abc import Iterator, Sequence
from heapq import nsmallest
from itertools import chain, takewhile

from msgspec import Struct, field

from taskyard.core.changes import Batch, TaskRow
from taskyard.core.eras import Takeover
from taskyard.core.task import Task
from taskyard.store.port import ARCHIVE_ROWS_MAX, REQUESTS_KEPT_MS, Identity, LogPiece
from taskyard.store.records import TASK, Columns, columns_of, decode_record, encode, encode_events, ended_at, numbered
from taskyard.store.rewind import Lineage
from taskyard.vocabulary import Keeps, Status


class Row(Struct, gc=False):
    """A task in one of the three places; the last two fields count only for what has ended."""

    columns: Columns
    record: bytes
    completed_at: int = 0
    key: str | None = None


class Commit(Struct, gc=False):
    seq: int
    epoch: int
    batch_id: str
    at: int
    events: bytes


class Disk(Struct):
    """All that is committed."""

    cluster_id: str
    epoch: int = 0
    seq: int = 0
    hot: dict[str, Row] = field(default_factory=dict)
    history: dict[str, Row] = field(default_factory=dict)
    archive: dict[str, Row] = field(default_factory=dict)
    ids: dict[tuple[str, int], str] = field(default_factory=dict)
    """By user and number."""
    bodies: dict[str, bytes] = field(default_factory=dict)
    outcomes: dict[str, bytes] = field(default_factory=dict)
    checkpoints: dict[str, bytes] = field(default_factory=dict)
    late: dict[str, dict[int, tuple[int, bytes]]] = field(default_factory=dict)
    logs: dict[tuple[str, int], list[LogPiece]] = field(default_factory=dict)
    commits: list[Commit] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)
    users: dict[str, bytes] = field(default_factory=dict)
    keys: dict[str, bytes] = field(default_factory=dict)
    daemons: dict[str, bytes] = field(default_factory=dict)
    audit: list[tuple[int, str, bytes]] = field(default_factory=list)
    kept: dict[tuple[Keeps, str], bytes] = field(default_factory=dict)
    requests: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    """When, and what was answered; oldest first."""
    figures: dict[tuple[int, int], bytes] = field(default_factory=dict)
    """By how long and since when."""
    takeovers: list[Takeover] = field(default_factory=list)

    def end(self) -> Identity:
        takeover = self.takeovers[-1].id if self.takeovers else ""
        batch_id = self.commits[-1].batch_id if self.commits else ""
        return Identity(self.cluster_id, self.epoch, self.seq, takeover, batch_id)

    def lineage(self, seqs: Sequence[int]) -> Lineage:
        held = {commit.seq: commit.batch_id for commit in self.commits if commit.seq in seqs}
        return Lineage(self.end(), list(self.takeovers), held)

    def places(self) -> tuple[dict[str, Row], dict[str, Row], dict[str, Row]]:
        return self.hot, self.history, self.archive


def write_batch(disk: Disk, batch: Batch) -> None:
    _write_tasks(disk, batch)
    disk.bodies.update(batch.bodies)
    disk.outcomes.update(batch.outcomes)
    disk.checkpoints.update(batch.checkpoints)
    for late in batch.late:
        disk.late.setdefault(late.task_id, {})[late.attempt] = (late.at, late.body)
    for n, chunk in numbered(batch.logs, seq=batch.seq):
        piece = LogPiece(chunk.attempt, n, chunk.at, chunk.text)
        disk.logs.setdefault((chunk.task_id, chunk.attempt), []).append(piece)
    disk.users.update((user.id, encode(user)) for user in batch.users)
    disk.keys.update((key.id, encode(key)) for key in batch.keys)
    disk.daemons.update((daemon.id, encode(daemon)) for daemon in batch.daemons)
    for daemon_id in batch.forgotten:
        disk.daemons.pop(daemon_id, None)
    _write_kept(disk, batch)
    _write_requests(disk, batch)
    disk.audit.extend((n, entry.subject, encode(entry)) for n, entry in numbered(batch.audit, seq=batch.seq))
    if batch.archive is not None:
        ended_before, events_before = batch.archive
        _archive(disk, ended_before=ended_before)
        _drop_events(disk, events_before=events_before)
    events = encode_events(batch.events)
    disk.commits.append(Commit(batch.seq, batch.epoch, batch.batch_id, batch.at, events))
    disk.seq = batch.seq


def _write_tasks(disk: Disk, batch: Batch) -> None:
    """What a database's keys and row counts would refuse is refused first: nothing is half written."""
    for row in batch.created:
        key = (row.task.user_id, row.task.number)
        assert row.task.id not in disk.bodies, "a task is created once"
        assert key not in disk.ids, "a number is given once"
    for row in batch.changed:
        assert row.task.id in disk.hot, "every changed task is in the hot table"
    for row in chain(batch.revived, batch.amended):
        assert row.task.id in disk.history or row.task.id in disk.archive, "it was in history or archive"

    for row in batch.revived:
        disk.history.pop(row.task.id, None) or disk.archive.pop(row.task.id)
    for row in chain(batch.created, batch.changed, batch.revived):
        disk.hot[row.task.id] = Row(columns=columns_of(row.task), record=row.record)
    for row in batch.ended:
        disk.hot.pop(row.task.id, None)
        disk.history[row.task.id] = _ended(row, at=batch.at)
    for row in batch.amended:
        place = disk.history if row.task.id in disk.history else disk.archive
        place[row.task.id] = _ended(row, at=batch.at)
    for row in chain(batch.created, batch.ended):
        task = row.task
        disk.ids[task.user_id, task.number] = task.id
        disk.numbers[task.user_id] = max(task.number, disk.numbers.get(task.user_id, 0))


def _ended(row: TaskRow, *, at: int) -> Row:
    return Row(columns=columns_of(row.task), record=row.record, completed_at=ended_at(row, at=at), key=row.task.key)


def old_rows(disk: Disk, *, ended_before: int) -> Iterator[tuple[int, str]]:
    """What may be archived, by age and id. A person still has to decide about dead letters."""
    for id_, row in disk.history.items():
        if row.completed_at < ended_before and row.columns[3] != Status.PERMANENTLY_FAILED:
            yield row.completed_at, id_


def _archive(disk: Disk, *, ended_before: int) -> None:
    for _, id_ in nsmallest(ARCHIVE_ROWS_MAX, old_rows(disk, ended_before=ended_before)):
        disk.archive[id_] = disk.history.pop(id_)


def _drop_events(disk: Disk, *, events_before: int) -> None:
    """From the beginning only, since a gap would hide events; the newest commit stays."""
    droppable = disk.commits[:-1][:ARCHIVE_ROWS_MAX]
    old = sum(1 for _ in takewhile(lambda commit: commit.at < events_before, droppable))
    del disk.commits[:old]


def decoded(row: Row) -> Task:
    return decode_record(TASK, row.record, of=f"task {row.columns[0]}")


def _write_kept(disk: Disk, batch: Batch) -> None:
    for kept in batch.kept:
        disk.kept.pop((kept.kind, kept.name), None)
        if kept.record is not None:
            disk.kept[kept.kind, kept.name] = kept.record


def _write_requests(disk: Disk, batch: Batch) -> None:
    if batch.requests:
        old = takewhile(lambda item: item[1][0] < batch.at - REQUESTS_KEPT_MS, disk.requests.items())
        for name, _ in list(old):
            del disk.requests[name]
        disk.requests.update((name, (batch.at, answer)) for name, answer in batch.requests)
