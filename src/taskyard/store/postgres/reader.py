"""Reads beside the writer: a connection of its own, one snapshot per call.

Rows come back through `image.task_of`, which refuses to serve what is not what was written. A connection that was lost
between two calls, or during one, is dialled again once: reading twice is reading.
"""

from collections.abc import Callable, Sequence, Set
from functools import partial
from itertools import islice
from typing import Final, TypeVar

from psycopg.errors import InvalidTextRepresentation

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
from taskyard.store.postgres.arrays import numbers, texts, unescaped, words
from taskyard.store.postgres.faults import Gone
from taskyard.store.postgres.image import lineage_of, position_of, task_of
from taskyard.store.postgres.lists import list_rows, search_end
from taskyard.store.postgres.log import events_from, events_of, is_on_the_log
from taskyard.store.postgres.mirror import Missed, read_missed
from taskyard.store.postgres.session import Row, Session, Value
from taskyard.store.postgres.statements import SQL, Statement
from taskyard.store.records import AUDIT, decode_record, verified
from taskyard.store.rewind import Lineage
from taskyard.vocabulary import Status

READ_S: Final = 10.0
# A list that finds nothing among 200,000 hot tasks took 0.04.
MIRROR_S: Final = 300.0

_READING: Final = {
    "default_transaction_read_only": "on",
    # A page is walked down an index in its order, and cut when it is full. A planner that believes a status to be rare
    # would rather fetch all that have it, and sort them.
    "enable_bitmapscan": "off",
}

T = TypeVar("T")


class PostgresReader:
    def __init__(self, url: str) -> None:
        self._url = url
        self._session: Session | None = self._connect()

    def _connect(self) -> Session:
        return Session(self._url, purpose="reader", timeout_s=READ_S, settings=_READING)

    def close(self) -> None:
        if self._session is not None:
            self._session.close()

    def _ask(self, look: Callable[[Session], T]) -> T:
        """What one statement finds, which is of one commit by itself."""
        try:
            return look(self._ready())
        except Gone:
            return look(self._ready())

    def _read(self, look: Callable[[Session], T]) -> T:
        """What several find in one commit's state."""

        def look_at_one(session: Session) -> T:
            with session.snapshot():
                return look(session)

        return self._ask(look_at_one)

    def _ready(self) -> Session:
        if self._session is None or self._session.is_closed:
            self._session = None
            self._session = self._connect()
        return self._session

    def position(self) -> int:
        return self._ask(position_of)

    # --- tasks ---

    def find(self, *, user_id: str | None, task: str, shows_damaged: bool = False) -> StoredTask | None:
        def look(session: Session) -> StoredTask | None:
            found = _by_ids(session, [task], user_id=user_id)
            number = number_of(task)
            if not found and number is not None and user_id is not None:
                found = _by_numbers(session, [number], user_id=user_id)
            return next(iter(_shown(session, found, shows_damaged=shows_damaged)), None)

        return self._read(look)

    def known(
        self, *, user_id: str | None, ids: tuple[str, ...], refs: tuple[str, ...], keys: tuple[str, ...]
    ) -> Known:
        def look(session: Session) -> Known:
            tasks = {task.id: task for task in map(task_of, _by_ids(session, ids, user_id=user_id))}
            by_ref: dict[str, str] = {}
            by_key: dict[str, str] = {}
            if user_id is not None:
                by_ref = _known_refs(session, tasks, user_id=user_id, refs=refs)
                by_key = _known_keys(session, tasks, user_id=user_id, keys=keys)
            return Known(read_seq=position_of(session), tasks=tasks, refs=by_ref, keys=by_key)

        return self._read(look)

    def lineage(self, seqs: Sequence[int]) -> Lineage:
        return self._read(lambda session: lineage_of(session, seqs))

    def keys_used(self, *, after: tuple[str, str], limit: int) -> list[tuple[str, str]]:
        asked: dict[str, Value] = {"user_id": after[0], "key": after[1], "limit": limit}
        rows = self._ask(lambda session: session.rows(SQL["keys_used"], asked))
        return [(unescaped(user_id), unescaped(key)) for user_id, key in rows]

    def bodies(self, ids: Sequence[str]) -> dict[str, bytes]:
        return self._ask(lambda session: _bodies(session, ids))

    def loads(self, ids: tuple[str, ...]) -> dict[str, Load]:
        return self._read(lambda session: _loads(session, ids))

    def tasks(self, query: TaskFilter) -> list[StoredTask]:
        try:
            return self._read(lambda session: _listed(session, query))
        except InvalidTextRepresentation as error:
            raise found_by_searching(query, self.tasks) from error

    def search_end(self, query: TaskFilter) -> str | None:
        return self._read(lambda session: search_end(session, query))

    def dead_letters(self, *, user_id: str | None, limit: int, before: str | None) -> list[StoredTask]:
        dead = (Status.PERMANENTLY_FAILED,)
        return self.tasks(TaskFilter(user_id=user_id, statuses=dead, limit=limit, before=before, shows_damaged=True))

    def checkpoint(self, task_id: str) -> bytes | None:
        return self._ask(lambda session: _checkpoints(session, [task_id])).get(task_id)

    def log(
        self, *, task_id: str, attempt: int | None, after: tuple[int, int] = (0, 0), bytes_max: int = LOG_BYTES_MAX
    ) -> list[LogPiece]:
        asked = log_asked(task_id, attempt, after, bytes_max)
        rows = self._ask(lambda session: session.rows(SQL["log_of"], asked))
        return [log_piece(task_id, row) for row in rows]

    # --- the log of commits ---

    def events_after(self, *, epoch: int, seq: int, index: int, limit: int) -> list[Numbered] | None:
        def look(session: Session) -> list[Numbered] | None:
            if not is_on_the_log(session, epoch=epoch, seq=seq):
                return None
            later = (found for found in events_from(session, seq) if (found.seq, found.index) > (seq, index))
            return list(islice(later, limit))

        return self._read(look)

    def task_events(self, task: Task) -> list[Numbered]:
        asked = {"seqs": numbers(task.trail)}
        rows = self._ask(lambda session: session.rows(SQL["commits_of"], asked))
        with naming(task):
            return [found for found in events_of(rows) if found.event.task_id == task.id]

    def has_old(self, *, ended_before: int, events_before: int) -> bool:
        def look(session: Session) -> bool:
            if session.rows(SQL["first_archivable"], {"ended_before": ended_before}):
                return True
            ages = [at for (at,) in session.rows(SQL["first_ages"])]
            return len(ages) > 1 and ages[0] < events_before

        return self._read(look)

    def audit(self, *, subject: str | None, limit: int, before: int | None) -> list[tuple[int, AuditRecord]]:
        asked = {"subject": subject, "before": NUMBER_MAX if before is None else before, "limit": limit}
        statement = SQL["audit_entries"] if subject is None else SQL["audit_entries_about"]
        return [
            (n, decode_record(AUDIT, verified(record, crc, n, of=f"audit entry {n}"), of=f"audit entry {n}"))
            for n, record, crc in self._ask(lambda session: session.rows(statement, asked))
        ]

    def missed(self, since: int) -> Missed:
        """What a mirror of the hot table lacks that is of this commit; of commit 0, everything."""
        return self._read(lambda session: _read_patiently(session, since))

    def figures(self, *, step_s: int, since: int) -> list[Figures]:
        rows = self._ask(lambda session: session.rows(SQL["figures_since"], {"step": step_s, "since": since}))
        return [
            Figures(step_s, at, verified(record, crc, step_s, at, of=f"the figures of {at}"))
            for at, record, crc in rows
        ]

    def counts(self, *, user_id: str | None) -> dict[Status, int]:
        def look(session: Session) -> dict[Status, int]:
            whose: dict[str, Value] = {**whose_of(user_id)}
            [(hot, history)] = session.rows(SQL["count_all"], whose)
            return by_status(hot, history, session.rows(SQL["count_by_status"], whose))

        return self._read(look)

    def request(self, name: str) -> bytes | None:
        for at, answer, crc in self._ask(lambda session: session.rows(SQL["request_named"], {"name": name})):
            return verified(answer, crc, at, of=f"the answer to request {name}")
        return None


def _read_patiently(session: Session, since: int) -> Missed:
    with session.patient(MIRROR_S):
        return read_missed(session, since)


# --- tasks ---


def _by_ids(session: Session, asked: Sequence[str], *, user_id: str | None) -> list[Row]:
    if not asked:
        return []
    rows = session.rows(SQL["tasks_by_id"], {"ids": texts(asked), "user_id": user_id}, prepare=True)
    _refuse_strays(rows, [unescaped(row[1]) for row in rows], frozenset(asked))
    return rows


def _by_numbers(session: Session, asked: Sequence[int], *, user_id: str) -> list[Row]:
    if not asked:
        return []
    rows = session.rows(SQL["tasks_by_number"], {"numbers": numbers(asked), "user_id": user_id}, prepare=True)
    _refuse_strays(rows, [(unescaped(row[2]), row[3]) for row in rows], {(user_id, number) for number in asked})
    return rows


def _known_refs(session: Session, tasks: dict[str, Task], *, user_id: str, refs: tuple[str, ...]) -> dict[str, str]:
    asked = {ref: number for ref in refs if (number := number_of(ref)) is not None}
    rows = _by_numbers(session, list(asked.values()), user_id=user_id)
    found = {task.number: task for task in map(task_of, rows)}
    tasks.update((task.id, task) for task in found.values())
    return {ref: found[number].id for ref, number in asked.items() if number in found}


def _known_keys(session: Session, tasks: dict[str, Task], *, user_id: str, keys: tuple[str, ...]) -> dict[str, str]:
    if not keys:
        return {}
    asked: dict[str, Value] = {"user_id": user_id, "keys": texts(keys), "keeping": words(sorted(KEEPS_KEY))}
    rows = session.rows(SQL["holders_of_keys"], asked, prepare=True)
    holders = {unescaped(key): id_ for key, id_ in rows}
    found = {task.id: task for task in map(task_of, _by_ids(session, list(holders.values()), user_id=user_id))}
    refuse_other_keys(holders, found)
    tasks.update(found)
    return holders


def _loads(session: Session, ids: tuple[str, ...]) -> dict[str, Load]:
    rows = [row for row in _by_ids(session, ids, user_id=None) if row[0] == HOT]
    tasks = list(map(task_of, rows))
    parents = [part.id for task in tasks for part in task.depends or () if part.outcome is not None]
    past = _by_ids(session, parents, user_id=None)
    ended = {stored.task.id: stored for stored in _shown(session, past, shows_damaged=True)}
    hot = [task.id for task in tasks]
    bodies = _bodies_in(session, rows)
    checkpoints = _checkpoints(session, hot)
    return {
        task.id: Load(
            task=task,
            body=bodies[task.id],
            checkpoint=checkpoints.get(task.id),
            parents=[ended[part.id] for part in task.depends or () if part.id in ended],
        )
        for task in tasks
    }


# --- what belongs to tasks ---


def _listed(session: Session, query: TaskFilter) -> list[StoredTask]:
    rows = list_rows(session, query)
    if query.user_id is not None:
        _refuse_strays(rows, [unescaped(row[2]) for row in rows], {query.user_id})
    return _shown(session, rows, shows_damaged=query.shows_damaged)


def _shown(session: Session, rows: list[Row], *, shows_damaged: bool) -> list[StoredTask]:
    read = partial(_stored, session)
    return with_damaged(rows, read=read, task_of=task_of) if shows_damaged else read(rows)


def _stored(session: Session, rows: list[Row]) -> list[StoredTask]:
    """Tasks with all that belongs to them, in the order given."""
    if not rows:
        return []
    tasks = list(map(task_of, rows))
    bodies = _bodies_in(session, rows)
    outcomes = _outcomes_in(session, rows)
    late = _late_results(session, [row[1] for row in rows])
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


def _bodies_in(session: Session, rows: list[Row]) -> dict[str, bytes]:
    """The body of each row of `anywhere`: most lie in it."""
    here = {
        row[1]: verified(row[13], row[14], of=f"the body of task {row[1]}", task_id=row[1])
        for row in rows
        if row[13] is not None
    }
    elsewhere = [row[1] for row in rows if row[13] is None]
    return here | _bodies(session, elsewhere) if elsewhere else here


def _bodies(session: Session, asked: Sequence[str]) -> dict[str, bytes]:
    found = _contents(session, SQL["bodies_of"], asked, of="body")
    for id_ in asked:
        if id_ not in found:
            raise RecordDamaged(f"task {id_} has lost its body", task_id=id_)
    return found


def _outcomes_in(session: Session, rows: list[Row]) -> dict[str, bytes]:
    """The outcome of each row of `anywhere` that has one: most lie in it."""
    here = {
        row[1]: verified(row[15], row[16], of=f"the outcome of task {row[1]}", task_id=row[1])
        for row in rows
        if row[15] is not None
    }
    elsewhere = [row[1] for row in rows if row[15] is None]
    return here | _contents(session, SQL["outcomes_of"], elsewhere, of="outcome") if elsewhere else here


def _contents(session: Session, statement: Statement, asked: Sequence[str], *, of: str) -> dict[str, bytes]:
    rows = session.rows(statement, {"ids": texts(asked)}, prepare=True)
    return {id_: verified(content, crc, of=f"the {of} of task {id_}", task_id=id_) for id_, content, crc in rows}


def _checkpoints(session: Session, asked: Sequence[str]) -> dict[str, bytes]:
    return _contents(session, SQL["checkpoints_of"], asked, of="checkpoint")


def _late_results(session: Session, asked: Sequence[str]) -> dict[str, list[LateResult]]:
    late: dict[str, list[LateResult]] = {}
    rows = session.rows(SQL["late_results_of"], {"ids": texts(asked)}, prepare=True)
    for task_id, attempt, at, content, crc in rows:
        body = verified(content, crc, attempt, at, of=f"the late result of task {task_id}", task_id=task_id)
        late.setdefault(task_id, []).append(LateResult(task_id=task_id, attempt=attempt, at=at, body=body))
    return late


def _refuse_strays(rows: list[Row], found: Sequence[T], asked: Set[T]) -> None:
    """Rows that were not asked for: an index may be damaged."""
    for row, each in zip(rows, found, strict=True):
        if each not in asked:
            # If only this row is damaged, that is all there is to say.
            task_of(row)
            raise StoreBroken(f"an index leads to the row of {each}, which was not asked for")
