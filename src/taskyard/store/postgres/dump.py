"""A whole yard out of a database, and into one that nobody has opened yet (`store/copy.py`).

Both are one transaction, in which no hub can take the lead. What is read is of one snapshot; what is written is there
for others when it is committed, or not at all.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import resources
from typing import Final
from zlib import crc32

from taskyard.store import dump
from taskyard.store.dump import (
    Believe,
    Kind,
    RestoredTask,
    Row,
    Summary,
    believer_of,
    checksum_of,
    restored,
    summary_of,
    task_row,
)
from taskyard.store.port import RecordDamaged, StoreRefused
from taskyard.store.postgres.arrays import blobs, numbers, unescaped, words
from taskyard.store.postgres.checks import check_server
from taskyard.store.postgres.commit import inline
from taskyard.store.postgres.faults import Busy, Unconfirmed
from taskyard.store.postgres.image import identity_of, task_of
from taskyard.store.postgres.lead import standing_of
from taskyard.store.postgres.migrate import NAMESPACE, refuse_newer_schema, version_of
from taskyard.store.postgres.partitions import COMMITS, WEEK_MS
from taskyard.store.postgres.reach import address_of, connect_or_refuse
from taskyard.store.postgres.session import Session, Value
from taskyard.store.postgres.statements import Statement, placed
from taskyard.store.records import checksum, columns_of
from taskyard.store.statements import named_statements

COPY_S: Final = 6 * 3600.0
# For one statement, which may read a whole table while the other side writes.
WEEKS_MAX: Final = 52
LOG_PARTS_MAX: Final = 100
# Partitions of the newest past, each some ten tables and indexes to lock; what is older shares the one for the rest.

SQL: Final = {
    name: placed(text)
    for name, text in named_statements(resources.files(__package__).joinpath("dump.sql").read_text()).items()
}

_TASKS: Final[tuple[tuple[Kind, Statement, Statement], ...]] = (
    (dump.ACTIVE_TASKS, SQL["dump_active_tasks"], SQL["restore_hot"]),
    (dump.ENDED_TASKS, SQL["dump_ended_tasks"], SQL["restore_history"]),
    (dump.ARCHIVED_TASKS, SQL["dump_archived_tasks"], SQL["restore_archive"]),
)
_TABLES: Final[tuple[tuple[Kind, Statement, Statement], ...]] = (
    (dump.CHECKPOINTS, SQL["dump_checkpoints"], SQL["restore_checkpoints"]),
    (dump.LATE_RESULTS, SQL["dump_late_results"], SQL["restore_late_results"]),
    (dump.LOGS, SQL["dump_logs"], SQL["restore_logs"]),
    (dump.COMMITS, SQL["dump_commits"], SQL["restore_commits"]),
    (dump.NUMBERS, SQL["dump_numbers"], SQL["restore_numbers"]),
    (dump.USERS, SQL["dump_users"], SQL["restore_users"]),
    (dump.KEYS, SQL["dump_keys"], SQL["restore_keys"]),
    (dump.DAEMONS, SQL["dump_daemons"], SQL["restore_daemons"]),
    (dump.KEPT, SQL["dump_kept"], SQL["restore_kept"]),
    (dump.AUDIT, SQL["dump_audit"], SQL["restore_audit"]),
    (dump.REQUESTS, SQL["dump_requests"], SQL["restore_requests"]),
    (dump.FIGURES, SQL["dump_figures"], SQL["restore_figures"]),
    (dump.TAKEOVERS, SQL["dump_takeovers"], SQL["restore_takeovers"]),
)
_PACK: Final = {str: words, int: numbers, bytes: blobs}

_COPYING: Final = {
    # Whole tables are read here, and one side waits for the other.
    "enable_seqscan": "on",
    "idle_in_transaction_session_timeout": "1h",
}


class PostgresYard:
    """What lies in a database, within the transaction that holds it. Made by `opened` and `made`."""

    def __init__(self, session: Session, *, secret: bytes) -> None:
        self._session = session
        self.secret = secret
        """What its hubs prove themselves with, and sign."""

    @property
    def summary(self) -> Summary:
        identity = identity_of(self._session)
        assert identity is not None, "somebody opened this yard before"
        batch_id, *counts = self._session.rows(SQL["dump_summary"])[0]
        return summary_of(identity, batch_id, counts)

    def rows(self) -> Iterator[tuple[Kind, Row]]:
        for kind, read, believe in _readers():
            for row in self._session.stream(read):
                yield kind, believe(row)

    def damage(self) -> Iterator[RecordDamaged]:
        """Every row that is not what was written. `StoreBroken` if the server itself cannot read on."""
        for kind, read, believe in _readers():
            yield from dump.damage_in(kind, self._session.stream(read), believe)


class NewPostgresYard(PostgresYard):
    """One that is written."""

    def __init__(self, session: Session, *, secret: bytes) -> None:
        super().__init__(session, secret=secret)
        now_ms = session.now_ms
        self._writers = {kind.name: (write, checksum_of(kind)) for kind, _, write in _TABLES}
        self._task_writers = {kind.name: write for kind, _, write in _TASKS}
        self._week_min = now_ms // WEEK_MS - WEEKS_MAX
        self._week_max = now_ms // WEEK_MS + 1
        self._seq = 0
        self._parts: set[tuple[str, int]] = set()

    def begin(self, summary: Summary) -> None:
        identity = summary.identity
        self._seq = identity.seq
        self._session.change(
            SQL["restore_identity"],
            {
                "cluster_id": identity.cluster_id,
                "epoch": identity.epoch,
                "crc": checksum(b"", identity.cluster_id, identity.epoch),
            },
        )

    def keep_secret(self, secret: bytes) -> None:
        """Sign with this from now on, and no longer with the one that the database was made with."""
        self._session.change(SQL["restore_secret"], {"secret": secret})

    def take(self, kind: Kind, rows: list[Row]) -> None:
        if kind in dump.TASKS:
            self._take_tasks(kind, [restored(kind, row) for row in rows])
            return
        if kind is dump.COMMITS:
            self._make_parts("commit_log", COMMITS, self._log_parts_of(rows))
        write, checksum_in = self._writers[kind.name]
        columns = zip(kind.columns.items(), zip(*rows, strict=True), strict=True)
        packed: dict[str, Value] = {name: _PACK[of](values) for (name, of), values in columns}  # type: ignore[operator]
        self._session.change(write, {**packed, "crc": numbers([checksum_in(row) for row in rows])})

    def _take_tasks(self, kind: Kind, tasks: list[RestoredTask]) -> None:
        if kind is dump.ENDED_TASKS:
            self._make_parts("history", WEEK_MS, self._weeks_of(tasks))
        self._session.change(self._task_writers[kind.name], {**_columns_of(tasks), "seq": self._seq})
        self._take_large(SQL["restore_body"], [(each.task.id, each.body) for each in tasks])
        self._take_large(SQL["restore_outcome"], [(each.task.id, each.outcome) for each in tasks])

    def _take_large(self, statement: Statement, contents: list[tuple[str, bytes | None]]) -> None:
        """What does not lie in its task's row."""
        large = {id_: content for id_, content in contents if content is not None and inline(content) is None}
        if large:
            values = list(large.values())
            crcs = numbers(list(map(crc32, values)))
            self._session.change(statement, {"id": words(list(large)), "content": blobs(values), "crc": crcs})

    def _weeks_of(self, ended: list[RestoredTask]) -> set[int]:
        weeks = {task.completed_at // WEEK_MS for task in ended if task.completed_at is not None}
        return {week for week in weeks if self._week_min <= week <= self._week_max}

    def _log_parts_of(self, commits: list[Row]) -> set[int]:
        seqs = [seq for seq, *_ in commits if isinstance(seq, int)]
        first, last = min(seqs) // COMMITS, max(seqs) // COMMITS
        return set(range(max(first, self._seq // COMMITS - LOG_PARTS_MAX), last + 1))

    def _make_parts(self, parent: str, width: int, parts: set[int]) -> None:
        """Before rows of theirs come: from the default partition none can be taken out again."""
        missing = sorted(part for part in parts if (parent, part) not in self._parts)
        if missing:
            firsts = numbers([part * width for part in missing])
            self._session.rows(SQL["restore_partitions"], {"parent": parent, "width": width, "firsts": firsts})
            self._parts.update((parent, part) for part in missing)

    def commit(self) -> None:
        try:
            self._session.run_script("COMMIT")
        except Unconfirmed as error:
            raise StoreRefused(
                f"The copy was made, but {error}. See that the standby follows, and start no hub on it before it does."
            ) from error


def _readers() -> Iterator[tuple[Kind, Statement, Believe]]:
    for kind, read, _ in _TASKS:
        yield kind, read, partial(_task_row, kind)
    for kind, read, _ in _TABLES:
        yield kind, read, partial(_row, believer_of(kind))


def _task_row(kind: Kind, row: Row) -> Row:
    # Place and ten columns, the record and its checksum, when it ended, its contents.
    return task_row(kind, task_of(row), row[11], *row[13:])  # type: ignore[arg-type]


def _row(believe: Believe, row: Row) -> Row:
    return believe(_unescaped(row))


def _unescaped(row: Row) -> Row:
    return tuple(unescaped(value) if isinstance(value, str) else value for value in row)


def _columns_of(tasks: list[RestoredTask]) -> dict[str, Value]:
    """A list per column of the tables of tasks."""
    id_, user_id, number, status, level, queue, type_, source, correlation_id, parent_id = zip(
        *(columns_of(each.task) for each in tasks), strict=True
    )
    bodies = [inline(task.body) for task in tasks]
    outcomes = [inline(task.outcome) for task in tasks]
    return {
        "id": words(id_),
        "user_id": words(user_id),
        "number": numbers(number),
        "status": words(status),
        "level": words(level),
        "queue": words(queue),
        "type": words(type_),
        "source": words(source),
        "correlation_id": words(correlation_id),
        "parent_id": words(parent_id),
        "record": blobs([task.record for task in tasks]),
        "crc": numbers([crc32(task.record) for task in tasks]),
        "body": blobs(bodies),
        "body_crc": numbers([None if body is None else crc32(body) for body in bodies]),
        "outcome": blobs(outcomes),
        "outcome_crc": numbers([None if outcome is None else crc32(outcome) for outcome in outcomes]),
        "completed_at": numbers([task.completed_at for task in tasks]),
        "idempotency_key": words([each.task.key for each in tasks]),
    }


@contextmanager
def opened(url: str) -> Iterator[PostgresYard]:
    """The yard in this database, while no hub uses it. `StoreRefused` says why not."""
    with _held(url, isolation="REPEATABLE READ") as (session, secret):
        if identity_of(session) is None:
            raise StoreRefused(f"{address_of(url)} is of no yard: no hub has ever opened it. There is nothing to copy.")
        yield PostgresYard(session, secret=secret)


@contextmanager
def looked_at(url: str) -> Iterator[PostgresYard]:
    """The yard in this database, beside the hubs that use it: nothing is locked or changed."""
    with connect_or_refuse(url, purpose="doctor", timeout_s=COPY_S, settings=_COPYING) as session, session.snapshot():
        yield PostgresYard(session, secret=b"")


@contextmanager
def made(url: str) -> Iterator[NewPostgresYard]:
    """A database that was migrated and never used. If it was not committed, it still is."""
    with _held(url, isolation="READ COMMITTED") as (session, secret):
        if not session.rows(SQL["is_untouched"])[0][0]:
            raise StoreRefused(
                f"{address_of(url)} has a yard in it, and nothing is copied over one. Name an empty database that "
                "`taskyard migrate` has prepared."
            )
        yield NewPostgresYard(session, secret=secret)


@contextmanager
def _held(url: str, *, isolation: str) -> Iterator[tuple[Session, bytes]]:
    """A transaction in which no hub leads, nor can; with the yard's secret."""
    with connect_or_refuse(url, purpose="copy", timeout_s=COPY_S, settings=_COPYING) as session:
        check_server(session, None)
        refuse_newer_schema(version_of(session))
        session.run_script(f"BEGIN ISOLATION LEVEL {isolation}")
        try:
            is_free, secret = session.rows(SQL["hold_yard"], {"namespace": NAMESPACE})[0]
        except Busy as error:
            raise _used(url, "Another process") from error
        holder = standing_of(session).holder
        if not is_free or holder.left_ms > 0:
            raise _used(url, f"The hub {holder.id}" if holder.id else "A hub")
        yield session, secret


def _used(url: str, by: str) -> StoreRefused:
    return StoreRefused(
        f"{by} uses {address_of(url)}. Stop all hubs on it first: a yard is copied while it stands still."
    )
