"""Reads a `Disk`: every record is decoded anew for every caller."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, chain, islice

from msgspec import Struct, json

from taskyard.core.changes import AuditRecord, LateResult
from taskyard.core.commands import Known
from taskyard.core.endings import KEEPS_KEY
from taskyard.core.task import Task
from taskyard.store.memory.disk import Commit, Disk, Row, decoded, old_rows
from taskyard.store.paging import before_of, last_of, number_of
from taskyard.store.port import LOG_BYTES_MAX, Figures, Load, LogPiece, Numbered, StoredTask, TaskFilter
from taskyard.store.records import AUDIT, decode_events
from taskyard.store.rewind import Lineage
from taskyard.vocabulary import Status


def _folded(text: str) -> bytes:
    """Lower case for ASCII letters alone, which is what `LIKE` does."""
    return text.encode().lower()


class _Content(Struct):
    title: str | None = None
    input: str | None = None


def _mentions(body: bytes, text: str) -> bool:
    content = json.decode(body, type=_Content)
    return any(_folded(text) in _folded(part) for part in (content.title, content.input) if part is not None)


class MemoryReader:
    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def close(self) -> None:
        """Nothing is held."""

    def position(self) -> int:
        return self._disk.seq

    def _row(self, id_: str, *, user_id: str | None) -> Row | None:
        for place in self._disk.places():
            row = place.get(id_)
            if row is not None and user_id in {None, row.columns[1]}:
                return row
        return None

    def _id_of(self, ref: str, *, user_id: str | None) -> str | None:
        number = number_of(ref)
        if number is None or user_id is None:
            return None
        return self._disk.ids.get((user_id, number))

    def _stored(self, row: Row) -> StoredTask:
        disk, task = self._disk, decoded(row)
        late = sorted(disk.late.get(task.id, {}).items())
        return StoredTask(
            task=task,
            body=disk.bodies[task.id],
            outcome=disk.outcomes.get(task.id),
            late=[LateResult(task_id=task.id, attempt=n, at=at, body=body) for n, (at, body) in late],
            archived=task.id in disk.archive,
        )

    def find(self, *, user_id: str | None, task: str, shows_damaged: bool = False) -> StoredTask | None:
        row = self._row(task, user_id=user_id) or self._row(self._id_of(task, user_id=user_id) or "", user_id=user_id)
        return None if row is None else self._stored(row)

    def known(
        self, *, user_id: str | None, ids: tuple[str, ...], refs: tuple[str, ...], keys: tuple[str, ...]
    ) -> Known:
        by_ref = {ref: id_ for ref in refs if (id_ := self._id_of(ref, user_id=user_id)) is not None}
        by_key = {} if user_id is None else self._holders(frozenset(keys), user_id=user_id)
        tasks = {}
        for id_ in (*ids, *by_ref.values(), *by_key.values()):
            row = self._row(id_, user_id=user_id)
            if row is not None:
                tasks[id_] = decoded(row)
        return Known(read_seq=self._disk.seq, tasks=tasks, refs=by_ref, keys=by_key)

    def lineage(self, seqs: Sequence[int]) -> Lineage:
        return self._disk.lineage(seqs)

    def _holders(self, keys: frozenset[str], *, user_id: str) -> dict[str, str]:
        """The task that may hold each key: one whose end keeps a key for good, else the one that ended last."""
        if not keys:
            return {}
        rows = (
            (row.columns[3] in KEEPS_KEY, row.completed_at, row.columns[2], row.key, id_)
            for id_, row in self._disk.history.items()
            if row.key in keys and row.columns[1] == user_id
        )
        return {key: id_ for *_, key, id_ in sorted(rows)}

    def keys_used(self, *, after: tuple[str, str], limit: int) -> list[tuple[str, str]]:
        used = sorted((row.columns[1], row.key) for row in self._disk.history.values() if row.key is not None)
        return [pair for pair in used if pair > after][:limit]

    def bodies(self, ids: tuple[str, ...]) -> dict[str, bytes]:
        return {id_: self._disk.bodies[id_] for id_ in ids}

    def loads(self, ids: tuple[str, ...]) -> dict[str, Load]:
        return {id_: self._load(self._disk.hot[id_]) for id_ in ids if id_ in self._disk.hot}

    def _load(self, row: Row) -> Load:
        task = decoded(row)
        ended = [part.id for part in task.depends or () if part.outcome is not None]
        rows = (self._row(id_, user_id=None) for id_ in ended)
        return Load(
            task=task,
            body=self._disk.bodies[task.id],
            checkpoint=self._disk.checkpoints.get(task.id),
            parents=[self._stored(row) for row in rows if row is not None],
        )

    def tasks(self, query: TaskFilter) -> list[StoredTask]:
        places = self._disk.places()[2:] if query.archived else self._disk.places()[:2]
        rows = (row for place in places for row in place.values() if self._fits(row, query))
        number_min, id_min = last_of(query.down_to, user_id=query.user_id)
        rows = (row for row in rows if row.columns[2] >= number_min and row.columns[0] >= id_min)
        return self._page(rows, user_id=query.user_id, before=query.before, limit=query.limit)

    def _fits(self, row: Row, query: TaskFilter) -> bool:
        id_, user_id, _, status, level, queue, type_, source, correlation_id, parent_id = row.columns
        return (
            query.user_id in {None, user_id}
            and (not query.statuses or status in query.statuses)
            and query.level in {None, level}
            and query.queue in {None, queue}
            and query.type in {None, type_}
            and query.source in {None, source}
            and (query.schedule_id is None or query.schedule_id == decoded(row).schedule_id)
            and (query.correlation_id is None or query.correlation_id == correlation_id)
            and (query.parent_id is None or query.parent_id == parent_id)
            and (query.text is None or _mentions(self._disk.bodies[id_], query.text))
        )

    def _page(self, rows: Iterable[Row], *, user_id: str | None, before: str | None, limit: int) -> list[StoredTask]:
        """Newest first: everybody's by id, one user's by number."""
        number_max, id_max = before_of(before, user_id=user_id)
        below = [row for row in rows if row.columns[2] < number_max and row.columns[0] < id_max]
        below.sort(key=lambda row: row.columns[0] if user_id is None else f"{row.columns[2]:020}", reverse=True)
        return [self._stored(row) for row in below[:limit]]

    def search_end(self, query: TaskFilter) -> str | None:
        """Few enough tasks fit into memory to look through all of them."""
        return None

    def dead_letters(self, *, user_id: str | None, limit: int, before: str | None) -> list[StoredTask]:
        dead = (Status.PERMANENTLY_FAILED,)
        return self.tasks(TaskFilter(user_id=user_id, statuses=dead, limit=limit, before=before))

    def events_after(self, *, epoch: int, seq: int, index: int, limit: int) -> list[Numbered] | None:
        commits = self._disk.commits
        start = bisect_left(commits, seq, key=lambda commit: commit.seq)
        if not _is_on_the_log(commits[start : start + 2], epoch=epoch, seq=seq, empty=not commits):
            return None
        later = (found for found in _events_of(commits[start:]) if (found.seq, found.index) > (seq, index))
        return list(islice(later, limit))

    def task_events(self, task: Task) -> list[Numbered]:
        trail = frozenset(task.trail)
        commits = [commit for commit in self._disk.commits if commit.seq in trail]
        return [found for found in _events_of(commits) if found.event.task_id == task.id]

    def log(
        self, *, task_id: str, attempt: int | None, after: tuple[int, int] = (0, 0), bytes_max: int = LOG_BYTES_MAX
    ) -> list[LogPiece]:
        kept = sorted(piece for key, pieces in self._disk.logs.items() if key[0] == task_id for piece in pieces)
        later = [piece for piece in kept if attempt in {None, piece.attempt} and piece[:2] > after]
        bytes_before = accumulate((len(piece.text.encode()) for piece in later), initial=0)
        return [piece for piece, before in zip(later, bytes_before, strict=False) if before < bytes_max]

    def request(self, name: str) -> bytes | None:
        found = self._disk.requests.get(name)
        return None if found is None else found[1]

    def figures(self, *, step_s: int, since: int) -> list[Figures]:
        held = sorted(self._disk.figures.items())
        return [Figures(step, at, record) for (step, at), record in held if step == step_s and at >= since]

    def counts(self, *, user_id: str | None) -> dict[Status, int]:
        rows = chain(self._disk.hot.values(), self._disk.history.values())
        return Counter(Status(row.columns[3]) for row in rows if user_id in {None, row.columns[1]})

    def checkpoint(self, task_id: str) -> bytes | None:
        return self._disk.checkpoints.get(task_id)

    def has_old(self, *, ended_before: int, events_before: int) -> bool:
        commits = self._disk.commits
        return any(True for _ in old_rows(self._disk, ended_before=ended_before)) or (
            len(commits) > 1 and commits[0].at < events_before
        )

    def audit(self, *, subject: str | None, limit: int, before: int | None) -> list[tuple[int, AuditRecord]]:
        entries = (
            (n, AUDIT.decode(record))
            for n, about, record in reversed(self._disk.audit)
            if subject in {None, about} and (before is None or n < before)
        )
        return list(islice(entries, limit))


def _is_on_the_log(around: Sequence[Commit], *, epoch: int, seq: int, empty: bool) -> bool:
    """Whether the log went through this place, and what came after it is all kept."""
    epochs = {commit.seq: commit.epoch for commit in around}
    if seq == 0:
        return empty or 1 in epochs
    return seq in epochs and epochs[seq] <= epoch <= epochs.get(seq + 1, epoch)


def _events_of(commits: Iterable[Commit]) -> Iterator[Numbered]:
    for commit in commits:
        for index, event in enumerate(decode_events(commit.events, seq=commit.seq)):
            yield Numbered(epoch=commit.epoch, seq=commit.seq, index=index, event=event)
