"""Reads beside the writer: its own read-only connection, one snapshot per call, never a checkpoint.

Rows come back through `image.task_of`, which refuses to serve what is not what was written.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar
from weakref import WeakSet

import apsw

from taskyard.core.changes import AuditRecord, LateResult
from taskyard.core.commands import Known
from taskyard.core.endings import KEEPS_KEY
from taskyard.core.task import Task
from taskyard.store.counts import by_status, whose_of
from taskyard.store.damage import found_by_searching, naming, refuse_other_keys, with_damaged
from taskyard.store.log_pieces import log_asked, log_piece
from taskyard.store.paging import ARCHIVE, HOT, NUMBER_MAX, number_of
from taskyard.store.port import (
    LOG_BYTES_MAX,
    Figures,
    Load,
    LogPiece,
    Numbered,
    RecordDamaged,
    StoreBroken,
    StoredTask,
    TaskFilter,
)
from taskyard.store.records import AUDIT, decode_events, decode_record, verified
from taskyard.store.rewind import Lineage
from taskyard.store.sqlite.faults import translated
from taskyard.store.sqlite.image import json_of, lineage_of, position_of, task_of
from taskyard.store.sqlite.lists import list_rows, search_end
from taskyard.store.sqlite.statements import SQL
from taskyard.store.sqlite.text import Row, fetched
from taskyard.vocabulary import Status

BUSY_MS_MAX: Final = 1_000

T = TypeVar("T")
_Rows = Iterable[Row]


class SqliteReader:
    def __init__(self, file: Path, *, vfs: str | None) -> None:
        with translated():
            self._connection = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY, vfs=vfs)
            self._connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            self._connection.set_busy_timeout(BUSY_MS_MAX)
            self._connection.pragma("query_only", True)
            self._connection.wal_autocheckpoint(0)
        self._cursors: WeakSet[apsw.Cursor] = WeakSet()
        self._connection.cursor_factory = self._new_cursor

    def _new_cursor(self, connection: apsw.Connection) -> apsw.Cursor:
        cursor = apsw.Cursor(connection)
        self._cursors.add(cursor)
        return cursor

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _snapshot(self) -> Iterator[None]:
        """Everything read inside is of one commit."""
        with translated():
            self._connection.execute("BEGIN")
            try:
                yield
            finally:
                for cursor in list(self._cursors):
                    # One that was not read to its end keeps this snapshot for as long as an error refers to it, and the
                    # log with it; what is read next would be of this commit again.
                    cursor.close(True)
                self._connection.execute("COMMIT")

    def position(self) -> int:
        with self._snapshot():
            return position_of(self._connection)

    # --- tasks ---

    def find(self, *, user_id: str | None, task: str, shows_damaged: bool = False) -> StoredTask | None:
        with self._snapshot():
            found = self._by_ids([task], user_id=user_id)
            number = number_of(task)
            if not found and number is not None and user_id is not None:
                found = self._by_numbers([number], user_id=user_id)
            return next(iter(self._shown(found, shows_damaged=shows_damaged)), None)

    def known(
        self, *, user_id: str | None, ids: tuple[str, ...], refs: tuple[str, ...], keys: tuple[str, ...]
    ) -> Known:
        with self._snapshot():
            tasks = {task.id: task for task in map(task_of, self._by_ids(ids, user_id=user_id))}
            by_ref: dict[str, str] = {}
            by_key: dict[str, str] = {}
            if user_id is not None:
                by_ref = self._known_refs(tasks, user_id=user_id, refs=refs)
                by_key = self._known_keys(tasks, user_id=user_id, keys=keys)
            return Known(read_seq=position_of(self._connection), tasks=tasks, refs=by_ref, keys=by_key)

    def lineage(self, seqs: Sequence[int]) -> Lineage:
        with self._snapshot():
            return lineage_of(self._connection, seqs)

    def _known_refs(self, tasks: dict[str, Task], *, user_id: str, refs: tuple[str, ...]) -> dict[str, str]:
        numbers = {ref: number for ref in refs if (number := number_of(ref)) is not None}
        rows = self._by_numbers(list(numbers.values()), user_id=user_id)
        found = {task.number: task for task in map(task_of, rows)}
        tasks.update((task.id, task) for task in found.values())
        return {ref: found[number].id for ref, number in numbers.items() if number in found}

    def _known_keys(self, tasks: dict[str, Task], *, user_id: str, keys: tuple[str, ...]) -> dict[str, str]:
        if not keys:
            return {}
        asked = {"user_id": user_id, "keys": json_of(keys), "keeping": json_of(sorted(KEEPS_KEY))}
        holders: dict[str, str] = dict(fetched(self._connection, SQL["holders_of_keys"], asked))
        found = {task.id: task for task in map(task_of, self._by_ids(list(holders.values()), user_id=user_id))}
        refuse_other_keys(holders, found)
        tasks.update(found)
        return holders

    def keys_used(self, *, after: tuple[str, str], limit: int) -> list[tuple[str, str]]:
        user_id, key = after
        with self._snapshot():
            return fetched(self._connection, SQL["keys_used"], {"user_id": user_id, "key": key, "limit": limit})

    def loads(self, ids: tuple[str, ...]) -> dict[str, Load]:
        with self._snapshot():
            tasks = [task_of(row) for row in self._by_ids(ids, user_id=None) if row[0] == HOT]
            parents = [part.id for task in tasks for part in task.depends or () if part.outcome is not None]
            rows = self._by_ids(parents, user_id=None)
            ended = {stored.task.id: stored for stored in self._shown(rows, shows_damaged=True)}
            hot = [task.id for task in tasks]
            bodies = self._bodies(hot)
            checkpoints = self._checkpoints(hot)
        return {
            task.id: Load(
                task=task,
                body=bodies[task.id],
                checkpoint=checkpoints.get(task.id),
                parents=[ended[part.id] for part in task.depends or () if part.id in ended],
            )
            for task in tasks
        }

    def tasks(self, query: TaskFilter) -> list[StoredTask]:
        with self._snapshot():
            try:
                rows = list_rows(self._connection, query)
            except apsw.SQLError as error:
                if "malformed JSON" not in str(error):
                    raise
                raise found_by_searching(query, self._listed) from error
            return self._listed_of(query, rows)

    def _listed(self, query: TaskFilter) -> list[StoredTask]:
        return self._listed_of(query, list_rows(self._connection, query))

    def _listed_of(self, query: TaskFilter, rows: list[Row]) -> list[StoredTask]:
        if query.user_id is not None:
            _refuse_strays(rows, [row[2] for row in rows], {query.user_id})
        return self._shown(rows, shows_damaged=query.shows_damaged)

    def _shown(self, rows: list[Row], *, shows_damaged: bool) -> list[StoredTask]:
        return with_damaged(rows, read=self._stored, task_of=task_of) if shows_damaged else self._stored(rows)

    def search_end(self, query: TaskFilter) -> str | None:
        with self._snapshot():
            return search_end(self._connection, query)

    def dead_letters(self, *, user_id: str | None, limit: int, before: str | None) -> list[StoredTask]:
        dead = (Status.PERMANENTLY_FAILED,)
        return self.tasks(TaskFilter(user_id=user_id, statuses=dead, limit=limit, before=before, shows_damaged=True))

    def _by_ids(self, ids: Sequence[str], *, user_id: str | None) -> list[Row]:
        if not ids:
            return []
        rows = fetched(self._connection, SQL["tasks_by_id"], {"ids": json_of(ids), "user_id": user_id})
        _refuse_strays(rows, [row[1] for row in rows], frozenset(ids))
        return rows

    def _by_numbers(self, numbers: Sequence[int], *, user_id: str) -> list[Row]:
        if not numbers:
            return []
        rows = fetched(self._connection, SQL["tasks_by_number"], {"numbers": json_of(numbers), "user_id": user_id})
        _refuse_strays(rows, [(row[2], row[3]) for row in rows], {(user_id, number) for number in numbers})
        return rows

    # --- what belongs to tasks ---

    def _stored(self, rows: list[Row]) -> list[StoredTask]:
        """Tasks with all that belongs to them, in the order given."""
        if not rows:
            return []
        tasks = list(map(task_of, rows))
        ids = [task.id for task in tasks]
        bodies = self._bodies(ids)
        outcomes = self._contents(SQL["outcomes_of"], ids, of="outcome")
        late = self._late_results(ids)
        return [
            StoredTask(
                task=task,
                body=bodies[task.id],
                outcome=outcomes.get(task.id),
                late=late.get(task.id, []),
                archived=row[0] == ARCHIVE,
            )
            for row, task in zip(rows, tasks, strict=True)
        ]

    def bodies(self, ids: Sequence[str]) -> dict[str, bytes]:
        with self._snapshot():
            return self._bodies(ids)

    def _bodies(self, ids: Sequence[str]) -> dict[str, bytes]:
        bodies = self._contents(SQL["bodies_of"], ids, of="body")
        for id_ in ids:
            if id_ not in bodies:
                raise RecordDamaged(f"task {id_} has lost its body", task_id=id_)
        return bodies

    def _contents(self, statement: str, ids: Sequence[str], *, of: str) -> dict[str, bytes]:
        rows = self._connection.execute(statement, {"ids": json_of(ids)})
        return {id_: verified(content, crc, of=f"the {of} of task {id_}", task_id=id_) for id_, content, crc in rows}

    def _late_results(self, ids: Sequence[str]) -> dict[str, list[LateResult]]:
        late: dict[str, list[LateResult]] = {}
        for task_id, attempt, at, content, crc in self._connection.execute(
            SQL["late_results_of"], {"ids": json_of(ids)}
        ):
            body = verified(content, crc, attempt, at, of=f"the late result of task {task_id}", task_id=task_id)
            late.setdefault(task_id, []).append(LateResult(task_id=task_id, attempt=attempt, at=at, body=body))
        return late

    def _checkpoints(self, ids: Sequence[str]) -> dict[str, bytes]:
        return self._contents(SQL["checkpoints_of"], ids, of="checkpoint")

    def figures(self, *, step_s: int, since: int) -> list[Figures]:
        with self._snapshot():
            rows = self._connection.execute(SQL["figures_since"], {"step": step_s, "since": since})
            return [
                Figures(step_s, at, verified(record, crc, step_s, at, of=f"the figures of {at}"))
                for at, record, crc in rows
            ]

    def counts(self, *, user_id: str | None) -> dict[Status, int]:
        with self._snapshot():
            whose = whose_of(user_id)
            [(hot, history)] = self._connection.execute(SQL["count_all"], whose)
            return by_status(hot, history, fetched(self._connection, SQL["count_by_status"], whose))

    def request(self, name: str) -> bytes | None:
        with self._snapshot():
            for at, answer, crc in self._connection.execute(SQL["request_named"], {"name": name}):
                return verified(answer, crc, at, of=f"the answer to request {name}")
            return None

    def checkpoint(self, task_id: str) -> bytes | None:
        with self._snapshot():
            return self._checkpoints([task_id]).get(task_id)

    def log(
        self, *, task_id: str, attempt: int | None, after: tuple[int, int] = (0, 0), bytes_max: int = LOG_BYTES_MAX
    ) -> list[LogPiece]:
        asked = log_asked(task_id, attempt, after, bytes_max)
        with self._snapshot():
            return [log_piece(task_id, row) for row in self._connection.execute(SQL["log_of"], asked)]

    # --- the log of commits ---

    def events_after(self, *, epoch: int, seq: int, index: int, limit: int) -> list[Numbered] | None:
        with self._snapshot():
            if not self._is_on_the_log(epoch=epoch, seq=seq):
                return None
            rows = self._connection.execute(SQL["commits_from"], {"seq": seq})
            later = (found for found in _events_of(rows) if (found.seq, found.index) > (seq, index))
            return list(islice(later, limit))

    def _is_on_the_log(self, *, epoch: int, seq: int) -> bool:
        """Whether the log went through this place, and what came after it is all kept.

        Epochs never decrease along the log, so a place named in epoch e lies between commits of epochs
        at most and at least e. A copy restored from before that place fails here.
        """
        rows = self._connection.execute(SQL["epochs_around"], {"seq": seq})
        around: dict[int, int] = dict(rows)
        if seq == 0:
            return position_of(self._connection) == 0 or 1 in around
        return seq in around and around[seq] <= epoch <= around.get(seq + 1, epoch)

    def task_events(self, task: Task) -> list[Numbered]:
        with self._snapshot():
            rows = self._connection.execute(SQL["commits_of"], {"seqs": json_of(task.trail)})
            with naming(task):
                return [found for found in _events_of(rows) if found.event.task_id == task.id]

    def has_old(self, *, ended_before: int, events_before: int) -> bool:
        with self._snapshot():
            if self._connection.execute(SQL["first_archivable"], {"ended_before": ended_before}).get:
                return True
            ages = [at for (at,) in self._connection.execute(SQL["first_ages"])]
            return len(ages) > 1 and ages[0] < events_before

    def audit(self, *, subject: str | None, limit: int, before: int | None) -> list[tuple[int, AuditRecord]]:
        asked = {"subject": subject, "before": NUMBER_MAX if before is None else before, "limit": limit}
        statement = SQL["audit_entries"] if subject is None else SQL["audit_entries_about"]
        with self._snapshot():
            return [
                (n, decode_record(AUDIT, verified(record, crc, n, of=f"audit entry {n}"), of=f"audit entry {n}"))
                for n, record, crc in self._connection.execute(statement, asked)
            ]


def _refuse_strays(rows: list[Row], found: Sequence[T], asked: Set[T]) -> None:
    """Rows that were not asked for: an index of a long past is not walked at the start, and may be damaged."""
    for row, each in zip(rows, found, strict=True):
        if each not in asked:
            # If only this row is damaged, that is all there is to say.
            task_of(row)
            raise StoreBroken(f"an index leads to the row of {each}, which was not asked for")


def _events_of(rows: _Rows) -> Iterator[Numbered]:
    for seq, epoch, content, crc in rows:
        events = decode_events(verified(content, crc, seq, epoch, of=f"commit {seq}"), seq=seq)
        for index, event in enumerate(events):
            yield Numbered(epoch=epoch, seq=seq, index=index, event=event)
